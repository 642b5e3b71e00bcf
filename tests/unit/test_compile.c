/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled form: every rule is found, duplicates are one, its size has a bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/address.h"
#include "policy/rule.h"
#include "policy/ruleset.h"

static void add(struct policy *p, enum effect effect, const char *text)
{
	struct err e;

	if (policy_add_rule(p, effect, text, &e))
		fail_msg("%s", e.text);
}

static struct ruleset *compile(struct policy *p)
{
	struct err e;
	struct ruleset *rs = ruleset_compile(p, 1, &e);

	if (!rs)
		fail_msg("%s", e.text);
	policy_free(p);
	return rs;
}

static struct verdict lookup(const struct ruleset *rs, const char *text)
{
	struct destination d = {.kind = DEST_LOOKUP};
	struct verdict v;
	struct name name;

	assert_int_equal(name_parse(text, strlen(text), &name, NULL), NAME_OK);
	d.name = &name;
	decide(rs, NULL, &d, &v);
	return v;
}

static bool looks_up(const struct ruleset *rs, const char *text)
{
	return lookup(rs, text).allow;
}

/* Short names stand inside a rule, long ones beside it: both, around the border. */
static void test_every_rule_is_found(void **state)
{
	enum { NAMES = 5000 };
	struct ruleset *rs;
	struct policy p;
	char text[128];
	size_t names;

	policy_init(&p);
	p.network = NET_DENY;
	for (int i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "n%d.%.*s.example.com", i, i % 60 + 1,
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		add(&p, EFFECT_ALLOW, text);
	}
	rs = compile(&p);
	for (int i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "n%d.%.*s.example.com", i, i % 60 + 1,
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		assert_true(looks_up(rs, text));
		snprintf(text, sizeof(text), "m%d.%.*s.example.com", i, i % 60 + 1,
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		assert_false(looks_up(rs, text));
	}
	assert_true(ruleset_size(rs, &names) - names < 64 * NAMES);
	ruleset_free(rs);
}

/* A wildcard at each depth there can be. */
static void test_the_deepest_names(void **state)
{
	struct ruleset *rs;
	struct policy p;
	char text[300] = "";

	for (int i = 0; i < 120; i++)
		strcat(text, "a.");
	strcat(text, "example.com");
	policy_init(&p);
	p.network = NET_DENY;
	for (const char *s = text; strlen(s) >= strlen("example.com"); s += 2) {
		char rule[300];

		snprintf(rule, sizeof(rule), "*.%s", s);
		add(&p, strlen(s) % 4 == 3 ? EFFECT_ALLOW : EFFECT_DENY, rule);
	}
	rs = compile(&p);
	for (const char *s = text; strlen(s) > strlen("example.com"); s += 2)
		assert_int_equal(looks_up(rs, s), (strlen(s) - 2) % 4 == 3);
	ruleset_free(rs);
}

/* demands.md 16: what is said a thousand times is one rule. */
static void test_duplicates_are_one(void **state)
{
	struct ruleset *rs;
	struct policy p;
	size_t names;

	policy_init(&p);
	p.network = NET_DENY;
	for (int i = 0; i < 1000; i++) {
		add(&p, EFFECT_ALLOW, "a.example.com");
		add(&p, EFFECT_ALLOW, "a.example.com:80,443");
		add(&p, EFFECT_DENY, "*.example.com");
		add(&p, EFFECT_ALLOW, "10.0.0.0/8");
	}
	rs = compile(&p);
	ruleset_size(rs, &names);
	assert_int_equal(names, strlen("a.example.com") + strlen("example.com"));
	assert_true(looks_up(rs, "a.example.com"));
	assert_false(looks_up(rs, "b.example.com"));
	ruleset_free(rs);
}

/* The rules of one target are read one by one, so they are few. */
static void test_chains_are_bounded(void **state)
{
	struct ruleset *rs;
	struct policy p;
	struct err e;
	char text[64];

	policy_init(&p);
	p.network = NET_DENY;
	for (int i = 0; i < RULESET_CHAIN_MAX; i++) {
		snprintf(text, sizeof(text), "a.example.com:%d", i + 1);
		add(&p, EFFECT_ALLOW, text);
	}
	rs = ruleset_compile(&p, 1, &e);
	assert_non_null(rs);
	ruleset_free(rs);
	add(&p, EFFECT_ALLOW, "a.example.com:9999");
	assert_null(ruleset_compile(&p, 1, &e));
	assert_non_null(strstr(
		e.text, "more than 64 different rules for the target of `a.example.com:9999`"));
	policy_free(&p);
}

static void test_a_contradiction_does_not_compile(void **state)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = NET_ANY;
	add(&p, EFFECT_ALLOW, "a.example.com");
	assert_null(ruleset_compile(&p, 1, &e));
	assert_non_null(strstr(e.text, "contradicts"));
	policy_free(&p);
}

static bool connects(const struct ruleset *rs, const char *text)
{
	struct destination d = {.kind = DEST_CONNECT, .port = 22, .proto = PROTO_TCP};
	struct verdict v;
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	d.addr = &a;
	decide(rs, NULL, &d, &v);
	return v.allow;
}

/* Prefixes of every length; IPv4 and IPv6 never match one another. */
static void test_every_prefix_length(void **state)
{
	struct ruleset *rs;
	struct policy p;
	char text[64];

	policy_init(&p);
	p.network = NET_DENY;
	for (int bits = 1; bits <= 32; bits++) {
		snprintf(text, sizeof(text), "128.0.0.0/%d", bits);
		add(&p, bits % 2 ? EFFECT_ALLOW : EFFECT_DENY, text);
	}
	add(&p, EFFECT_ALLOW, "2000::/3");
	add(&p, EFFECT_DENY, "2a00::/127");
	add(&p, EFFECT_DENY, "::/0");
	rs = compile(&p);
	assert_false(connects(rs, "128.0.0.0"));
	assert_true(connects(rs, "128.0.0.1"));
	assert_false(connects(rs, "128.0.0.2"));
	assert_true(connects(rs, "192.0.1.1"));
	assert_false(connects(rs, "160.0.0.1"));
	assert_false(connects(rs, "1.1.1.1"));
	assert_true(connects(rs, "2a00::2"));
	assert_false(connects(rs, "2a00::1"));
	ruleset_free(rs);
}

/* The ruleset keeps its own copy of everything. */
static void test_the_policy_may_go(void **state)
{
	struct ruleset *rs;
	struct policy p;
	struct err e;

	assert_int_equal(
		policy_parse(
			span_of_string("network: deny\nhost_ports: [80]\npublish: ['1:2']\n"
				       "allow: [{host: a.example.com, ports: [80], methods: [GET],"
				       " paths: [/x], note: n}]\n"),
			POLICY_YAML, "f", &p, &e),
		0);
	rs = compile(&p);
	assert_int_equal(ruleset_policy(rs)->n_host_ports, 1);
	assert_int_equal(ruleset_policy(rs)->host_ports[0], 80);
	assert_int_equal(ruleset_policy(rs)->publish[0].sandbox, 2);
	assert_true(looks_up(rs, "a.example.com"));
	ruleset_free(rs);
	ruleset_free(NULL);
}

/* ---- Layers ---- */

static void add_resolved(struct rule_list *list, enum effect effect, const char *text,
			 const char *permission)
{
	struct rule r;
	struct err e;

	assert_int_equal(rule_parse_short(span_of_string(text), effect, &r, &e), 0);
	if (permission) {
		assert_non_null(rule_need_detail(&r, &e));
		r.detail->permission = strdup(permission);
	}
	assert_int_equal(rule_list_take(list, &r, &e), 0);
}

/* Also what was resolved is the ruleset's own; settings of it are there for whoever asks. */
static void test_layers_are_its_own(void **state)
{
	struct verdict v;
	struct ruleset *rs;
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = NET_DENY;
	p.resolved.done = true;
	assert_int_equal(string_list_add(&p.resolved.on, "one"), 0);
	add_resolved(&p.resolved.permissions, EFFECT_ALLOW, "a.example.com", "one");
	add_resolved(&p.resolved.permissions, EFFECT_ALLOW, "a.example.com", "two");
	add_resolved(&p.resolved.organisation, EFFECT_DENY, "*.b.example.com", NULL);
	assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, "c.b.example.com", &e), 0);
	rs = compile(&p);
	assert_string_equal(ruleset_policy(rs)->resolved.on[0], "one");
	assert_int_equal(ruleset_policy(rs)->resolved.permissions.n, 0);
	v = lookup(rs, "a.example.com");
	assert_true(v.allow);
	assert_int_equal(v.layer, LAYER_PERMISSIONS);
	/* of two permissions with one host the first is named */
	assert_string_equal(v.permission, "one");
	v = lookup(rs, "c.b.example.com");
	assert_false(v.allow);
	assert_int_equal(v.layer, LAYER_ORGANISATION);
	assert_int_equal(v.step, 4);
	ruleset_free(rs);
}

/* Each layer has a chain of its own, so that one author's rules leave another's room. */
static void test_chains_of_layers_are_apart(void **state)
{
	struct ruleset *rs;
	struct policy p;
	char text[64];
	struct err e;

	policy_init(&p);
	p.network = NET_DENY;
	for (unsigned i = 1; i <= RULESET_CHAIN_MAX; i++) {
		snprintf(text, sizeof(text), "a.example.com:%u", i);
		assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, text, &e), 0);
		add_resolved(&p.resolved.permissions, EFFECT_ALLOW, text, "one");
		add_resolved(&p.resolved.organisation, EFFECT_ALLOW, text, NULL);
	}
	rs = ruleset_compile(&p, 1, &e);
	assert_non_null(rs);
	ruleset_free(rs);
	add_resolved(&p.resolved.permissions, EFFECT_ALLOW, "a.example.com:9999", "one");
	assert_null(ruleset_compile(&p, 1, &e));
	policy_free(&p);
}

/* Host prefixes: the host's own address is withheld, its networks are as private ones. */
static void test_what_the_host_has(void **state)
{
	struct host_prefixes host = {.n = 2};
	struct addr own, beside, loopback;

	assert_true(prefix_parse("93.184.216.34/32", 16, &host.prefix[0]));
	assert_true(prefix_parse("93.184.216.0/24", 15, &host.prefix[1]));
	assert_true(addr_parse("93.184.216.34", 13, &own));
	assert_true(addr_parse("93.184.216.35", 13, &beside));
	assert_true(addr_parse("127.0.0.1", 9, &loopback));
	assert_null(address_special(NULL, &own));
	assert_string_equal(address_special(&host, &own), "an address of this host");
	assert_string_equal(address_special(&host, &beside), "a network of this host");
	assert_string_equal(address_special(&host, &loopback), "loopback (RFC 1122)");
	assert_int_equal(address_classify_for(&host, &own).kind, SPECIAL_WITHHELD);
	assert_int_equal(address_classify_for(&host, &beside).kind, SPECIAL_PRIVATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_rule_is_found),
		cmocka_unit_test(test_the_deepest_names),
		cmocka_unit_test(test_duplicates_are_one),
		cmocka_unit_test(test_chains_are_bounded),
		cmocka_unit_test(test_a_contradiction_does_not_compile),
		cmocka_unit_test(test_every_prefix_length),
		cmocka_unit_test(test_the_policy_may_go),
		cmocka_unit_test(test_layers_are_its_own),
		cmocka_unit_test(test_chains_of_layers_are_apart),
		cmocka_unit_test(test_what_the_host_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
