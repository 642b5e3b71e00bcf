/* SPDX-License-Identifier: Apache-2.0 */
/* What a proxy says to CONNECT, whole and in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "broker/tunnel_answer.h"

static const struct {
	const char *text;
	enum tunnel_said said;
	unsigned status;
	size_t behind; /* octets that are not of the head */
} rows[] = {
	{"HTTP/1.1 200 OK\r\n\r\n", TUNNEL_OPEN, 200, 0},
	{"HTTP/1.0 200 Connection established\r\n\r\n", TUNNEL_OPEN, 200, 0},
	{"HTTP/1.1 200\r\n\r\n", TUNNEL_OPEN, 200, 0},
	/* Neither a length nor an encoding means anything here (RFC 9110, 9.3.6). */
	{"HTTP/1.1 201 x\r\nContent-Length: 4\r\n\r\nSSH-", TUNNEL_OPEN, 201, 4},
	{"HTTP/1.1 299 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", TUNNEL_OPEN, 299, 5},
	{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", TUNNEL_INTERIM, 100, 19},
	{"HTTP/1.1 407 x\r\nA: b\r\n\r\nbody", TUNNEL_REFUSED, 407, 4},
	{"HTTP/1.1 302 x\r\nLocation: http://x/\r\n\r\n", TUNNEL_REFUSED, 302, 0},
	{"HTTP/1.1 099 x\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"HTTP/1.1 2000 x\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"HTTP/1.1 20\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"HTTP/1.1  200 x\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"HTTP/2.0 200 x\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"http/1.1 200 x\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"SSH-2.0-OpenSSH", TUNNEL_MALFORMED, 0, 0},
	{"\r\n\r\n", TUNNEL_MALFORMED, 0, 0},
	{"", TUNNEL_MORE, 0, 0},
	{"HTT", TUNNEL_MORE, 0, 0},
	{"HTTP/1.1 200 OK\r\nA: b\r\n", TUNNEL_MORE, 0, 0},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span s = span_of(rows[i].text, strlen(rows[i].text));
		unsigned status = 0;
		size_t head = 0;
		enum tunnel_said said = tunnel_answer_parse(s, &status, &head);

		if (said != rows[i].said)
			fail_msg("%s: %d", rows[i].text, said);
		if (said == TUNNEL_MORE || said == TUNNEL_MALFORMED)
			continue;
		assert_int_equal(status, rows[i].status);
		assert_int_equal(s.n - head, rows[i].behind);
		for (size_t n = 0; n < head; n++)
			assert_int_equal(tunnel_answer_parse(span_of(s.p, n), &status, &head),
					 TUNNEL_MORE);
	}
}

static void test_a_head_has_an_end(void **state)
{
	static uint8_t text[TUNNEL_HEAD_MAX + 8];
	static const char line[] = "HTTP/1.1 200 ";
	unsigned status;
	size_t head;

	memset(text, 'x', sizeof(text));
	memcpy(text, line, sizeof(line) - 1);
	assert_int_equal(tunnel_answer_parse(span_of(text, TUNNEL_HEAD_MAX - 1), &status, &head),
			 TUNNEL_MORE);
	assert_int_equal(tunnel_answer_parse(span_of(text, TUNNEL_HEAD_MAX), &status, &head),
			 TUNNEL_MALFORMED);
	memcpy(text + TUNNEL_HEAD_MAX - 4, "\r\n\r\n", 4);
	assert_int_equal(tunnel_answer_parse(span_of(text, TUNNEL_HEAD_MAX), &status, &head),
			 TUNNEL_OPEN);
	assert_int_equal(head, TUNNEL_HEAD_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_a_head_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
