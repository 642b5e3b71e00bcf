/* SPDX-License-Identifier: Apache-2.0 */
/* A policy as it goes to the gate: the person's words and what they were resolved to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "little_catalogue.h"

enum { MANY_RULES = 1000000 };

static void assert_read_again(const struct policy *p)
{
	char *sent = policy_print_wire(p), *again;
	struct policy got;
	struct err e;

	assert_non_null(sent);
	if (policy_parse_wire(span_of_string(sent), &got, &e))
		fail_msg("%s\n%s", sent, e.text);
	again = policy_print_wire(&got);
	assert_string_equal(again, sent);
	assert_int_equal(got.resolved.done, p->resolved.done);
	assert_int_equal(got.resolved.web, p->resolved.web);
	assert_int_equal(got.resolved.permissions.n, p->resolved.permissions.n);
	free(again);
	free(sent);
	policy_free(&got);
}

static void everything_arrives(void **state)
{
	static const char organisation_text[] =
		"{\"allow\": [\"in.example\", {\"host\": \"vpn.example\", \"private\": true}],"
		" \"deny\": [\"out.example\"]}";
	struct organisation o;
	struct policy_sources s = {
		.catalogue = &little_catalogue, .organisation = &o, .agent = &little_agents[0]};
	struct policy p;
	struct err e;

	assert_int_equal(organisation_parse(span_of_string(organisation_text), "o",
					    &little_catalogue, &o, &e),
			 0);
	assert_int_equal(
		policy_parse(
			span_of_string("{permissions: [web, 'model:ollama'], deny: [x.example],"
				       " quic: allow}"),
			POLICY_YAML, "f", &p, &e),
		0);
	assert_int_equal(policy_resolve(&p, &s, &e), 0);
	assert_true(p.resolved.web);
	assert_int_equal(p.resolved.n_host_ports, 1);
	assert_read_again(&p);
	policy_free(&p);
	organisation_free(&o);
}

static void a_policy_that_is_not_resolved_arrives_as_such(void **state)
{
	struct policy p;

	policy_init(&p);
	assert_read_again(&p);
	policy_free(&p);
}

static void a_file_of_a_persons_cannot_say_what_was_resolved(void **state)
{
	static const char text[] = "{\"resolved\": {\"web\": true}}";
	struct policy p;
	struct err e;

	assert_int_equal(policy_parse(span_of_string(text), POLICY_JSON, "f", &p, &e), -1);
	assert_non_null(strstr(e.text, "f:1:2: unknown key `resolved`"));
	assert_int_equal(policy_parse(span_of_string(text), POLICY_YAML, "f", &p, &e), -1);
	assert_non_null(strstr(e.text, "unknown key `resolved`"));
	assert_int_equal(policy_parse_wire(span_of_string(text), &p, &e), 0);
	assert_true(p.resolved.web);
	policy_free(&p);
}

static void what_is_malformed_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"{",
		"{\"resolved\": []}",
		"{\"resolved\": {\"web\": 1}}",
		"{\"resolved\": {\"webb\": true}}",
		"{\"resolved\": {\"on\": [1]}}",
		"{\"resolved\": {\"on\": []}}",
		"{\"resolved\": {\"permissions\": [{\"id\": \"a\"}]}}",
		"{\"resolved\": {\"permissions\": [{\"rules\": [\"a.example\"]}]}}",
		"{\"resolved\": {\"permissions\": [{\"id\": \"a\", \"rules\": [\"*.com\"]}]}}",
		"{\"resolved\": {\"permissions\": [{\"id\": \"a\", \"rules\": [\"a.b\"], \"x\": 1}]}}",
		"{\"resolved\": {\"organisation\": {\"deny\": [\"a..b\"]}}}",
		"{\"resolved\": {\"organisation\": {\"locked\": true}}}",
		"{\"resolved\": {\"host_ports\": [0]}}",
		"{\"resolved\": {\"host_ports\": [65536]}}",
		"{\"resolved\": {}, \"resolved\": {}}",
	};
	struct policy p, empty;
	struct err e;

	policy_init(&empty);
	for (size_t i = 0; i < sg_array_len(cases); i++) {
		if (policy_parse_wire(span_of_string(cases[i]), &p, &e) == 0)
			fail_msg("accepted: %s", cases[i]);
		assert_memory_equal(&p, &empty, sizeof(p));
	}
}

static void a_million_own_rules_arrive(void **state)
{
	struct policy p, got;
	char text[64], *sent;
	struct err e;

	policy_init(&p);
	p.network = NET_DENY;
	for (unsigned i = 0; i < MANY_RULES; i++) {
		snprintf(text, sizeof(text), "n%u.example%u.com", i, i % 1000);
		assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, text, &e), 0);
	}
	sent = policy_print_wire(&p);
	assert_non_null(sent);
	if (policy_parse_wire(span_of_string(sent), &got, &e))
		fail_msg("%s", e.text);
	assert_int_equal(got.n_rules, MANY_RULES);
	assert_string_equal(rule_format(&got.rules[MANY_RULES - 1], (char[RULE_TEXT_MAX]){0}),
			    "n999999.example999.com");
	free(sent);
	policy_free(&p);
	policy_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives),
		cmocka_unit_test(a_policy_that_is_not_resolved_arrives_as_such),
		cmocka_unit_test(a_file_of_a_persons_cannot_say_what_was_resolved),
		cmocka_unit_test(what_is_malformed_is_refused),
		cmocka_unit_test(a_million_own_rules_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
