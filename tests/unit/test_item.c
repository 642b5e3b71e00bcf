/* SPDX-License-Identifier: Apache-2.0 */
/* What follows --allow, --deny, --only and --net. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/policy.h"

static void assert_list(const char *list, const char *const *rules)
{
	char text[RULE_TEXT_MAX];
	struct policy p;
	struct err e;
	size_t n = 0;

	policy_init(&p);
	if (policy_add_list(&p, NULL, EFFECT_ALLOW, list, &e))
		fail_msg("%s: %s", list, e.text);
	for (; rules[n]; n++) {
		assert_true(n < p.n_rules);
		assert_string_equal(rule_format(&p.rules[n], text), rules[n]);
	}
	assert_int_equal(p.n_rules, n);
	policy_free(&p);
}

static void test_lists(void **state)
{
	assert_list(
		"api.example.com,10.20.0.0/16,db.example.com:5432",
		(const char *[]){"api.example.com", "10.20.0.0/16", "db.example.com:5432", NULL});
	assert_list("a.example:22,443,b.example",
		    (const char *[]){"a.example:22,443", "b.example", NULL});
	assert_list("a.example:22,1000-2000,443/tcp,10.0.0.1",
		    (const char *[]){"a.example:22,1000-2000,443/tcp", "10.0.0.1", NULL});
	assert_list("2001:db8::1,[2001:db8::2]:22,80,*.a.example",
		    (const char *[]){"2001:db8::1", "[2001:db8::2]:22,80", "*.a.example", NULL});
	assert_list("site:github,a.example:*", (const char *[]){"github", "a.example:*", NULL});
	assert_list("1password.com:443,3.example",
		    (const char *[]){"1password.com:443", "3.example", NULL});
	assert_list("api", (const char *[]){"api", NULL});
	assert_list("db:5432", (const char *[]){"db:5432", NULL});
}

static void assert_list_refused(const char *list, const char *says)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	if (policy_add_list(&p, NULL, EFFECT_ALLOW, list, &e) == 0)
		fail_msg("accepted: %s", list);
	if (!strstr(e.text, says))
		fail_msg("%s\n  want: %s\n  got:  %s", list, says, e.text);
	policy_free(&p);
}

static void test_lists_refused(void **state)
{
	assert_list_refused("", "has an empty item");
	assert_list_refused("a.example,", "has an empty item");
	assert_list_refused("a.example,,b.example", "has an empty item");
	assert_list_refused("a.example,22", "`22`");
	assert_list_refused("a.example, b.example", "there is a space at octet 1");
	assert_list_refused("install:python", "permissions are not in this version");
	assert_list_refused("github", "permissions are not in this version");
	assert_list_refused("-github", "permissions are not in this version");
	assert_list_refused("githb",
			    "did you mean `github`? A host of that name is written `site:githb`");
	assert_list_refused("standard", "write `--net standard`");
	assert_list_refused("any", "write `--net any`");
	assert_list_refused("-a.example", "a label begins or ends with a hyphen");
}

static void test_networks(void **state)
{
	static const char *const there[] = {"any", "deny", "none", "open"};
	static const char *const later[] = {"brokered", "fakenet", "locked", "standard", "bake"};
	struct policy p;
	struct err e;

	policy_init(&p);
	for (size_t i = 0; i < sg_array_len(there); i++) {
		assert_int_equal(policy_set_network(&p, there[i], &e), 0);
		assert_string_equal(network_base_name(p.network), there[i]);
	}
	for (size_t i = 0; i < sg_array_len(later); i++) {
		assert_int_equal(policy_set_network(&p, later[i], &e), -1);
		assert_non_null(strstr(e.text, "which is not in this version"));
		assert_string_equal(network_base_name(p.network), "open");
	}
	assert_int_equal(policy_set_network(&p, "DENY", &e), -1);
	assert_int_equal(policy_set_network(&p, "", &e), -1);
}

/* Messages quote what was written, made fit for a terminal. */
static void test_messages_quote_safely(void **state)
{
	char many[400];
	struct policy p;
	struct err e;

	policy_init(&p);
	assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, "a\x1b[31m\x7f.b", &e), -1);
	assert_non_null(strstr(e.text, "`a\\x1b[31m\\x7f.b`"));
	assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, "a\xe2\x80\xae.b", &e), -1);
	assert_non_null(strstr(e.text, "`a\\xe2\\x80\\xae.b`"));
	memset(many, '!', sizeof(many));
	many[sizeof(many) - 1] = 0;
	assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, many, &e), -1);
	assert_non_null(strstr(e.text, "!...`"));
	assert_true(strlen(e.text) < 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_lists_refused),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_messages_quote_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
