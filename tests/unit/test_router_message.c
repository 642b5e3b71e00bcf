/* SPDX-License-Identifier: Apache-2.0 */
/* Router solicitations and advertisements (RFC 4861, RFC 8106), octet for octet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gate/router_message.h"

static struct addr addr(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

static bool is_valid(const char *octets, size_t n, const char *from, int hops)
{
	struct addr a = addr(from);
	uint8_t *p = malloc(n ? n : 1);
	bool valid;

	assert_non_null(p);
	memcpy(p, octets, n);
	valid = router_solicit_valid(span_of(p, n), &a, hops);
	free(p);
	return valid;
}

#define HEAD   "\x85\0\x12\x34\0\0\0\0"
#define SOURCE "\1\1\2sg\0\0\2"
#define LOCAL  "fe80::2"

static void solicitations(void **state)
{
#define ROW(s, from, hops, valid)                    \
	{                                            \
		s, sizeof(s) - 1, from, hops, valid, \
	}
	static const struct {
		const char *octets;
		size_t n;
		const char *from;
		int hops;
		bool valid;
	} rows[] = {
		ROW(HEAD, LOCAL, 255, true),
		ROW(HEAD, "::", 255, true),
		ROW(HEAD SOURCE, LOCAL, 255, true),
		ROW(HEAD "\x0e\1\1\2\3\4\5\6", "::", 255, true), /* a nonce: passed over */
		ROW(HEAD "\xc8\2\1\2\3\4\5\6\1\2\3\4\5\6\7\x08" SOURCE, LOCAL, 255, true),
		ROW(HEAD, LOCAL, 254, false), /* it came over a router */
		ROW(HEAD, LOCAL, -1, false),
		ROW(HEAD SOURCE, "::", 255, false),
		ROW("\x85\1\x12\x34\0\0\0\0", LOCAL, 255, false),
		ROW("\x86\0\x12\x34\0\0\0\0", LOCAL, 255, false),
		ROW("\x85\0\x12\x34\0\0\0", LOCAL, 255, false),
		ROW("", LOCAL, 255, false),
		ROW(HEAD "\1", LOCAL, 255, false),
		ROW(HEAD "\1\0\2sg\0\0\2", LOCAL, 255, false), /* an option of no length */
		ROW(HEAD "\1\2\2sg\0\0\2", LOCAL, 255, false),
		ROW(HEAD SOURCE "\5", LOCAL, 255, false),
		ROW(HEAD "\5\xff\0\0\0\0\5\xdc", LOCAL, 255, false),
	};

	for (size_t i = 0; i < sg_array_len(rows); i++)
		assert_int_equal(is_valid(rows[i].octets, rows[i].n, rows[i].from, rows[i].hops),
				 rows[i].valid);
}

static void expect(const struct router_advert *a, const char *octets, size_t n)
{
	uint8_t got[ROUTER_ADVERT_MAX];
	struct buf b = buf_of(got, sizeof(got));

	router_advert_build(&b, a);
	assert_false(b.full);
	assert_int_equal(b.n, n);
	assert_memory_equal(got, octets, n);
}
#define EXPECT(a, octets) expect(a, octets, sizeof(octets) - 1)

static void advertisements(void **state)
{
	struct router_advert a = {
		.prefix = {addr("fd73:616e:6467:1::2"), 64},
		.resolver = addr("fd73:616e:6467:1::1"),
		.mtu = 1500,
		.router_s = 1800,
		.valid_s = 86400,
		.preferred_s = 14400,
		.resolver_s = 1800,
	};

#define ROUTER "\x86\0\0\0\x40\0\7\x08\0\0\0\0\0\0\0\0"
#define PREFIX                                         \
	"\3\4\x40\xc0\0\1\x51\x80\0\0\x38\x40\0\0\0\0" \
	"\xfd\x73\x61\x6e\x64\x67\0\1\0\0\0\0\0\0\0\0"
#define RESOLVER "\x19\3\0\0\0\0\7\x08\xfd\x73\x61\x6e\x64\x67\0\1\0\0\0\0\0\0\0\1"
	EXPECT(&a, ROUTER PREFIX "\5\1\0\0\0\0\5\xdc" RESOLVER);
	/* A prefix of another length is not one to make addresses of (RFC 4862, 5.5.3 d). */
	a.prefix.bits = 128;
	a.mtu = 65520;
	EXPECT(&a, ROUTER "\5\1\0\0\0\0\xff\xf0" RESOLVER);
	a.mtu = 1279;
	EXPECT(&a, ROUTER RESOLVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solicitations),
		cmocka_unit_test(advertisements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
