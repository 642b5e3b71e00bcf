/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "http2_crossing.h"

enum { CASES = 60000, WAY_MAX = 4096 };

static uint64_t seed = 0x9e3779b97f4a7c15;

static unsigned any(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static const char *const names[] = {
	":method",
	":path",
	":authority",
	":scheme",
	":protocol",
	":status",
	"host",
	"content-length",
	"content_length",
	"transfer-encoding",
	"transfer_encoding",
	"connection",
	"te",
	"trailer",
	"upgrade",
	"cookie",
	"expect",
	"x",
	"X",
	"x y",
	"x:",
	"x\r\ny",
	"",
	"accept",
	"user-agent",
	"keep-alive",
	"proxy-authorization",
	"authorization",
	"range",
	"sec-websocket-key",
};
static const char *const values[] = {
	"",
	"GET",
	"POST",
	"HEAD",
	"OPTIONS",
	"CONNECT",
	"G T",
	"/",
	"/a?b",
	"*",
	"/ HTTP/1.1",
	"//",
	"http://b.example/",
	"/#x",
	"/%00",
	"a.example",
	"A.EXAMPLE",
	"a.example:443",
	"a.example:8",
	"b.example",
	"u@a.example",
	"[::1]",
	"[::ffff:1.2.3.4]",
	"127.0.0.1",
	"0x7f.1",
	"https",
	"http",
	"websocket",
	"h2c",
	"0",
	"1",
	"3",
	"+3",
	"3,3",
	"0x3",
	"18446744073709551616",
	"chunked",
	"gzip, chunked",
	"close",
	"content-length",
	"trailers",
	"100-continue",
	"a=1",
	"a=1; b=2",
	"x",
	" x",
	"x\t",
	"x\r\ny: z",
	"x\n\nGET / HTTP/1.1",
	"\r",
	"\x7f",
	"\x80\xff",
};
static const char *const bodies[] = {
	"",	    "abc", "0\r\n\r\n", "0\r\n\r\nGET /evil HTTP/1.1\r\nhost: a.example\r\n\r\n",
	"3\r\nabc",
};

static void put_text(struct buf *b, const char *s)
{
	buf_put_u8(b, (uint8_t)strlen(s));
	buf_put_text(b, s);
}

static struct span make_way(uint8_t *memory)
{
	struct buf b = buf_of(memory, WAY_MAX);
	unsigned n = any(5);

	buf_put_u8(&b, (uint8_t)(any(8) ? CROSSING_PLAIN | any(4) : any(4)));
	while (n--) {
		put_text(&b, names[any(sg_array_len(names))]);
		put_text(&b, values[any(sg_array_len(values))]);
	}
	buf_put_u8(&b, CROSSING_FIELDS_END);
	buf_put_text(&b, bodies[any(sg_array_len(bodies))]);
	return buf_span(&b);
}

static void test_what_crosses_is_what_was_judged(void **state)
{
	uint8_t memory[WAY_MAX];
	unsigned crossed = 0;

	for (unsigned i = 0; i < CASES; i++) {
		struct crossing c = crossing_try(make_way(memory));

		crossed += c.crossed;
		if (c.wrong)
			fail_msg("case %u: %s", i, c.wrong);
	}
	/* Neither all nor none: both sides of the line are tried. */
	assert_in_range(crossed, CASES / 20, CASES * 3 / 4);
	print_message("%u of %u requests crossed\n", crossed, CASES);
}

struct text {
	const char *name, *value;
};

static bool crosses(uint8_t flags, const struct text *fields, size_t n, const char *body)
{
	uint8_t memory[WAY_MAX];
	struct buf b = buf_of(memory, WAY_MAX);
	struct crossing c;

	buf_put_u8(&b, flags);
	for (size_t i = 0; i < n; i++) {
		put_text(&b, fields[i].name);
		put_text(&b, fields[i].value);
	}
	buf_put_u8(&b, CROSSING_FIELDS_END);
	buf_put_text(&b, body);
	c = crossing_try(buf_span(&b));
	if (c.wrong)
		fail_msg("%s", c.wrong);
	return c.crossed;
}

static void test_cookies_and_bodies_cross(void **state)
{
	const struct text cookies[] = {{"cookie", "a=1"}, {"cookie", "b=2"}};
	const struct text length[] = {{"content-length", "5"}};
	const struct text websocket[] = {
		{":method", "CONNECT"}, {":protocol", "websocket"},  {":scheme", "https"},
		{":path", "/"},		{":authority", "a.example"},
	};

	assert_true(crosses(CROSSING_PLAIN | CROSSING_ENDS, cookies, 2, ""));
	assert_true(crosses(CROSSING_PLAIN, NULL, 0, "0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"));
	assert_true(crosses(CROSSING_PLAIN, length, 1, "GET /"));
	assert_true(crosses(0, websocket, 5, ""));
}

static void test_what_frames_in_http1_does_not_cross(void **state)
{
	static const struct text rows[] = {
		{"transfer-encoding", "chunked"},
		{"connection", "content-length"},
		{"content-length", "0"},
		{"x", "a\r\ntransfer-encoding: chunked"},
		{"x\r\ntransfer-encoding", "chunked"},
		{"x: y\r\nz", "a"},
		{":path", "/ HTTP/1.1\r\nhost: b.example\r\n\r\n"},
		{"host", "b.example"},
		{"content_length", "0"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++)
		if (crosses(CROSSING_PLAIN, &rows[i], 1, "abc"))
			assert_string_equal(rows[i].value, "0"); /* cut when it is longer */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_crosses_is_what_was_judged),
		cmocka_unit_test(test_cookies_and_bodies_cross),
		cmocka_unit_test(test_what_frames_in_http1_does_not_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
