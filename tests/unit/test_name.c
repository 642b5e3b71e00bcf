/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/name.h"

static enum name_error parse(const char *s, struct name *out)
{
	return name_parse(s, strlen(s), out, NULL);
}

static void assert_same(const char *written, const char *canonical)
{
	struct name by_person, by_wire;

	assert_int_equal(parse(written, &by_person), NAME_OK);
	assert_string_equal(by_person.s, canonical);
	assert_int_equal(by_person.n, strlen(canonical));
	assert_int_equal(name_parse_ascii(canonical, strlen(canonical), &by_wire), NAME_OK);
	assert_true(name_equal(&by_person, &by_wire));
}

static void test_one_canonical_form(void **state)
{
	assert_same("example.com", "example.com");
	assert_same("EXAMPLE.Com.", "example.com");
	assert_same("b\xc3\xbc"
		    "cher.example",
		    "xn--bcher-kva.example");
	assert_same("B\xc3\x9c"
		    "CHER.EXAMPLE.",
		    "xn--bcher-kva.example");
	assert_same("_sip._tcp.example.com", "_sip._tcp.example.com");
	assert_same("r3---sn-4g5e6nz7.example.com", "r3---sn-4g5e6nz7.example.com");
	assert_same("xn--ls8h.la", "xn--ls8h.la");
	assert_same("a", "a");
}

struct refusal {
	const char *text;
	enum name_error why;
	size_t at;
};

/* demands.md, bypasses: what must never become a name, and where it is wrong. */
static void test_refusals_have_a_place(void **state)
{
	static const struct refusal refusals[] = {
		{"", NAME_EMPTY, 0},
		{".", NAME_EMPTY, 0},
		{"..", NAME_EMPTY_LABEL, 0},
		{"a..b", NAME_EMPTY_LABEL, 2},
		{".a", NAME_EMPTY_LABEL, 0},
		{"a b.c", NAME_BAD_CHARACTER, 1},
		{"a.b\n", NAME_BAD_CHARACTER, 3},
		{"a.*", NAME_BAD_CHARACTER, 2},
		{"a.\xe3\x80\x82", NAME_BAD_CHARACTER, 2},
		{"a\xef\xbc\x8e"
		 "b",
		 NAME_BAD_CHARACTER, 1},
		{"a\xff", NAME_BAD_CHARACTER, 1},
		{"a\xc3", NAME_BAD_CHARACTER, 1},
		{"-a.b", NAME_BAD_HYPHEN, 0},
		{"c.a-", NAME_BAD_HYPHEN, 3},
		{"1.2.3.4", NAME_NUMERIC, 6},
		{"a.0x1f", NAME_NUMERIC, 2},
		{"a.0X", NAME_NUMERIC, 2},
		{"\xf0\x9f\x92\xa9.la", NAME_BAD_IDNA, 0},
		{"xn--a-.b", NAME_BAD_IDNA, 0},
	};
	struct name name;
	size_t at;

	for (size_t i = 0; i < sg_array_len(refusals); i++) {
		const struct refusal *r = &refusals[i];

		assert_int_equal(name_parse(r->text, strlen(r->text), &name, &at), r->why);
		assert_int_equal(at, r->at);
		assert_int_equal(name.n, 0);
		assert_string_equal(name.s, "");
	}
}

/* demands.md, bypasses: the SOCKS NUL. */
static void test_nul_is_no_end(void **state)
{
	static const char text[] = "attacker\0.google.com";
	struct name name;
	size_t at;

	assert_int_equal(name_parse(text, sizeof(text) - 1, &name, &at), NAME_BAD_CHARACTER);
	assert_int_equal(at, 8);
	assert_int_equal(name_parse_ascii(text, sizeof(text) - 1, &name), NAME_BAD_CHARACTER);
}

static void fill(char *s, size_t label, size_t total)
{
	for (size_t i = 0; i < total; i++)
		s[i] = (i + 1) % (label + 1) == 0 ? '.' : 'a';
	s[total] = 0;
}

static void test_lengths(void **state)
{
	struct name name;
	char s[300];

	fill(s, 63, 63);
	assert_int_equal(parse(s, &name), NAME_OK);
	fill(s, 64, 64);
	assert_int_equal(parse(s, &name), NAME_LABEL_TOO_LONG);
	assert_int_equal(name_parse_ascii(s, 64, &name), NAME_LABEL_TOO_LONG);
	fill(s, 49, 253);
	assert_int_equal(parse(s, &name), NAME_OK);
	assert_int_equal(name.n, 253);
	fill(s, 49, 254);
	assert_int_equal(parse(s, &name), NAME_TOO_LONG);
	assert_int_equal(name_parse_ascii(s, 254, &name), NAME_TOO_LONG);
	/* one final dot does not count */
	fill(s, 49, 253);
	s[253] = '.';
	assert_int_equal(name_parse_ascii(s, 254, &name), NAME_OK);
}

/* A wire name converts nothing: a U-label there is not DNS. */
static void test_wire_is_ascii(void **state)
{
	static const char u_label[] = "b\xc3\xbc"
				      "cher.example";
	struct name name;

	assert_int_equal(name_parse_ascii(u_label, strlen(u_label), &name), NAME_BAD_CHARACTER);
	assert_int_equal(name_parse_ascii("XN--BCHER-KVA.example", 21, &name), NAME_OK);
	assert_string_equal(name.s, "xn--bcher-kva.example");
}

/* demands.md, bypasses: prefix, suffix and substring matches. */
static void test_below_is_at_a_dot(void **state)
{
	struct name parent, name;

	assert_int_equal(parse("x.com", &parent), NAME_OK);
	assert_int_equal(parse("a.x.com", &name), NAME_OK);
	assert_true(name_is_below(&name, &parent));
	assert_int_equal(parse("a.b.x.com", &name), NAME_OK);
	assert_true(name_is_below(&name, &parent));
	assert_false(name_is_below(&parent, &parent));
	assert_false(name_is_below(&parent, &name));
	assert_int_equal(parse("evilx.com", &name), NAME_OK);
	assert_false(name_is_below(&name, &parent));
	assert_int_equal(parse("x.com.evil", &name), NAME_OK);
	assert_false(name_is_below(&name, &parent));
}

static void test_hash_depends_on_every_octet(void **state)
{
	char s[40];

	memset(s, 'a', sizeof(s));
	for (size_t n = 1; n <= sizeof(s); n++) {
		uint64_t whole = name_hash(s, n);

		assert_int_not_equal(whole, name_hash(s, n - 1));
		for (size_t i = 0; i < n; i++) {
			s[i] = 'b';
			assert_int_not_equal(whole, name_hash(s, n));
			s[i] = 'a';
		}
		assert_true(whole == name_hash(s, n));
	}
}

static void test_every_error_has_words(void **state)
{
	for (int e = NAME_OK; e <= NAME_BAD_IDNA; e++)
		assert_true(strlen(name_error_text((enum name_error)e)) > 8);
	assert_string_equal(name_error_text((enum name_error)99), "it is not a name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_canonical_form),
		cmocka_unit_test(test_refusals_have_a_place),
		cmocka_unit_test(test_nul_is_no_end),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_wire_is_ascii),
		cmocka_unit_test(test_below_is_at_a_dot),
		cmocka_unit_test(test_hash_depends_on_every_octet),
		cmocka_unit_test(test_every_error_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
