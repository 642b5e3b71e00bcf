/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a capture file, octet for octet (draft-ietf-opsawg-pcapng), on a little-endian machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "capture/pcapng.h"

static uint8_t octets[1024];

static void expect(const struct buf *b, const void *golden, size_t n)
{
	assert_false(b->full);
	assert_int_equal(b->n, n);
	assert_memory_equal(b->p, golden, n);
}

static void writes_a_section(void **state)
{
	static const char golden[] =
		"\x0a\x0d\x0d\x0a\x34\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00"
		"\xff\xff\xff\xff\xff\xff\xff\xff"
		"\x01\x00\x05\x00"
		"a box\0\0\0"
		"\x04\x00\x03\x00"
		"app\0"
		"\x00\x00\x00\x00\x34\x00\x00\x00";
	struct buf b = buf_of(octets, sizeof(octets));

	pcapng_put_section(&b, "app", "a box");
	expect(&b, golden, sizeof(golden) - 1);
}

static void writes_an_interface(void **state)
{
	static const char golden[] =
		"\x01\x00\x00\x00\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x04\x00"
		"\x02\x00\x05\x00"
		"link0\0\0\0"
		"\x03\x00\x03\x00"
		"end\0"
		"\x09\x00\x01\x00\x09\0\0\0"
		"\x00\x00\x00\x00\x34\x00\x00\x00";
	struct buf b = buf_of(octets, sizeof(octets));

	pcapng_put_interface(&b, "link0", "end");
	expect(&b, golden, sizeof(golden) - 1);
}

/* Five octets of a frame, of which one pads: head, frame and tail as they go out one by one. */
static void writes_a_packet(void **state)
{
	static const char golden[] = "\x06\x00\x00\x00\x48\x00\x00\x00\x00\x00\x00\x00"
				     "\x04\x03\x02\x01\x08\x07\x06\x05"
				     "\x05\x00\x00\x00\x05\x00\x00\x00"
				     "frame\0\0\0"
				     "\x02\x00\x04\x00\x06\x00\x00\x00"
				     "\x01\x00\x04\x00"
				     "deny"
				     "\x04\x00\x08\x00\x02\x00\x00\x00\x00\x00\x00\x00"
				     "\x00\x00\x00\x00\x48\x00\x00\x00";
	struct pcapng_packet p = {.time_ns = UINT64_C(0x0102030405060708),
				  .captured = 5,
				  .length = 5,
				  .flags = PCAPNG_OUTBOUND | PCAPNG_UNICAST,
				  .lost = 2,
				  .comment = "deny"};
	struct buf b = buf_of(octets, sizeof(octets));

	pcapng_put_packet_head(&b, &p);
	assert_int_equal(b.n, PCAPNG_HEAD);
	buf_put(&b, "frame", 5);
	pcapng_put_packet_tail(&b, &p);
	expect(&b, golden, sizeof(golden) - 1);
	assert_int_equal(pcapng_packet_octets(&p), sizeof(golden) - 1);
	p.lost = 0;
	assert_int_equal(pcapng_packet_octets(&p), sizeof(golden) - 1 - 12);
}

/* Whatever stands in them, head and tail have the room that is set aside. */
static void cuts_a_comment(void **state)
{
	char comment[2 * PCAPNG_COMMENT_MAX];
	struct pcapng_packet p = {.captured = 1, .lost = 1, .comment = comment};
	uint8_t tail[PCAPNG_TAIL_MAX];
	struct buf b = buf_of(tail, sizeof(tail));

	memset(comment, 'x', sizeof(comment) - 1);
	comment[sizeof(comment) - 1] = 0;
	pcapng_put_packet_tail(&b, &p);
	assert_false(b.full);
	assert_int_equal(PCAPNG_HEAD + 1 + b.n, pcapng_packet_octets(&p));
	assert_int_equal(b.n % 4, 3);
}

static void writes_statistics(void **state)
{
	static const char golden[] = "\x05\x00\x00\x00\x58\x00\x00\x00\x00\x00\x00\x00"
				     "\x01\x00\x00\x00\x02\x00\x00\x00"
				     "\x02\x00\x08\x00\x00\x00\x00\x00\x07\x00\x00\x00"
				     "\x03\x00\x08\x00\x01\x00\x00\x00\x02\x00\x00\x00"
				     "\x04\x00\x08\x00\x0b\x00\x00\x00\x00\x00\x00\x00"
				     "\x05\x00\x08\x00\x0c\x00\x00\x00\x00\x00\x00\x00"
				     "\x08\x00\x08\x00\x0d\x00\x00\x00\x00\x00\x00\x00"
				     "\x00\x00\x00\x00\x58\x00\x00\x00";
	struct pcapng_statistics s = {.begun_ns = 7,
				      .ended_ns = (UINT64_C(1) << 32) + 2,
				      .received = 11,
				      .dropped = 12,
				      .written = 13};
	struct buf b = buf_of(octets, sizeof(octets));

	pcapng_put_statistics(&b, &s);
	expect(&b, golden, sizeof(golden) - 1);
	assert_true(b.n <= PCAPNG_STATISTICS_OCTETS);
}

static void writes_secrets(void **state)
{
	static const char golden[] = "\x0a\x00\x00\x00\x1c\x00\x00\x00KSLT\x05\x00\x00\x00"
				     "A B C\0\0\0"
				     "\x1c\x00\x00\x00";
	struct buf b = buf_of(octets, sizeof(octets));

	pcapng_put_secrets(&b, span_of_string("A B C"));
	expect(&b, golden, sizeof(golden) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_a_section),  cmocka_unit_test(writes_an_interface),
		cmocka_unit_test(writes_a_packet),   cmocka_unit_test(cuts_a_comment),
		cmocka_unit_test(writes_statistics), cmocka_unit_test(writes_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
