/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/permission.h"
#include "policy/suggest.h"

static struct seen seen(const char *name, const char *address, enum proto proto, uint16_t port,
			enum reason reason, uint64_t count)
{
	struct seen s = {.proto = proto, .port = port, .reason = reason, .count = count};

	if (name) {
		assert_int_equal(name_parse_ascii(name, strlen(name), &s.name), NAME_OK);
		s.has_name = true;
	}
	if (address) {
		assert_true(addr_parse(address, strlen(address), &s.addr));
		s.has_addr = true;
	}
	return s;
}

static struct seen looked_up(const char *name, uint64_t count)
{
	struct seen s = seen(name, NULL, PROTO_TCP, 0, REASON_NOT_IN_POLICY, count);

	s.lookup = true;
	return s;
}

static void add(struct suggestions *s, struct seen what)
{
	assert_int_equal(suggest_add(s, &what), 0);
}

static struct suggestions begin(char *const *on)
{
	return (struct suggestions){.catalogue = catalogue_builtin(), .on = on};
}

/* What one permission covers is one suggestion, whichever of its hosts was tried, and counted
 * exactly. */
static void a_permission_stands_for_its_hosts(void **state)
{
	struct suggestions s = begin(NULL);

	add(&s, looked_up("pypi.org", 2));
	add(&s, looked_up("files.pythonhosted.org", 1));
	add(&s, seen("pypi.org", "151.101.0.223", PROTO_TCP, 443, REASON_NOT_IN_POLICY, 4));
	assert_int_equal(s.n, 1);
	assert_string_equal(s.v[0].permission->id, "install:python");
	assert_int_equal(s.v[0].count, 7);
	assert_int_equal(s.total, 7);
	assert_int_equal(s.v[0].n_hosts, 2);
	assert_string_equal(s.v[0].hosts[1], "files.pythonhosted.org");
	assert_int_equal(s.v[0].n_items, 1);
	assert_string_equal(s.v[0].items[0], "install:python");
	suggest_free(&s);
}

static struct seen requested(const char *name, const char *permission, uint64_t count)
{
	struct seen s =
		seen(name, "140.82.121.3", PROTO_TCP, 443, REASON_OPERATION_NOT_ALLOWED, count);

	snprintf(s.permission, sizeof(s.permission), "%s", permission);
	return s;
}

/* A request is put in the words of the permission that is for it, though that writes. */
static void a_refused_request_names_its_permission(void **state)
{
	char *on[] = {"github", NULL}, *pushes[] = {"github", "github:push", NULL};
	struct suggestions s = begin(on);

	add(&s, requested("github.com", "github:push", 2));
	add(&s, requested("api.github.com", "github:push", 1));
	assert_int_equal(s.n, 1);
	assert_string_equal(s.v[0].permission->id, "github:push");
	assert_string_equal(s.v[0].permission->attempt, "push to GitHub");
	assert_int_equal(s.v[0].count, 3);
	assert_int_equal(s.v[0].n_items, 1);
	assert_string_equal(s.v[0].items[0], "github:push");
	suggest_free(&s);
	/* no permission has it, or none that there is */
	s = begin(on);
	add(&s, requested("github.com", "", 2));
	add(&s, requested("github.com", "no:such", 1));
	assert_int_equal(s.n, 1);
	assert_null(s.v[0].permission);
	assert_int_equal(s.v[0].n_items, 0);
	assert_int_equal(s.v[0].reasons, UINT64_C(1) << REASON_OPERATION_NOT_ALLOWED);
	suggest_free(&s);
	s = begin(pushes);
	s.rules = NULL;
	add(&s, requested("github.com", "github:push", 2));
	assert_true(s.v[0].allowed_now);
	assert_int_equal(s.v[0].n_items, 0);
	suggest_free(&s);
}

/* One that is on already, and still refused, is not what is missing. */
static void a_permission_that_is_on_is_not_suggested(void **state)
{
	char *on[] = {"install:python", NULL};
	struct suggestions s = begin(on);

	add(&s, looked_up("pypi.org", 1));
	assert_int_equal(s.n, 1);
	assert_true(!s.v[0].permission || strcmp(s.v[0].permission->id, "install:python") != 0);
	suggest_free(&s);
}

static void others_are_one_a_host(void **state)
{
	struct suggestions s = begin(NULL);

	add(&s, looked_up("db.example.com", 1));
	add(&s, seen("db.example.com", "93.184.1.1", PROTO_TCP, 5432, REASON_PORT_NOT_ALLOWED, 2));
	add(&s, seen("db.example.com", "93.184.1.1", PROTO_UDP, 5432, REASON_NOT_IN_POLICY, 3));
	add(&s, seen(NULL, "2a00:1::7", PROTO_TCP, 22, REASON_NOT_IN_POLICY, 1));
	assert_int_equal(s.n, 2);
	assert_null(s.v[0].permission);
	assert_string_equal(s.v[0].hosts[0], "db.example.com");
	assert_int_equal(s.v[0].count, 6);
	assert_int_equal(s.v[0].n_ports, 3);
	assert_true(s.v[0].ports[0].lookup);
	assert_int_equal(s.v[0].ports[2].proto, PROTO_UDP);
	assert_int_equal(s.v[0].n_items, 3);
	assert_string_equal(s.v[0].items[0], "site:db.example.com");
	assert_string_equal(s.v[0].items[1], "site:db.example.com:5432");
	assert_string_equal(s.v[0].items[2], "site:db.example.com:5432/udp");
	assert_string_equal(s.v[1].items[0], "[2a00:1::7]:22");
	suggest_free(&s);
}

/* What no item would allow is counted, and offers none; nor does what needs a new start. */
static void some_have_no_item(void **state)
{
	struct suggestions s = begin(NULL);

	add(&s, seen("a.example.com", NULL, PROTO_TCP, 443, REASON_LIMIT_RATE, 5));
	add(&s, seen("b.example.com", NULL, PROTO_TCP, 443, REASON_DENIED_BY_RULE, 1));
	add(&s, seen("host.sandgate.internal", NULL, PROTO_TCP, 8080, REASON_PORT_NOT_ALLOWED, 1));
	assert_int_equal(s.n, 3);
	assert_false(suggestion_has_remedy(&s.v[0]));
	assert_false(suggestion_has_remedy(&s.v[1]));
	assert_int_equal(s.v[2].n_items, 0);
	assert_int_equal(s.v[2].host_ports[0], 8080);
	assert_int_equal(s.total, 7);
	suggest_free(&s);
}

/* Nothing by itself that a person has to weigh. */
static void nothing_personal_is_suggested(void **state)
{
	static const char *const hosts[] = {
		"github.com", "api.github.com",	   "uploads.github.com", "upload.pypi.org",
		"claude.ai",  "api.anthropic.com", "api.openai.com",	 "www.example.org"};
	struct suggestions s = begin(NULL);

	for (size_t i = 0; i < sg_array_len(hosts); i++)
		add(&s, looked_up(hosts[i], 1));
	for (size_t i = 0; i < s.n; i++) {
		const struct permission *p = s.v[i].permission;

		assert_true(!p || (!p->personal && !p->asks && !p->web && !permission_writes(p)));
	}
	suggest_free(&s);
}

/* A permission or rule that was added since leaves nothing to suggest, but the count. */
static void what_is_allowed_by_now_is_told_apart(void **state)
{
	static char *on[] = {"install:python", NULL};
	struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct suggestions s = begin(on);
	struct ruleset *rules;
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = NET_DENY;
	if (policy_add_item(&p, sources.catalogue, EFFECT_ALLOW, "install:python", &e) ||
	    policy_resolve(&p, &sources, &e))
		fail_msg("%s", e.text);
	rules = ruleset_compile(&p, 1, &e);
	s.rules = rules;
	add(&s, looked_up("pypi.org", 2));
	add(&s, seen("pypi.org", NULL, PROTO_TCP, 22, REASON_PORT_NOT_ALLOWED, 1));
	add(&s, seen("pypi.org", NULL, PROTO_TCP, 443, REASON_LIMIT_RATE, 1));
	assert_int_equal(s.n, 2);
	assert_true(s.v[0].allowed_now);
	assert_int_equal(s.v[0].n_items, 0);
	assert_int_equal(s.v[0].count, 2);
	assert_false(s.v[1].allowed_now);
	assert_int_equal(s.v[1].count, 2);
	assert_string_equal(s.v[1].items[0], "site:pypi.org:22");
	suggest_free(&s);
	ruleset_free(rules);
	policy_free(&p);
}

/* An allowed name that points inward was refused for its address: the policy still withholds it. */
static void an_address_that_is_withheld_is_not_allowed_by_now(void **state)
{
	static const char *const listed[] = {NULL, "10.0.0.0/8"};

	for (size_t i = 0; i < 2; i++) {
		struct seen what =
			seen("a.example.com", "10.0.0.5", PROTO_TCP, 0, REASON_SPECIAL_ADDRESS, 1);
		struct suggestions s = begin(NULL);
		struct ruleset *rules;
		struct policy p;
		struct err e;

		policy_init(&p);
		p.network = NET_DENY;
		assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, "a.example.com", &e), 0);
		if (listed[i])
			assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, listed[i], &e), 0);
		rules = ruleset_compile(&p, 1, &e);
		s.rules = rules;
		what.lookup = true;
		add(&s, what);
		assert_int_equal(s.v[0].allowed_now, listed[i] != NULL);
		suggest_free(&s);
		ruleset_free(rules);
		policy_free(&p);
	}
}

/* A sandbox picks the hosts: tables stay bounded, and the count exact. */
static void many_ports_are_counted(void **state)
{
	struct suggestions s = begin(NULL);

	for (uint16_t port = 1000; port < 1100; port++)
		add(&s, seen("a.example.com", NULL, PROTO_TCP, port, REASON_NOT_IN_POLICY, 2));
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].count, 200);
	assert_int_equal(s.v[0].n_ports, SUGGEST_PLACES_MAX);
	assert_int_equal(s.v[0].n_items, SUGGEST_ITEMS_MAX);
	suggest_free(&s);
}

/* Nor do many hosts take more than their room: what is left out is for the caller to count. */
static void many_hosts_are_bounded(void **state)
{
	struct suggestions s = begin(NULL);
	char name[32];

	for (int i = 0; i < SUGGESTIONS_MAX + 9; i++) {
		struct seen what;

		snprintf(name, sizeof(name), "h%d.example.com", i);
		what = looked_up(name, 1);
		assert_int_equal(suggest_add(&s, &what), i < SUGGESTIONS_MAX ? 0 : -ENOSPC);
	}
	add(&s, looked_up("h3.example.com", 1));
	assert_int_equal(s.n, SUGGESTIONS_MAX);
	assert_int_equal(s.total, SUGGESTIONS_MAX + 1);
	suggest_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permission_stands_for_its_hosts),
		cmocka_unit_test(a_refused_request_names_its_permission),
		cmocka_unit_test(a_permission_that_is_on_is_not_suggested),
		cmocka_unit_test(others_are_one_a_host),
		cmocka_unit_test(some_have_no_item),
		cmocka_unit_test(nothing_personal_is_suggested),
		cmocka_unit_test(what_is_allowed_by_now_is_told_apart),
		cmocka_unit_test(an_address_that_is_withheld_is_not_allowed_by_now),
		cmocka_unit_test(many_ports_are_counted),
		cmocka_unit_test(many_hosts_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
