/* SPDX-License-Identifier: Apache-2.0 */
/* Headers as qemu-img writes them; a guest may have written others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/log/disk_header.h"

enum { NAME_AT = 0x1f0 };

/* `qemu-img create -f qcow2 -b base.qcow2 -F qcow2`: version 3, its name where that one puts it. */
static void make(uint8_t octets[DISK_HEADER], const char *name)
{
	static const uint8_t head[] = {'Q', 'F', 'I', 0xfb, 0, 0, 0, 3};

	memset(octets, 0, DISK_HEADER);
	memcpy(octets, head, sizeof(head));
	octets[14] = NAME_AT >> 8;
	octets[15] = NAME_AT & 0xff;
	octets[18] = (uint8_t)(strlen(name) >> 8);
	octets[19] = (uint8_t)strlen(name);
	memcpy(octets + NAME_AT, name, strlen(name));
}

static struct disk_header read_all(const uint8_t *octets, size_t n)
{
	struct disk_header h;

	disk_header_read(span_of(octets, n), &h);
	return h;
}

static void a_disk_on_another_one(void **state)
{
	uint8_t octets[DISK_HEADER];
	struct disk_header h;

	make(octets, "base.qcow2");
	h = read_all(octets, sizeof(octets));
	assert_true(h.qcow2);
	assert_string_equal(h.backing, "base.qcow2");
	make(octets, "");
	h = read_all(octets, sizeof(octets));
	assert_true(h.qcow2);
	assert_string_equal(h.backing, "");
}

static void a_raw_disk_is_none(void **state)
{
	uint8_t octets[DISK_HEADER];

	make(octets, "base.qcow2");
	octets[0] = 0;
	assert_false(read_all(octets, sizeof(octets)).qcow2);
	assert_string_equal(read_all(octets, sizeof(octets)).backing, "");
	assert_false(read_all(octets, 0).qcow2);
	assert_false(read_all(octets, 3).qcow2);
}

static void a_name_that_is_not_whole_is_none(void **state)
{
	uint8_t octets[DISK_HEADER];

	make(octets, "base.qcow2");
	for (size_t n = 4; n < NAME_AT + strlen("base.qcow2"); n++) {
		struct disk_header h = read_all(octets, n);

		assert_true(h.qcow2);
		assert_string_equal(h.backing, "");
	}
	octets[NAME_AT + 2] = 0;
	assert_string_equal(read_all(octets, sizeof(octets)).backing, "");
	make(octets, "base.qcow2");
	octets[8] = 1;
	assert_string_equal(read_all(octets, sizeof(octets)).backing, "");
	make(octets, "base.qcow2");
	octets[18] = DISK_BACKING_MAX / 256 + 1;
	assert_string_equal(read_all(octets, sizeof(octets)).backing, "");
	make(octets, "base.qcow2");
	memset(octets + 12, 0xff, 4);
	assert_string_equal(read_all(octets, sizeof(octets)).backing, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_on_another_one),
		cmocka_unit_test(a_raw_disk_is_none),
		cmocka_unit_test(a_name_that_is_not_whole_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
