/* SPDX-License-Identifier: Apache-2.0 */
/* An organisation's policy: strict JSON, and messages that say where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "little_catalogue.h"

static int parse(const char *text, struct organisation *o, struct err *e)
{
	return organisation_parse(span_of_string(text), "policy.json", &little_catalogue, o, e);
}

static void every_key_is_read(void **state)
{
	struct organisation o;
	char text[RULE_TEXT_MAX];
	struct err e;

	if (parse("{\"default_network\": \"locked\", \"locked\": true,\n"
		  " \"allow\": [\"wiki.corp.example\", {\"host\": \"in.example\", \"private\": true}],\n"
		  " \"deny\": [\"*.evil.example\"], \"permissions_removed\": [\"web\", \"web\"]}",
		  &o, &e))
		fail_msg("%s", e.text);
	assert_true(o.present);
	assert_true(o.locked);
	assert_true(o.has_default_network);
	assert_int_equal(o.default_network, NET_LOCKED);
	assert_int_equal(o.rules.n, 3);
	assert_true(o.rules.v[1].private_ok);
	assert_string_equal(rule_format(&o.rules.v[2], text), "*.evil.example");
	assert_int_equal(o.rules.v[2].effect, EFFECT_DENY);
	assert_string_equal(o.permissions_removed[0], "web");
	assert_null(o.permissions_removed[1]);
	organisation_free(&o);
	assert_false(o.present);
}

static void nothing_is_said_by_an_empty_one(void **state)
{
	struct organisation o;
	struct err e;

	assert_int_equal(parse("{}", &o, &e), 0);
	assert_true(o.present);
	assert_false(o.locked);
	assert_false(o.has_default_network);
	assert_int_equal(o.rules.n, 0);
	assert_null(o.permissions_removed);
	organisation_free(&o);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"{\"lockd\": true}",
		 "policy.json:1:2: unknown key `lockd`; did you mean `locked`?"},
		{"{\n \"locked\": \"true\"}", "policy.json:2:12: "},
		{"{\"deny\": [\"*x.com\"]}", "policy.json:1:11: `*x.com`"},
		{"{\"deny\": [\"a.example\", \"10.0.0.5/8\"]}", "policy.json:1:24: `10.0.0.5/8`"},
		{"{\"allow\": \"a.example\"}", "put it in brackets"},
		{"{\"default_network\": \"standrd\"}",
		 "policy.json:1:21: `standrd` is not a network; did you mean `standard`?"},
		{"{\"default_network\": \"fakenet\"}", "not in this version"},
		{"{\"permissions_removed\": [\"gitub\"]}",
		 "policy.json:1:26: permission `gitub` is not known; did you mean `github`?"},
		{"{\"permissions_removed\": [\"-github\"]}", "permission `-github` is not known"},
		{"{\"locked\": true, \"locked\": false}", "a second key `locked`"},
		{"locked: true", "policy.json:1:1: "},
		{"[]", "policy.json:1:1: "},
		{"", "policy.json:1:1: "},
		{"{} x", "policy.json:1:4: "},
	};
	struct organisation o;
	struct err e;

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		if (parse(cases[i].text, &o, &e) == 0)
			fail_msg("accepted: %s", cases[i].text);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s\n  want: %s\n  got:  %s", cases[i].text, cases[i].says,
				 e.text);
		assert_false(o.present);
		assert_null(o.permissions_removed);
		assert_int_equal(o.rules.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(nothing_is_said_by_an_empty_one),
		cmocka_unit_test(what_is_wrong_is_named_with_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
