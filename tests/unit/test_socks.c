/* SPDX-License-Identifier: Apache-2.0 */
/* SOCKS5 (RFC 1928, RFC 1929): what is read of a client, whole and cut at every octet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gate/socks.h"

#define OCTETS(s) span_of(s, sizeof(s) - 1)

/* In memory of just that size, for AddressSanitizer. */
static uint8_t *exactly(struct span s)
{
	uint8_t *p = malloc(s.n ? s.n : 1);

	assert_non_null(p);
	if (s.n)
		memcpy(p, s.p, s.n);
	return p;
}

/* ---- The greeting ---- */

static enum socks_result greet(struct span s, size_t *n, enum socks_method *method)
{
	uint8_t *p = exactly(s);
	enum socks_result r = socks_greeting_read(span_of(p, s.n), n, method);

	free(p);
	return r;
}

static void greetings(void **state)
{
	static const struct {
		struct span octets;
		enum socks_method method;
		size_t n;
	} rows[] = {
		{{(const uint8_t *)"\5\1\0", 3}, SOCKS_NONE, 3},
		{{(const uint8_t *)"\5\2\2\0", 4}, SOCKS_NONE, 4},
		{{(const uint8_t *)"\5\3\0\1\2", 5}, SOCKS_NONE, 5},
		{{(const uint8_t *)"\5\1\2", 3}, SOCKS_PASSWORD, 3},
		{{(const uint8_t *)"\5\1\1", 3}, SOCKS_NO_METHOD, 3},
		{{(const uint8_t *)"\5\0", 2}, SOCKS_NO_METHOD, 2},
		/* the next message may have come with it */
		{{(const uint8_t *)"\5\1\0\5\1\0", 6}, SOCKS_NONE, 3},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		enum socks_method method;
		size_t n;

		for (size_t cut = 0; cut < rows[i].n; cut++)
			assert_int_equal(greet(span_of(rows[i].octets.p, cut), &n, &method),
					 SOCKS_MORE);
		assert_int_equal(greet(rows[i].octets, &n, &method), SOCKS_WHOLE);
		assert_int_equal(n, rows[i].n);
		assert_int_equal(method, rows[i].method);
	}
}

static void another_protocol_is_wrong_at_its_first_octet(void **state)
{
	static const char *const first[] = {"\4", "G", "\x16", "\6"};
	enum socks_method method;
	size_t n;

	for (size_t i = 0; i < sg_array_len(first); i++)
		assert_int_equal(greet(span_of(first[i], 1), &n, &method), SOCKS_WRONG);
}

static void passwords(void **state)
{
	static const struct span rows[] = {
		{(const uint8_t *)"\1\4user\2pw", 9},
		{(const uint8_t *)"\1\0\0", 3},
	};
	uint8_t longest[SOCKS_MESSAGE_MAX] = {1, 255};
	size_t n;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		for (size_t cut = 0; cut < rows[i].n; cut++)
			assert_int_equal(socks_password_read(span_of(rows[i].p, cut), &n),
					 SOCKS_MORE);
		assert_int_equal(socks_password_read(rows[i], &n), SOCKS_WHOLE);
		assert_int_equal(n, rows[i].n);
	}
	longest[257] = 255;
	assert_int_equal(socks_password_read(span_of(longest, sizeof(longest)), &n), SOCKS_WHOLE);
	assert_int_equal(n, SOCKS_MESSAGE_MAX);
	assert_int_equal(socks_password_read(OCTETS("\5"), &n), SOCKS_WRONG);
}

/* ---- The request ---- */

static enum socks_result request(struct span s, size_t *n, struct http_authority *to,
				 enum socks_reply *reply)
{
	uint8_t *p = exactly(s);
	enum socks_result r = socks_request_read(span_of(p, s.n), n, to, reply);

	free(p);
	return r;
}

static void requests(void **state)
{
	static const struct {
		struct span octets;
		const char *host;
		uint16_t port;
	} rows[] = {
		{{(const uint8_t *)"\5\1\0\1\313\0\161\7\1\273", 10}, "203.0.113.7", 443},
		{{(const uint8_t *)"\5\1\0\3\11A.example\0\26", 16}, "a.example", 22},
		{{(const uint8_t *)"\5\1\0\3\12a.example.\0\120", 17}, "a.example", 80},
		{{(const uint8_t *)"\5\1\0\3\13\06203.0.113.7\0\120", 18}, "203.0.113.7", 80},
		{{(const uint8_t *)"\5\1\0\3\13"
				   "2001:db8::1\0\120",
		  18},
		 "2001:db8::1",
		 80},
		{{(const uint8_t *)"\5\1\0\4\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\1\0\120", 22},
		 "2001:db8::1",
		 80},
		/* a mapped address is the one inside, as where it is dialled */
		{{(const uint8_t *)"\5\1\0\4\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\1\0\120", 22},
		 "127.0.0.1",
		 80},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct http_authority to;
		enum socks_reply reply;
		char text[ADDR_TEXT_MAX];
		size_t n;

		for (size_t cut = 0; cut < rows[i].octets.n; cut++)
			assert_int_equal(request(span_of(rows[i].octets.p, cut), &n, &to, &reply),
					 SOCKS_MORE);
		assert_int_equal(request(rows[i].octets, &n, &to, &reply), SOCKS_WHOLE);
		assert_int_equal(n, rows[i].octets.n);
		assert_int_equal(to.port, rows[i].port);
		assert_string_equal(to.kind == HTTP_HOST_NAME ? to.name.s
							      : addr_format(&to.addr, text),
				    rows[i].host);
	}
}

static void wrong_requests(void **state)
{
	static const struct {
		struct span octets;
		enum socks_reply reply;
	} rows[] = {
		{{(const uint8_t *)"\4\1", 2}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\2", 2}, SOCKS_COMMAND_UNKNOWN}, /* BIND */
		{{(const uint8_t *)"\5\3", 2}, SOCKS_COMMAND_UNKNOWN}, /* UDP ASSOCIATE */
		{{(const uint8_t *)"\5\1\1", 3}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\2", 4}, SOCKS_ADDRESS_UNKNOWN},
		{{(const uint8_t *)"\5\1\0\0", 4}, SOCKS_ADDRESS_UNKNOWN},
		{{(const uint8_t *)"\5\1\0\1\313\0\161\7\0\0", 10}, SOCKS_FAILED}, /* port 0 */
		{{(const uint8_t *)"\5\1\0\3\0\0\120", 7}, SOCKS_FAILED},
		/* demands.md, SOCKS5 NUL: what is judged would not be what is looked up */
		{{(const uint8_t *)"\5\1\0\3\16b.example\0.a.e\0\120", 21}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\3\5a\nb.e\0\120", 12}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\3\5a b.e\0\120", 12}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\3\5a..be\0\120", 12}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\3\5\061\062\067.1\0\120", 12}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\3\5\303\251b.e\0\120", 12}, SOCKS_FAILED},
		{{(const uint8_t *)"\5\1\0\3\13fe80::1%lo0\0\120", 18}, SOCKS_FAILED},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct http_authority to;
		enum socks_reply reply = SOCKS_SUCCEEDED;
		size_t n;

		assert_int_equal(request(rows[i].octets, &n, &to, &reply), SOCKS_WRONG);
		assert_int_equal(reply, rows[i].reply);
	}
}

static void the_longest_name_is_no_name(void **state)
{
	uint8_t octets[4 + 1 + 255 + 2] = {5, 1, 0, 3, 255};
	struct http_authority to;
	enum socks_reply reply;
	size_t n;

	memset(octets + 5, 'a', 255);
	octets[sizeof(octets) - 1] = 80;
	assert_int_equal(request(span_of(octets, sizeof(octets)), &n, &to, &reply), SOCKS_WRONG);
	assert_int_equal(reply, SOCKS_FAILED);
}

static void a_reply_says_nothing_of_the_host(void **state)
{
	uint8_t octets[SOCKS_REPLY_OCTETS];
	struct buf b = buf_of(octets, sizeof(octets));

	socks_reply_print(SOCKS_NOT_ALLOWED, &b);
	assert_false(b.full);
	assert_memory_equal(octets, "\5\2\0\1\0\0\0\0\0\0", SOCKS_REPLY_OCTETS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greetings),
		cmocka_unit_test(another_protocol_is_wrong_at_its_first_octet),
		cmocka_unit_test(passwords),
		cmocka_unit_test(requests),
		cmocka_unit_test(wrong_requests),
		cmocka_unit_test(the_longest_name_is_no_name),
		cmocka_unit_test(a_reply_says_nothing_of_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
