/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "gate/tls_hello.h"

static uint8_t scratch[TLS_HELLO_MAX];

/* ---- Building hellos ---- */

/* A vector with `size` octets of length, which is patched when its body is written. */
static size_t open_vector(struct buf *b)
{
	buf_put_u16(b, 0);
	return b->n;
}

static void close_vector(struct buf *b, size_t start)
{
	buf_patch_u16(b, start - 2, (uint16_t)(b->n - start));
}

static void put_extension(struct buf *b, uint16_t type, struct span body)
{
	buf_put_u16(b, type);
	buf_put_u16(b, (uint16_t)body.n);
	buf_put_span(b, body);
}

/* server_name with one entry. */
static void put_server_name(struct buf *b, uint8_t type, const char *name, size_t n)
{
	uint8_t body[1024];
	struct buf e = buf_of(body, sizeof(body));
	size_t list = open_vector(&e), host;

	buf_put_u8(&e, type);
	host = open_vector(&e);
	buf_put(&e, name, n);
	close_vector(&e, host);
	close_vector(&e, list);
	put_extension(b, 0, buf_span(&e));
}

/* A message with these extensions; without the field when extensions.p is NULL. */
static void put_message(struct buf *b, struct span extensions)
{
	static const uint8_t random[32] = {0x42};
	size_t length;

	buf_put_u16(b, 0x0100); /* client_hello, and the upper octet of the length */
	length = open_vector(b);
	buf_put_u16(b, 0x0303);
	buf_put(b, random, sizeof(random));
	buf_put_u8(b, 0);
	buf_put(b, "\0\2\x13\x01", 4);
	buf_put(b, "\1\0", 2);
	if (extensions.p) {
		buf_put_u16(b, (uint16_t)extensions.n);
		buf_put_span(b, extensions);
	}
	close_vector(b, length);
}

static void put_records(struct buf *b, struct span message, size_t fragment)
{
	for (size_t at = 0; at < message.n; at += fragment) {
		size_t n = message.n - at < fragment ? message.n - at : fragment;

		buf_put(b, "\x16\x03\x01", 3);
		buf_put_u16(b, (uint16_t)n);
		buf_put(b, message.p + at, n);
	}
}

/* The state after all octets at once; memory is of the exact size, for AddressSanitizer. */
static enum hello_state parse(struct span s, struct tls_hello *h)
{
	uint8_t *exact = malloc(s.n ? s.n : 1);
	enum hello_state state;

	assert_non_null(exact);
	if (s.n)
		memcpy(exact, s.p, s.n);
	memset(h, 0, sizeof(*h));
	state = tls_hello_parse(span_of(exact, s.n), scratch, h);
	free(exact);
	return state;
}

static enum hello_state parse_extensions(struct span extensions, struct tls_hello *h)
{
	uint8_t message[4096], records[4096];
	struct buf m = buf_of(message, sizeof(message)), r = buf_of(records, sizeof(records));

	put_message(&m, extensions);
	put_records(&r, buf_span(&m), 16384);
	assert_false(m.full || r.full);
	return parse(buf_span(&r), h);
}

static enum hello_state parse_server_name(const char *name, size_t n, struct tls_hello *h)
{
	uint8_t text[1024];
	struct buf b = buf_of(text, sizeof(text));

	put_server_name(&b, 0, name, n);
	return parse_extensions(buf_span(&b), h);
}

/* ---- Published and whole hellos ---- */

/* RFC 8448, 3: "Simple 1-RTT Handshake", for "server". */
static const uint8_t rfc8448[] = {
	0x16, 0x03, 0x01, 0x00, 0xc4, 0x01, 0x00, 0x00, 0xc0, 0x03, 0x03, 0xcb, 0x34, 0xec, 0xb1,
	0xe7, 0x81, 0x63, 0xba, 0x1c, 0x38, 0xc6, 0xda, 0xcb, 0x19, 0x6a, 0x6d, 0xff, 0xa2, 0x1a,
	0x8d, 0x99, 0x12, 0xec, 0x18, 0xa2, 0xef, 0x62, 0x83, 0x02, 0x4d, 0xec, 0xe7, 0x00, 0x00,
	0x06, 0x13, 0x01, 0x13, 0x03, 0x13, 0x02, 0x01, 0x00, 0x00, 0x91, 0x00, 0x00, 0x00, 0x0b,
	0x00, 0x09, 0x00, 0x00, 0x06, 0x73, 0x65, 0x72, 0x76, 0x65, 0x72, 0xff, 0x01, 0x00, 0x01,
	0x00, 0x00, 0x0a, 0x00, 0x14, 0x00, 0x12, 0x00, 0x1d, 0x00, 0x17, 0x00, 0x18, 0x00, 0x19,
	0x01, 0x00, 0x01, 0x01, 0x01, 0x02, 0x01, 0x03, 0x01, 0x04, 0x00, 0x23, 0x00, 0x00, 0x00,
	0x33, 0x00, 0x26, 0x00, 0x24, 0x00, 0x1d, 0x00, 0x20, 0x99, 0x38, 0x1d, 0xe5, 0x60, 0xe4,
	0xbd, 0x43, 0xd2, 0x3d, 0x8e, 0x43, 0x5a, 0x7d, 0xba, 0xfe, 0xb3, 0xc0, 0x6e, 0x51, 0xc1,
	0x3c, 0xae, 0x4d, 0x54, 0x13, 0x69, 0x1e, 0x52, 0x9a, 0xaf, 0x2c, 0x00, 0x2b, 0x00, 0x03,
	0x02, 0x03, 0x04, 0x00, 0x0d, 0x00, 0x20, 0x00, 0x1e, 0x04, 0x03, 0x05, 0x03, 0x06, 0x03,
	0x02, 0x03, 0x08, 0x04, 0x08, 0x05, 0x08, 0x06, 0x04, 0x01, 0x05, 0x01, 0x06, 0x01, 0x02,
	0x01, 0x04, 0x02, 0x05, 0x02, 0x06, 0x02, 0x02, 0x02, 0x00, 0x2d, 0x00, 0x02, 0x01, 0x01,
	0x00, 0x1c, 0x00, 0x02, 0x40, 0x01,
};

static void the_hello_of_rfc_8448_parses(void **state)
{
	struct tls_hello h;

	assert_int_equal(parse(span_of(rfc8448, sizeof(rfc8448)), &h), HELLO_OK);
	assert_true(h.has_server_name);
	assert_string_equal(h.server_name.s, "server");
	assert_int_equal(h.octets, sizeof(rfc8448));
	assert_false(h.has_ech);
	assert_int_equal(h.alpn, 0);
}

static void a_growing_span_gives_the_same_hello(void **state)
{
	struct tls_hello h = {0};

	for (size_t n = 0; n < sizeof(rfc8448); n++)
		assert_int_equal(tls_hello_parse(span_of(rfc8448, n), scratch, &h),
				 HELLO_NEED_MORE);
	assert_int_equal(tls_hello_parse(span_of(rfc8448, sizeof(rfc8448)), scratch, &h), HELLO_OK);
	assert_string_equal(h.server_name.s, "server");
}

static void fragments_of_any_size_are_joined(void **state)
{
	struct span message = span_of(rfc8448 + 5, sizeof(rfc8448) - 5);
	uint8_t records[2048];

	for (size_t fragment = 1; fragment < message.n; fragment++) {
		struct buf b = buf_of(records, sizeof(records));
		struct tls_hello h = {0};

		put_records(&b, message, fragment);
		for (size_t n = 0; n < b.n; n++)
			assert_int_equal(tls_hello_parse(span_of(records, n), scratch, &h),
					 HELLO_NEED_MORE);
		assert_int_equal(tls_hello_parse(buf_span(&b), scratch, &h), HELLO_OK);
		assert_string_equal(h.server_name.s, "server");
		assert_int_equal(h.octets, b.n);
	}
}

static void octets_after_the_records_of_the_hello_are_left_alone(void **state)
{
	uint8_t more[sizeof(rfc8448) + 6] = {0};
	struct tls_hello h;

	memcpy(more, rfc8448, sizeof(rfc8448));
	memcpy(more + sizeof(rfc8448), "\x14\x03\x03\x00\x01\x01", 6);
	assert_int_equal(parse(span_of(more, sizeof(more)), &h), HELLO_OK);
	assert_int_equal(h.octets, sizeof(rfc8448));
}

static void post_quantum_hellos_over_records_parse(void **state)
{
	static uint8_t extensions[4000], message[8192], records[16384];
	static const uint8_t share[1216]; /* as large as X25519MLKEM768 */
	struct buf e = buf_of(extensions, sizeof(extensions)), m = buf_of(message, sizeof(message));
	struct tls_hello h;

	put_extension(&e, 0x33, span_of(share, sizeof(share)));
	put_extension(&e, 0x1a1a, span_of("", 0)); /* GREASE, RFC 8701 */
	put_extension(&e, 0xfe0d, span_of(share, 300));
	put_extension(&e, 16, span_of("\0\x16\2h2\x08http/1.1\2h3\6\x1a\x1a\x1a\x1a\x1a\x1a", 24));
	put_server_name(&e, 0, "API.Example.com", 15);
	put_message(&m, buf_span(&e));
	for (size_t fragment = 200; fragment < 3000; fragment += 699) {
		struct buf r = buf_of(records, sizeof(records));

		put_records(&r, buf_span(&m), fragment);
		assert_int_equal(parse(buf_span(&r), &h), HELLO_OK);
		assert_string_equal(h.server_name.s, "api.example.com");
		assert_true(h.has_ech);
		assert_int_equal(h.alpn, ALPN_H2 | ALPN_HTTP11 | ALPN_H3 | ALPN_OTHER);
	}
}

static void a_hello_without_extensions_has_no_name(void **state)
{
	struct tls_hello h;

	assert_int_equal(parse_extensions(span_of(NULL, 0), &h), HELLO_OK);
	assert_false(h.has_server_name);
	assert_int_equal(parse_extensions(span_of("", 0), &h), HELLO_OK);
	assert_false(h.has_server_name);
}

static void a_message_alone_parses(void **state)
{
	struct span message = span_of(rfc8448 + 5, sizeof(rfc8448) - 5);
	struct tls_hello h = {0};

	for (size_t n = 0; n < message.n; n++)
		assert_int_equal(tls_hello_parse_message(span_of(message.p, n), &h),
				 HELLO_NEED_MORE);
	assert_int_equal(tls_hello_parse_message(message, &h), HELLO_OK);
	assert_string_equal(h.server_name.s, "server");
}

/* ---- What is refused ---- */

static void other_protocols_are_told_from_the_first_octets(void **state)
{
	static const char *const firsts[] = {
		"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x80\x2e\x01\x03\x01", /* SSLv2 */
		"\x15\x03\x01",	      "\x17\x03\x03",  "\x16\x02",
		"\x16\x04",	      "EHLO x",
	};
	struct tls_hello h;

	for (size_t i = 0; i < sg_array_len(firsts); i++)
		if (parse(span_of_string(firsts[i]), &h) != HELLO_NOT_TLS)
			fail_msg("not refused: %zu", i);
	assert_int_equal(parse(span_of("\0", 1), &h), HELLO_NOT_TLS);
	assert_int_equal(parse(span_of("", 0), &h), HELLO_NEED_MORE);
	assert_int_equal(parse(span_of("\x16", 1), &h), HELLO_NEED_MORE);
}

static void names_that_are_not_one_canonical_host_are_malformed(void **state)
{
	static const struct {
		const char *name;
		size_t n;
	} names[] = {
		{"", 0},
		{"example.com.", 12},
		{".", 1},
		{"10.0.0.1", 8},
		{"127.1", 5},
		{"2001:db8::1", 11},
		{"[2001:db8::1]", 13},
		{"a..example", 10},
		{"a b.example", 11},
		{"example.com\0.evil.example", 25},
		{"*.example.com", 13},
		{"example.com:443", 15},
		{"\xc3\xbc.example", 10},
	};
	struct tls_hello h;
	char long_name[300];

	for (size_t i = 0; i < sg_array_len(names); i++)
		if (parse_server_name(names[i].name, names[i].n, &h) != HELLO_MALFORMED || !h.why)
			fail_msg("accepted: %s", names[i].name);
	memset(long_name, 'a', sizeof(long_name));
	assert_int_equal(parse_server_name(long_name, sizeof(long_name), &h), HELLO_MALFORMED);
}

/* Bodies of server_name and ALPN with each length wrong in turn. */
static void malformed_extension_bodies_are_refused(void **state)
{
	static const struct {
		uint16_t type;
		const char *body;
		size_t n;
	} bodies[] = {
		{0, "", 0},
		{0, "\0", 1},
		{0, "\0\0", 2},
		{0, "\0\4\0\0\1a", 6}, /* the one that is right */
		{0, "\0\5\0\0\1a", 6},
		{0, "\0\4\0\0\2a", 6},
		{0, "\0\4\0\0\1aX", 7},
		{0, "\0\4\1\0\1a", 6},
		{0, "\0\10\0\0\1a\0\0\1b", 10},
		{0, "\0\10\0\0\1a\1\0\1b", 10},
		{16, "", 0},
		{16, "\0\0", 2},
		{16, "\0\1\0", 3},
		{16, "\0\3\3h2", 5},
		{16, "\0\3\2h2X", 6},
	};
	struct tls_hello h;

	for (size_t i = 0; i < sg_array_len(bodies); i++) {
		uint8_t text[64];
		struct buf b = buf_of(text, sizeof(text));

		put_extension(&b, bodies[i].type, span_of(bodies[i].body, bodies[i].n));
		if ((parse_extensions(buf_span(&b), &h) == HELLO_OK) != (i == 3))
			fail_msg("body %zu", i);
	}
}

static void an_extension_that_is_there_twice_is_malformed(void **state)
{
	static const uint16_t types[] = {0, 16, 0xfe0d, 0x1a1a, 0x1234};
	struct tls_hello h;

	for (size_t i = 0; i < sg_array_len(types); i++) {
		uint8_t text[256];
		struct buf b = buf_of(text, sizeof(text));

		for (int twice = 0; twice < 2; twice++) {
			if (types[i] == 0)
				put_server_name(&b, 0, "a.example", 9);
			else if (types[i] == 16)
				put_extension(&b, 16, span_of("\0\3\2h2", 5));
			else
				put_extension(&b, types[i], span_of("", 0));
		}
		assert_int_equal(parse_extensions(buf_span(&b), &h), HELLO_MALFORMED);
		assert_string_equal(h.why, "an extension is there twice");
	}
}

/* Every cut of the message that says it is whole, and every octet more. */
static void wrong_lengths_inside_are_malformed(void **state)
{
	struct tls_hello h;

	for (size_t n = 4; n < sizeof(rfc8448) - 5; n++) {
		uint8_t record[sizeof(rfc8448)];
		struct buf b = buf_of(record, sizeof(record));

		if (n == 4 + 2 + 32 + 1 + 2 + 6 + 2)
			continue; /* this cut is a hello without extensions */
		buf_put(&b, rfc8448, 5 + n);
		buf_patch_u16(&b, 3, (uint16_t)n);
		buf_patch_u16(&b, 7, (uint16_t)(n - 4));
		if (parse(buf_span(&b), &h) != HELLO_MALFORMED)
			fail_msg("accepted: cut at %zu", n);
	}
}

static void records_that_hold_something_else_are_malformed(void **state)
{
	static const struct {
		const char *octets;
		size_t n;
	} streams[] = {
		{"\x16\x03\x01\0\0", 5},			  /* empty fragment */
		{"\x16\x03\x01\x40\x01\x01", 6},		  /* larger than 2^14 */
		{"\x16\x03\x01\0\4\2", 6},			  /* a server hello */
		{"\x16\x03\x01\0\4\0\0\0\0", 9},		  /* a hello request */
		{"\x16\x03\x01\0\2\1\0\x15\x03\x01\0\2\1\0", 14}, /* an alert between */
		{"\x16\x03\x01\0\2\1\0\x16\x03\x01\0\0", 12},	  /* an empty one between */
		{"\x16\x03\x01\0\2\1\0\x16\x02", 9},		  /* another version between */
		{"\x16\x03\x01\0\4\1\0\0\0", 9},		  /* a hello of no octets */
		{"\x16\x03\x01\0\x64\1\0\0\x2f", 9},		  /* more than the message */
	};
	struct tls_hello h;

	for (size_t i = 0; i < sg_array_len(streams); i++)
		if (parse(span_of(streams[i].octets, streams[i].n), &h) != HELLO_MALFORMED)
			fail_msg("stream %zu", i);
}

/* A second hello behind the first in one record could be the one that a server follows. */
static void a_second_message_in_the_record_is_malformed(void **state)
{
	uint8_t two[2 * sizeof(rfc8448)];
	struct buf b = buf_of(two, sizeof(two));
	struct tls_hello h;

	buf_put(&b, rfc8448, sizeof(rfc8448));
	buf_put(&b, rfc8448 + 5, sizeof(rfc8448) - 5);
	buf_patch_u16(&b, 3, (uint16_t)(b.n - 5));
	assert_int_equal(parse(buf_span(&b), &h), HELLO_MALFORMED);
}

static void large_hellos_end_at_the_limit(void **state)
{
	static uint8_t extensions[65536], message[70000], records[80000];
	static const uint8_t filler[66000];
	struct tls_hello h;

	for (size_t size = 65400; size < 65535; size += 10) {
		struct buf e = buf_of(extensions, sizeof(extensions));
		struct buf m = buf_of(message, sizeof(message)),
			   r = buf_of(records, sizeof(records));
		bool fits;

		put_server_name(&e, 0, "a.example", 9);
		put_extension(&e, 21, span_of(filler, size - e.n - 4));
		put_message(&m, buf_span(&e));
		if (m.n - 4 > UINT16_MAX) /* the upper octet of the length */
			message[1] = 1;
		put_records(&r, buf_span(&m), 16384);
		fits = r.n <= TLS_HELLO_MAX;
		assert_int_equal(parse(buf_span(&r), &h), fits ? HELLO_OK : HELLO_TOO_LARGE);
	}
	assert_int_equal(parse(span_of("\x16\x03\x01\x40\0\1\1\0\0", 9), &h), HELLO_TOO_LARGE);
}

/* One octet a record: the limit counts the headers too. */
static void headers_count_towards_the_limit(void **state)
{
	static uint8_t message[20000], extensions[20000], records[TLS_HELLO_MAX + 6];
	static const uint8_t filler[12000];
	struct buf e = buf_of(extensions, sizeof(extensions)), m = buf_of(message, sizeof(message));
	struct buf r = buf_of(records, sizeof(records));
	struct tls_hello h = {0};
	enum hello_state last = HELLO_NEED_MORE;

	put_extension(&e, 21, span_of(filler, sizeof(filler)));
	put_message(&m, buf_span(&e));
	put_records(&r, buf_span(&m), 1);
	assert_true(r.full);
	for (size_t n = 0; n <= r.n && last == HELLO_NEED_MORE; n++)
		last = tls_hello_parse(span_of(records, n), scratch, &h);
	assert_int_equal(last, HELLO_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hello_of_rfc_8448_parses),
		cmocka_unit_test(a_growing_span_gives_the_same_hello),
		cmocka_unit_test(fragments_of_any_size_are_joined),
		cmocka_unit_test(octets_after_the_records_of_the_hello_are_left_alone),
		cmocka_unit_test(post_quantum_hellos_over_records_parse),
		cmocka_unit_test(a_hello_without_extensions_has_no_name),
		cmocka_unit_test(a_message_alone_parses),
		cmocka_unit_test(other_protocols_are_told_from_the_first_octets),
		cmocka_unit_test(names_that_are_not_one_canonical_host_are_malformed),
		cmocka_unit_test(malformed_extension_bodies_are_refused),
		cmocka_unit_test(an_extension_that_is_there_twice_is_malformed),
		cmocka_unit_test(wrong_lengths_inside_are_malformed),
		cmocka_unit_test(records_that_hold_something_else_are_malformed),
		cmocka_unit_test(a_second_message_in_the_record_is_malformed),
		cmocka_unit_test(large_hellos_end_at_the_limit),
		cmocka_unit_test(headers_count_towards_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
