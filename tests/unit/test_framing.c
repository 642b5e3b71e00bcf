/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in a stream, and what the device says of a frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "frames/framing.h"
#include "frames/tap.h"

enum { MTU = 1500, ALL = FRAMING_LENGTH + FRAME_LONGEST };

static uint8_t octets[ALL];

static void set_length(uint32_t n)
{
	for (int i = 0; i < 4; i++)
		octets[i] = (uint8_t)(n >> (24 - 8 * i));
}

static void lengths(void **state)
{
	static const struct {
		uint32_t length;
		enum framing result;
	} rows[] = {
		{0, FRAMING_REFUSED},
		{13, FRAMING_REFUSED},
		{14, FRAMING_FRAME},
		{1514, FRAMING_FRAME},
		{1515, FRAMING_REFUSED},
		{FRAME_LONGEST, FRAMING_REFUSED},
		{FRAME_LONGEST + 1, FRAMING_LIE},
		{UINT32_MAX, FRAMING_LIE},
		{0x80000000, FRAMING_LIE},
	};
	struct span frame;
	size_t used;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		bool whole = rows[i].result != FRAMING_LIE;

		set_length(rows[i].length);
		assert_int_equal(framing_next(span_of(octets, ALL), MTU, &frame, &used),
				 rows[i].result);
		assert_int_equal(frame.n, rows[i].length);
		assert_int_equal(used, whole ? FRAMING_LENGTH + rows[i].length : 0);
		assert_ptr_equal(frame.p, whole ? octets + FRAMING_LENGTH : NULL);
	}
}

static void not_whole(void **state)
{
	struct span frame;
	size_t used;

	set_length(60);
	for (size_t n = 0; n < FRAMING_LENGTH + 60; n++) {
		uint8_t *p = malloc(n ? n : 1);

		assert_non_null(p);
		memcpy(p, octets, n);
		assert_int_equal(framing_next(span_of(p, n), MTU, &frame, &used), FRAMING_MORE);
		assert_int_equal(used, 0);
		free(p);
	}
}

static void fits(void **state)
{
	assert_false(frame_fits(13, MTU));
	assert_true(frame_fits(14, 0));
	assert_true(frame_fits(1514, MTU));
	assert_false(frame_fits(1515, MTU));
	assert_false(frame_fits(SIZE_MAX, UINT32_MAX));
}

/* ---- the header of the device ---- */

static void checksum_is_completed(void **state)
{
	/* UDP from 192.0.0.1:53 to 192.0.0.2:1000 with "abc": of the pseudo header only, first. */
	uint8_t p[] = {0, 53, 3, 0xe8, 0, 11, 0x80, 0x20, 'a', 'b', 'c'};
	struct virtio_net_hdr h = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 0, .csum_offset = 6};
	uint32_t sum = 0x8000 + 0x20;
	uint8_t whole[sizeof(p) + 1] = {0};

	assert_true(tap_complete(&h, p, sizeof(p)));
	memcpy(whole, p, sizeof(p));
	for (size_t i = 0; i < sizeof(whole); i += 2)
		sum += (uint32_t)(whole[i] << 8 | whole[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(sum, 0xffff);
}

static void checksum_of_zero(void **state)
{
	uint8_t p[] = {0xff, 0xff, 0, 0};
	struct virtio_net_hdr h = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 0, .csum_offset = 2};

	assert_true(tap_complete(&h, p, sizeof(p)));
	assert_memory_equal(p, "\xff\xff\xff\xff", 4);
}

static void headers_that_lie(void **state)
{
	static const struct {
		struct virtio_net_hdr h;
		bool good;
	} rows[] = {
		{{0}, true},
		{{.flags = VIRTIO_NET_HDR_F_DATA_VALID, .csum_start = 65535}, true},
		{{.gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 1}, false},
		{{.gso_type = 0xff}, false},
		{{.flags = 1, .csum_start = 58, .csum_offset = 0}, true},
		{{.flags = 1, .csum_start = 59, .csum_offset = 0}, false},
		{{.flags = 1, .csum_start = 0, .csum_offset = 58}, true},
		{{.flags = 1, .csum_start = 34, .csum_offset = 25}, false},
		{{.flags = 1, .csum_start = 65535, .csum_offset = 65535}, false},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		uint8_t *frame = calloc(1, 60);

		assert_non_null(frame);
		assert_int_equal(tap_complete(&rows[i].h, frame, 60), rows[i].good);
		free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(not_whole),
		cmocka_unit_test(fits),
		cmocka_unit_test(checksum_is_completed),
		cmocka_unit_test(checksum_of_zero),
		cmocka_unit_test(headers_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
