/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections are opened, when a broker is needed, and what its authority may sign for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "policy/inspects.h"
#include "policy/strings.h"

static struct policy policy;
static struct ruleset *rules;

static void use(const char *yaml)
{
	struct policy_sources sources = {.catalogue = catalogue_builtin(),
					 .agent = catalogue_agent(catalogue_builtin(), "claude")};
	struct err e = {0};

	ruleset_free(rules);
	rules = NULL;
	policy_free(&policy);
	if (policy_parse(span_of_string(yaml), POLICY_YAML, "test", &policy, &e) ||
	    policy_resolve(&policy, &sources, &e) || !(rules = ruleset_compile(&policy, 1, &e)))
		fail_msg("%s", e.text);
}

static int clear(void **state)
{
	ruleset_free(rules);
	rules = NULL;
	policy_free(&policy);
	return 0;
}

static enum inspects_why why_at(const char *host, const char *address, uint16_t port)
{
	struct name name;
	struct addr a;

	assert_int_equal(name_parse_ascii(host, strlen(host), &name), NAME_OK);
	if (address)
		assert_true(addr_parse(address, strlen(address), &a));
	return policy_inspects(rules, catalogue_builtin(), NULL, &name, address ? &a : NULL, port);
}

static enum inspects_why why(const char *host, uint16_t port)
{
	return why_at(host, NULL, port);
}

static void test_operations(void **state)
{
	use("network: deny\npermissions: [github, error-reports]\nallow: [gitlab.com, "
	    "codeload.github.com]\n");
	assert_int_equal(why("github.com", 443), INSPECTS_OPERATIONS);
	assert_int_equal(why("api.github.com", 443), INSPECTS_OPERATIONS);
	/* operations are held in plain HTTP as well */
	assert_int_equal(why("github.com", 80), INSPECTS_OPERATIONS);
	/* an own rule is every operation; some hosts have none; others are not admitted at all */
	assert_int_equal(why("codeload.github.com", 443), INSPECTS_NOT);
	assert_int_equal(why("gitlab.com", 443), INSPECTS_NOT);
	assert_int_equal(why("collector.github.com", 443), INSPECTS_NOT);
	assert_int_equal(why("example.com", 443), INSPECTS_NOT);
	assert_int_equal(why("github.com", 22), INSPECTS_NOT);
	use("network: open\n");
	assert_int_equal(why("github.com", 443), INSPECTS_NOT);
}

/* What an own rule lets through in part leaves the rest to the permissions. */
static void test_operations_beside_a_rule(void **state)
{
	use("network: deny\npermissions: [github]\n"
	    "allow: [{host: github.com, ports: [80], methods: [PUT]}]\n");
	assert_int_equal(why("github.com", 80), INSPECTS_OPERATIONS);
	assert_int_equal(why("github.com", 443), INSPECTS_OPERATIONS);
	use("network: deny\nallow: [{host: github.com, ports: [80], methods: [PUT]}]\n");
	assert_int_equal(why("github.com", 80), INSPECTS_NOT);
}

/* By the rules of its address the connection may be admitted whole, or not at all. */
static void test_address(void **state)
{
	use("network: deny\npermissions: [github]\nallow: [140.82.121.6]\n"
	    "deny: [140.82.121.7]\n");
	assert_int_equal(why_at("github.com", "140.82.121.5", 443), INSPECTS_OPERATIONS);
	assert_int_equal(why_at("github.com", "140.82.121.6", 443), INSPECTS_NOT);
	assert_int_equal(why_at("github.com", "140.82.121.7", 443), INSPECTS_NOT);
	assert_int_equal(policy_inspects(rules, catalogue_builtin(), NULL, NULL, NULL, 443),
			 INSPECTS_NOT);
}

/* A host of one with operations and of one without is open; of two with some it is narrow. */
static void test_two_permissions(void **state)
{
	static const char *const rule[] = {"shared.example", NULL};
	static const char *const get[] = {"GET", NULL};
	static const struct operation reads = {.says = "read", .methods = get};
	static const struct operation elsewhere = {
		.says = "read", .host = "other.example", .methods = get};
	struct permission v[] = {
		{.id = "a", .says = "a", .rules = rule, .operations = &reads, .n_operations = 1},
		{.id = "b", .says = "b", .rules = rule, .operations = &reads, .n_operations = 1},
		{.id = "c",
		 .says = "c",
		 .rules = rule,
		 .operations = &elsewhere,
		 .n_operations = 1},
	};
	const struct catalogue little = {.permissions = v, .n_permissions = 3};
	const struct policy_sources sources = {.catalogue = &little};
	static const struct {
		const char *yaml;
		enum inspects_why why;
	} cases[] = {
		{"network: deny\npermissions: [a]\n", INSPECTS_OPERATIONS},
		{"network: deny\npermissions: [a, b]\n", INSPECTS_OPERATIONS},
		{"network: deny\npermissions: [c]\n", INSPECTS_NOT},
		{"network: deny\npermissions: [a, c]\n", INSPECTS_NOT},
	};
	struct name name;
	struct err e;

	assert_int_equal(name_parse_ascii(rule[0], strlen(rule[0]), &name), NAME_OK);
	for (size_t i = 0; i < sg_array_len(cases); i++) {
		struct policy p;
		struct ruleset *rs;

		assert_int_equal(
			policy_parse(span_of_string(cases[i].yaml), POLICY_YAML, "test", &p, &e),
			0);
		assert_int_equal(policy_resolve(&p, &sources, &e), 0);
		rs = ruleset_compile(&p, 1, &e);
		assert_non_null(rs);
		assert_int_equal(policy_inspects(rs, &little, NULL, &name, NULL, 443),
				 cases[i].why);
		ruleset_free(rs);
		policy_free(&p);
	}
}

static void test_rules(void **state)
{
	use("network: deny\n"
	    "allow: [open.example.com, {host: read.example.com, methods: [GET]},\n"
	    "  {host: plain.example.com, ports: [80], paths: [/x]}]\n"
	    "deny: [{host: '*.deny.example.com', ports: [80, 443], methods: [GET]}]\n");
	assert_int_equal(why("read.example.com", 443), INSPECTS_RULES);
	/* on port 80 the gate itself holds what rules say */
	assert_int_equal(why("read.example.com", 80), INSPECTS_NOT);
	assert_int_equal(why("a.deny.example.com", 443), INSPECTS_RULES);
	assert_int_equal(why("open.example.com", 443), INSPECTS_NOT);
	assert_int_equal(why("plain.example.com", 443), INSPECTS_NOT);
}

static void test_listed(void **state)
{
	use("network: open\npermissions: [github]\ninspect: ['*.a.example']\n"
	    "splice: [x.a.example, github.com]\ncredentials:\n"
	    "  - {host: c.example, port: 8443, header: X, value: '${secret}', from: 'env:T'}\n");
	assert_int_equal(why("b.a.example", 443), INSPECTS_LISTED);
	assert_int_equal(why("a.example", 443), INSPECTS_NOT);
	assert_int_equal(why("ba.example", 443), INSPECTS_NOT);
	assert_int_equal(why("b.a.example", 80), INSPECTS_NOT);
	assert_int_equal(why("x.a.example", 443), INSPECTS_NOT);
	assert_int_equal(why("github.com", 443), INSPECTS_NOT);
	/* it is TLS that stays closed: what is plain is seen */
	assert_int_equal(why("github.com", 80), INSPECTS_OPERATIONS);
	assert_int_equal(why("c.example", 8443), INSPECTS_CREDENTIALS);
	assert_int_equal(why("c.example", 443), INSPECTS_NOT);
}

static void test_all(void **state)
{
	use("network: open\ninspect: all\nsplice: [x.a.example]\n");
	assert_int_equal(why("c.example", 443), INSPECTS_LISTED);
	assert_int_equal(why("c.example", 80), INSPECTS_NOT);
	assert_int_equal(why("c.example", 8443), INSPECTS_NOT);
	assert_int_equal(why("x.a.example", 443), INSPECTS_NOT);
}

/* A host of a person's own permission is one with a credential, whatever else admits it. */
static void test_personal_credential(void **state)
{
	use("network: deny\npermissions: ['github:as-you']\nallow: [github.com]\n");
	assert_int_equal(why("github.com", 443), INSPECTS_CREDENTIALS);
}

/* The question is of what gets there; with `brokered` that is by the proxy port. */
static void test_brokered(void **state)
{
	use("network: brokered\npermissions: [github]\n");
	assert_int_equal(why("github.com", 443), INSPECTS_OPERATIONS);
}

static void test_needs_broker(void **state)
{
	static const struct {
		const char *yaml;
		bool needs;
	} cases[] = {
		{"network: deny\n", false},
		{"network: none\ninspect: all\n", false},
		{"network: any\n", false},
		{"network: deny\nallow: [a.example]\n", false},
		{"network: deny\nallow: [{host: a.example, ports: [80], methods: [GET]}]\n", false},
		{"network: deny\npermissions: [time]\n", false},
		{"network: deny\nsplice: [a.example]\n", false},
		{"network: brokered\n", true},
		{"network: standard\n", true},
		{"network: deny\npermissions: [github]\n", true},
		{"network: deny\npermissions: [error-reports]\n", true},
		{"network: deny\nallow: [{host: a.example, methods: [GET]}]\n", true},
		{"network: any\ndeny: [{host: a.example, ports: [443], paths: [/x]}]\n", true},
		{"network: deny\ninspect: [a.example]\n", true},
		{"network: open\ninspect: all\n", true},
		{"network: deny\ncredentials:\n"
		 "  - {host: c.example, header: X, value: '${secret}', from: 'env:T'}\n",
		 true},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		use(cases[i].yaml);
		if (policy_needs_broker(&policy, catalogue_builtin()) != cases[i].needs)
			fail_msg("%s: %s", cases[i].yaml,
				 cases[i].needs ? "needs one" : "needs none");
	}
}

/* ---- Names ---- */

static void test_names(void **state)
{
	static const char *const expected[] = {/* of permissions that are off */
					       "github.com", "upload.pypi.org",
					       /* of this policy */
					       "c.example", "read.example.com",
					       "*.read.example.com", "*.i.example"};
	static const char *const others[] = {"open.example.com", "plain.example.com", "s.example",
					     "collector.github.com"};
	char **names;
	bool any;

	use("network: deny\ninspect: ['*.i.example:8443']\nsplice: [s.example]\n"
	    "allow: [open.example.com, {host: read.example.com, methods: [GET]},\n"
	    "  {host: '*.read.example.com', paths: [/x]}]\ncredentials:\n"
	    "  - {host: c.example, header: X, value: '${secret}', from: 'env:T'}\n");
	names = policy_inspected_names(rules, catalogue_builtin(), &any);
	assert_non_null(names);
	assert_false(any);
	for (size_t i = 0; i < sg_array_len(expected); i++)
		if (!string_list_has(names, expected[i]))
			fail_msg("%s is missing", expected[i]);
	for (size_t i = 0; i < sg_array_len(others); i++)
		assert_false(string_list_has(names, others[i]));
	for (size_t i = 1; names[i]; i++)
		assert_true(strcmp(names[i - 1], names[i]) < 0);
	string_list_free(names);
}

/* What is opened is held by a name of the list, whichever permissions are on. */
static void test_names_hold_what_is_opened(void **state)
{
	const struct catalogue *c = catalogue_builtin();
	char **names;
	bool any;

	use("network: standard\npermissions: [install, gitlab, bitbucket, huggingface]\n");
	names = policy_inspected_names(rules, c, &any);
	for (size_t i = 0; i < policy.resolved.permissions.n; i++) {
		const struct rule *r = &policy.resolved.permissions.v[i];
		char text[NAME_MAX_OCTETS + 3];

		if (r->kind == TARGET_PREFIX)
			continue;
		snprintf(text, sizeof(text), "%s%s", r->kind == TARGET_WILDCARD ? "*." : "",
			 rule_name(r));
		if (r->kind == TARGET_NAME && why(text, 443) == INSPECTS_NOT)
			continue;
		if (r->kind == TARGET_WILDCARD &&
		    !catalogue_permission(c, r->detail->permission)->n_operations)
			continue;
		if (!string_list_has(names, text))
			fail_msg("%s is missing", text);
	}
	string_list_free(names);
}

static void test_names_of_all(void **state)
{
	bool any;

	use("network: open\ninspect: all\n");
	assert_null(policy_inspected_names(rules, catalogue_builtin(), &any));
	assert_true(any);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_operations, clear),
		cmocka_unit_test_teardown(test_operations_beside_a_rule, clear),
		cmocka_unit_test_teardown(test_address, clear),
		cmocka_unit_test(test_two_permissions),
		cmocka_unit_test_teardown(test_rules, clear),
		cmocka_unit_test_teardown(test_listed, clear),
		cmocka_unit_test_teardown(test_all, clear),
		cmocka_unit_test_teardown(test_personal_credential, clear),
		cmocka_unit_test_teardown(test_brokered, clear),
		cmocka_unit_test_teardown(test_needs_broker, clear),
		cmocka_unit_test_teardown(test_names, clear),
		cmocka_unit_test_teardown(test_names_hold_what_is_opened, clear),
		cmocka_unit_test_teardown(test_names_of_all, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
