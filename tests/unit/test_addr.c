/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/addr.h"
#include "base/compiler.h"

static void canonical_spellings_round_trip(void **state)
{
	static const char *const texts[] = {"0.0.0.0",	    "203.0.113.10", "255.255.255.255",
					    "100.0.0.1",    "::",	    "::1",
					    "2001:db8::10", "fe80::1"};

	for (size_t i = 0; i < sg_array_len(texts); i++) {
		char out[ADDR_TEXT_MAX];
		struct addr a;

		assert_true(addr_parse(texts[i], strlen(texts[i]), &a));
		assert_string_equal(addr_format(&a, out), texts[i]);
	}
}

static void other_spellings_are_refused(void **state)
{
	static const char *const texts[] = {
		"",	     "127.1",	       "0x7f.1",      "2130706433",
		"010.0.0.1", "1.2.3.04",       "127.000.0.1", "1.2.3.4.",
		"1.2.3",     "::ffff:1.2.3.4", "fe80::1%1",   "[::1]",
		" 1.2.3.4",  "1.2.3.4\n",      "1.2.3.256",   "::ffff:c000:201",
		"1:2:3"};
	struct addr a;

	for (size_t i = 0; i < sg_array_len(texts); i++)
		if (addr_parse(texts[i], strlen(texts[i]), &a))
			fail_msg("accepted: %s", texts[i]);
	assert_false(addr_parse("1.2.3.4\0", 8, &a));
}

static void prefixes_want_clear_host_bits(void **state)
{
	char out[PREFIX_TEXT_MAX];
	struct prefix p;
	struct addr in, outside;

	assert_false(prefix_parse("10.0.0.5/8", 10, &p));
	assert_false(prefix_parse("10.0.0.0/33", 11, &p));
	assert_false(prefix_parse("10.0.0.0/08", 11, &p));
	assert_false(prefix_parse("10.0.0.0/", 9, &p));
	assert_true(prefix_parse("10.20.0.0/15", 12, &p));
	assert_string_equal(prefix_format(&p, out), "10.20.0.0/15");
	assert_true(addr_parse("10.21.255.255", 13, &in));
	assert_true(addr_parse("10.22.0.0", 9, &outside));
	assert_true(prefix_contains(&p, &in));
	assert_false(prefix_contains(&p, &outside));
	assert_true(prefix_parse("0.0.0.0/0", 9, &p));
	assert_true(prefix_contains(&p, &outside));
	assert_true(addr_parse("2001:db8::1", 11, &outside));
	assert_false(prefix_contains(&p, &outside));
	assert_true(prefix_parse("2001:db8::/32", 13, &p));
	assert_true(prefix_contains(&p, &outside));
}

static void sockaddr_round_trip(void **state)
{
	static const char *const texts[] = {"203.0.113.10", "2001:db8::10"};

	for (size_t i = 0; i < sg_array_len(texts); i++) {
		struct sockaddr_storage ss;
		struct endpoint a = {.port = 65535}, b;

		assert_true(addr_parse(texts[i], strlen(texts[i]), &a.addr));
		endpoint_to_sockaddr(&a, &ss);
		assert_true(endpoint_from_sockaddr(&ss, &b));
		assert_true(addr_equal(&a.addr, &b.addr));
		assert_int_equal(a.port, b.port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_spellings_round_trip),
		cmocka_unit_test(other_spellings_are_refused),
		cmocka_unit_test(prefixes_want_clear_host_bits),
		cmocka_unit_test(sockaddr_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
