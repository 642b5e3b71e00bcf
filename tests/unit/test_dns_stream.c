/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "gate/dns_stream.h"

/* Three messages of 12, 200 and 1024 octets, one after the other. */
static size_t write_three(uint8_t *p)
{
	static const size_t sizes[] = {12, 200, 1024};
	size_t n = 0;

	for (size_t i = 0; i < sg_array_len(sizes); i++) {
		p[n++] = (uint8_t)(sizes[i] >> 8);
		p[n++] = (uint8_t)sizes[i];
		memset(p + n, (int)('a' + i), sizes[i]);
		n += sizes[i];
	}
	return n;
}

/* In pieces of `piece` octets; the messages come out whole, in order. */
static void expect_three(const uint8_t *p, size_t n, size_t piece)
{
	static const size_t sizes[] = {12, 200, 1024};
	struct dns_stream s;
	size_t got = 0;

	dns_stream_init(&s);
	for (size_t at = 0; at < n; at += piece) {
		struct span in = span_of(p + at, n - at < piece ? n - at : piece), message;

		while (dns_stream_feed(&s, &in, &message) == DNS_STREAM_MESSAGE) {
			assert_int_equal(message.n, sizes[got]);
			assert_int_equal(message.p[0], 'a' + got);
			assert_int_equal(message.p[message.n - 1], 'a' + got);
			got++;
		}
		assert_int_equal(in.n, 0);
	}
	assert_int_equal(got, 3);
}

static void messages_are_found_however_cut(void **state)
{
	uint8_t p[2048];
	size_t n = write_three(p);

	for (size_t piece = 1; piece <= n; piece++)
		expect_three(p, n, piece);
}

static void impossible_lengths_break_the_stream(void **state)
{
	static const uint16_t lengths[] = {0, 1, 11, 1025, 0xffff};

	for (size_t i = 0; i < sg_array_len(lengths); i++) {
		uint8_t p[2] = {(uint8_t)(lengths[i] >> 8), (uint8_t)lengths[i]};
		struct span in = span_of(p, 1), message;
		struct dns_stream s;

		dns_stream_init(&s);
		assert_int_equal(dns_stream_feed(&s, &in, &message), DNS_STREAM_MORE);
		in = span_of(p + 1, 1);
		assert_int_equal(dns_stream_feed(&s, &in, &message), DNS_STREAM_BROKEN);
		in = span_of("\0\14", 2);
		assert_int_equal(dns_stream_feed(&s, &in, &message), DNS_STREAM_BROKEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_found_however_cut),
		cmocka_unit_test(impossible_lengths_break_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
