/* SPDX-License-Identifier: Apache-2.0 */
/* What follows --allow, --deny, --only and --net. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/permission.h"

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
	assert_list_refused("install:pyton", "did you mean `install:python`?");
	assert_list_refused("model:zzzzzzzzzz", "`sandgate net permissions` lists those there are");
	assert_list_refused("-githb", "permission `githb` is not known; did you mean `github`?");
	assert_list_refused("github:22", "`github` is a permission and takes no ports");
	assert_list_refused("model:azure", "name the resource, `site:RESOURCE.openai.azure.com`");
	assert_list_refused("githb",
			    "did you mean `github`? A host of that name is written `site:githb`");
	assert_list_refused("any", "write `--net any`");
	assert_list_refused("-standard", "is a network and cannot be taken away");
	assert_list_refused("-a.example", "a label begins or ends with a hyphen");
}

/* The permissions of the policy, joined by commas. */
static char *permissions_of(const struct policy *p, char out[256])
{
	out[0] = 0;
	for (char *const *id = p->permissions; id && *id; id++) {
		strcat(out, out[0] ? "," : "");
		strcat(out, *id);
	}
	return out;
}

static void assert_item(struct policy *p, enum effect effect, const char *item, const char *all)
{
	char text[256];
	struct err e;

	if (policy_add_item(p, catalogue_builtin(), effect, item, &e))
		fail_msg("%s: %s", item, e.text);
	assert_string_equal(permissions_of(p, text), all);
}

static void assert_item_refused(enum effect effect, const char *item, const char *says)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	assert_int_equal(policy_add_item(&p, catalogue_builtin(), effect, item, &e), -1);
	if (!strstr(e.text, says))
		fail_msg("%s\n  want: %s\n  got:  %s", item, says, e.text);
	assert_null(p.permissions);
	assert_int_equal(p.n_rules, 0);
	policy_free(&p);
}

static void test_permissions(void **state)
{
	struct policy p;

	policy_init(&p);
	assert_item(&p, EFFECT_ALLOW, "install:python", "install:python");
	assert_item(&p, EFFECT_ALLOW, "install:python", "install:python");
	assert_item(&p, EFFECT_DENY, "github", "install:python,-github");
	assert_item(&p, EFFECT_ALLOW, "-error-reports", "install:python,-github,-error-reports");
	/* the last word on a permission holds */
	assert_item(&p, EFFECT_ALLOW, "github", "install:python,-error-reports,github");
	assert_item(&p, EFFECT_DENY, "install:python", "-error-reports,github,-install:python");
	assert_int_equal(p.n_rules, 0);
	assert_int_equal(p.network, NET_STANDARD);
	policy_free(&p);
}

static void test_permissions_refused(void **state)
{
	assert_item_refused(EFFECT_DENY, "-github", "`-github` is denied already");
	assert_item_refused(EFFECT_DENY, "githb", "did you mean `github`?");
	assert_item_refused(EFFECT_DENY, "install:rst", "did you mean `install:rust`?");
	assert_item_refused(EFFECT_ALLOW, "model:azure", "has no host by itself");
	assert_item_refused(EFFECT_DENY, "standard", "is a network and cannot be taken away");
	assert_item_refused(EFFECT_ALLOW, "-open", "is a network and cannot be taken away");
}

/* What has no host by itself may be taken away all the same. */
static void test_a_permission_without_hosts_can_be_taken_away(void **state)
{
	struct policy p;

	policy_init(&p);
	assert_item(&p, EFFECT_DENY, "model:azure", "-model:azure");
	policy_free(&p);
}

static void test_presets(void **state)
{
	static const char *const presets[] = {"locked", "open", "bake", "standard"};
	struct policy p;
	struct err e;

	policy_init(&p);
	for (size_t i = 0; i < sg_array_len(presets); i++) {
		assert_int_equal(
			policy_add_item(&p, catalogue_builtin(), EFFECT_ALLOW, presets[i], &e), 0);
		assert_string_equal(network_base_name(p.network), presets[i]);
	}
	assert_null(p.permissions);
	policy_free(&p);
}

static void test_networks(void **state)
{
	static const char *const there[] = {"any",    "deny",	  "none",     "open",
					    "locked", "standard", "brokered", "bake"};
	static const char *const later[] = {"fakenet"};
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
		assert_string_equal(network_base_name(p.network), "bake");
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
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_permissions_refused),
		cmocka_unit_test(test_a_permission_without_hosts_can_be_taken_away),
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_messages_quote_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
