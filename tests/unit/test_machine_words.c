/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "sandbox/engine/machine_words.h"

static const struct machine_link by_descriptor = {
	.fd = 3, .mac = {0x02, 0xab, 0, 0, 0, 0xfe}, .mtu = 9000};
static const struct machine_link by_name = {.fd = -1, .tap = "link0", .mtu = 1500};

static void placeholders_are_replaced_anywhere(void **state)
{
	char *words[] = {"qemu", "tap,fd={fd},vhost=off", "mac={mac},host_mtu={mtu}{fd}", "", NULL};
	struct err e = {""};
	char **out = machine_words_fill(words, &by_descriptor, &e);

	assert_non_null(out);
	assert_string_equal(out[0], "qemu");
	assert_string_equal(out[1], "tap,fd=3,vhost=off");
	assert_string_equal(out[2], "mac=02:ab:00:00:00:fe,host_mtu=90003");
	assert_string_equal(out[3], "");
	assert_null(out[4]);
	machine_words_free(out);
}

static void other_braces_stay(void **state)
{
	char *words[] = {"{\"execute\":\"quit\"}", "{fd", "{ fd }", "{FD}", "{", NULL};
	struct err e = {""};
	char **out = machine_words_fill(words, &by_descriptor, &e);

	assert_non_null(out);
	for (size_t i = 0; words[i]; i++)
		assert_string_equal(out[i], words[i]);
	machine_words_free(out);
}

static void a_device_is_named_or_handed_in(void **state)
{
	char *fd[] = {"{fd}", NULL}, *tap[] = {"ifname={tap}", NULL};
	struct err e = {""};
	char **out = machine_words_fill(tap, &by_name, &e);

	assert_non_null(out);
	assert_string_equal(out[0], "ifname=link0");
	machine_words_free(out);
	assert_null(machine_words_fill(fd, &by_name, &e));
	assert_non_null(strstr(e.text, "{tap}"));
	assert_null(machine_words_fill(tap, &by_descriptor, &e));
	assert_non_null(strstr(e.text, "--by-name"));
}

static void addresses_of_one_device(void **state)
{
	static const char *const wrong[] = {
		"",
		"02:73:67:00:00",
		"02:73:67:00:00:02:03",
		"02-73-67-00-00-02",
		"02:73:67:00:00:0g",
		"2:73:67:0:0:2",
		"02:73:67:00:00:2 ",
		"01:73:67:00:00:02",
		"ff:ff:ff:ff:ff:ff",
		"00:00:00:00:00:00",
		"02:73:67:00:00:0\xe9",
	};
	uint8_t mac[6];
	char text[MAC_TEXT];

	assert_true(machine_mac_parse("02:aB:Cd:00:00:09", mac));
	machine_mac_print(mac, text);
	assert_string_equal(text, "02:ab:cd:00:00:09");
	for (size_t i = 0; i < sg_array_len(wrong); i++)
		if (machine_mac_parse(wrong[i], mac))
			fail_msg("\"%s\" was taken for an address", wrong[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders_are_replaced_anywhere),
		cmocka_unit_test(other_braces_stay),
		cmocka_unit_test(a_device_is_named_or_handed_in),
		cmocka_unit_test(addresses_of_one_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
