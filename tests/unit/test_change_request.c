/* SPDX-License-Identifier: Apache-2.0 */
/* The messages about changes: what is asked, what is written down, what was seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/control/change_entry.h"
#include "sandbox/control/change_request.h"
#include "sandbox/log/seen_row.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_list(const char *const *a, const char *const *b)
{
	for (; a && b && *a && *b; a++, b++)
		assert_string_equal(*a, *b);
	assert_true((!a || !*a) && (!b || !*b));
}

static void a_change_comes_through_whole(void **state)
{
	const struct policy_change change = {.allow = LIST("github", "a.example:22,443"),
					     .deny = LIST("*.b.example"),
					     .remove = LIST("c.example"),
					     .preset = "locked"};
	json_t *m = change_request_print(&change, true);
	struct change_request r;
	struct err e;

	assert_int_equal(change_request_parse(m, &r, &e), 0);
	assert_list(r.change.allow, change.allow);
	assert_list(r.change.deny, change.deny);
	assert_list(r.change.remove, change.remove);
	assert_string_equal(r.change.preset, "locked");
	assert_true(r.dry_run);
	change_request_free(&r);
	json_decref(m);
}

static void assert_refused(const char *json, const char *why)
{
	json_t *m = json_loads(json, JSON_ALLOW_NUL, NULL);
	struct change_request r;
	struct err e;

	assert_non_null(m);
	assert_int_equal(change_request_parse(m, &r, &e), -1);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" does not say \"%s\"", e.text, why);
	json_decref(m);
}

/* Nothing is guessed at: half a change would be another policy than the one that was asked for. */
static void what_is_not_understood_is_refused(void **state)
{
	assert_refused("{\"op\":\"change\",\"alow\":[\"x\"]}", "alow");
	assert_refused("{\"op\":\"change\",\"allow\":\"x\"}", "allow: not a list");
	assert_refused("{\"op\":\"change\",\"allow\":[\"x\",7]}", "allow: item 2");
	assert_refused("{\"op\":\"change\",\"deny\":[\"x\\u0000.example\"]}", "deny: item 1");
	assert_refused("{\"op\":\"change\",\"preset\":7}", "preset");
	assert_refused("{\"op\":\"change\",\"preset\":\"open\\u0000\"}", "preset");
	assert_refused("{\"op\":\"change\",\"dry_run\":1}", "dry_run");
}

static void too_many_items_are_refused(void **state)
{
	json_t *list = json_array(), *m;
	struct change_request r;
	struct err e;

	for (int i = 0; i <= CHANGE_ITEMS_MAX; i++)
		json_array_append_new(list, json_string("a.example"));
	m = json_pack("{s:s, s:o}", "op", "change", "remove", list);
	assert_int_equal(change_request_parse(m, &r, &e), -1);
	json_decref(m);
}

static struct policy policy_with(unsigned rules)
{
	struct policy p;
	char name[64];
	struct err e;

	policy_init(&p);
	for (unsigned i = 0; i < rules; i++) {
		snprintf(name, sizeof(name), "host-%u.example.com", i);
		if (policy_add_rule(&p, EFFECT_ALLOW, name, &e))
			fail_msg("%s", e.text);
	}
	return p;
}

static void the_entry_says_who_and_what(void **state)
{
	struct policy before = policy_with(0), after = policy_with(1);
	const struct change_made made = {.sandbox = "box",
					 .who = getuid(),
					 .before = &before,
					 .after = &after,
					 .generation = 4,
					 .changed = true};
	json_t *entry = change_entry_print(&made), *rule;
	const char *who = json_string_value(json_object_get(entry, "who"));
	char uid[32];

	snprintf(uid, sizeof(uid), "(uid %u)", (unsigned)getuid());
	assert_non_null(strstr(who, uid));
	assert_string_equal(json_string_value(json_object_get(entry, "action")),
			    "sandgate.policy.change");
	assert_int_equal(json_integer_value(json_object_get(entry, "generation")), 4);
	assert_null(json_object_get(json_object_get(entry, "before"), "allow"));
	rule = json_array_get(json_object_get(json_object_get(entry, "after"), "allow"), 0);
	assert_string_equal(json_string_value(rule), "host-0.example.com");
	json_decref(entry);
	policy_free(&before);
	policy_free(&after);
}

/* Of very many rules the log has the hash, and the answer all of them. */
static void a_large_policy_is_hashed(void **state)
{
	struct policy before = policy_with(0), after = policy_with(2000);
	const struct change_made made = {
		.sandbox = "box", .before = &before, .after = &after, .changed = true};
	json_t *entry = change_entry_print(&made), *answer = change_entry_answer(&made);
	const json_t *hash = json_object_get(entry, "after");

	assert_int_equal(json_string_length(json_object_get(hash, "sha256")), 64);
	assert_int_equal(json_integer_value(json_object_get(hash, "rules")), 2000);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(answer, "after"), "allow")), 2000);
	json_decref(entry);
	json_decref(answer);
	policy_free(&before);
	policy_free(&after);
}

/* ---- What was seen ---- */

static bool read_row(const char *json, struct seen *s)
{
	json_t *row = json_loads(json, JSON_ALLOW_NUL, NULL);
	bool ok = seen_row_read(row, s);

	assert_non_null(row);
	json_decref(row);
	return ok;
}

static void rows_are_read(void **state)
{
	struct seen s;

	assert_true(
		read_row("{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"address\":\"93.184.1.1\","
			 "\"port\":443,\"reason\":\"not-in-policy\",\"count\":3}",
			 &s));
	assert_true(s.has_name && s.has_addr && !s.lookup);
	assert_int_equal(s.port, 443);
	assert_int_equal(s.reason, REASON_NOT_IN_POLICY);
	assert_int_equal(s.count, 3);
	assert_true(read_row("{\"proto\":\"dns\",\"name\":\"a.example.com\",\"verdict\":\"allow\"}",
			     &s));
	assert_true(s.lookup);
	assert_int_equal(s.reason, REASON_NONE);
	assert_int_equal(s.count, 1);
	assert_true(read_row("{\"proto\":\"quic\",\"name\":\"a.example.com\",\"port\":443}", &s));
	assert_int_equal(s.proto, PROTO_UDP);
	assert_true(read_row("{\"proto\":\"icmp\",\"address\":\"2a00:1::1\"}", &s));
	assert_int_equal(s.proto, PROTO_ICMP);
}

/* Of a request the permission counts, of a connection it is that of a rule. */
static void rows_of_requests_are_read(void **state)
{
	static const char refused[] = "{\"proto\":\"http\",\"name\":\"github.com\",\"port\":443,"
				      "\"reason\":\"operation-not-allowed\",\"count\":2,"
				      "\"permission\":\"github:push\"}";
	static const char *const without[] = {
		"{\"proto\":\"tcp\",\"name\":\"github.com\",\"port\":443,\"permission\":\"github\"}",
		"{\"proto\":\"http\",\"name\":\"github.com\",\"port\":443,\"method\":\"GET\","
		"\"permission\":\"x; id\"}",
		"{\"proto\":\"http\",\"name\":\"github.com\",\"port\":443,\"method\":\"GET\","
		"\"permission\":\"a23456789-123456789-123456789-123456789-\"}",
		"{\"proto\":\"http\",\"name\":\"github.com\",\"port\":443,\"method\":\"GET\"}",
	};
	struct seen s;

	assert_true(read_row(refused, &s));
	assert_string_equal(s.permission, "github:push");
	assert_true(read_row("{\"proto\":\"http\",\"name\":\"github.com\",\"port\":443,"
			     "\"method\":\"GET\",\"permission\":\"github\"}",
			     &s));
	assert_string_equal(s.permission, "github");
	for (size_t i = 0; i < sg_array_len(without); i++) {
		assert_true(read_row(without[i], &s));
		assert_string_equal(s.permission, "");
	}
}

/* The gate reads the sandbox's octets: what it says is taken as nobody's word. */
static void hostile_rows_are_not(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"proto\":\"tcp\"}",
		"{\"proto\":\"sctp\",\"name\":\"a.example.com\"}",
		"{\"proto\":\"tcp\",\"name\":\"$(id).example.com\",\"port\":443}",
		"{\"proto\":\"tcp\",\"name\":\"a\\u0000b.example\",\"port\":443}",
		"{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"address\":\"1.2.3\",\"port\":443}",
		"{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"port\":65536}",
		"{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"port\":-1}",
		"{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"port\":443,\"count\":0}",
		"{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"port\":443,\"count\":-5}",
		"{\"proto\":\"tcp\",\"name\":\"a.example.com\",\"port\":443,\"reason\":\"no such\"}",
	};
	struct seen s;

	for (size_t i = 0; i < sg_array_len(rows); i++)
		if (read_row(rows[i], &s))
			fail_msg("taken: %s", rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_comes_through_whole),
		cmocka_unit_test(what_is_not_understood_is_refused),
		cmocka_unit_test(too_many_items_are_refused),
		cmocka_unit_test(the_entry_says_who_and_what),
		cmocka_unit_test(a_large_policy_is_hashed),
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(rows_of_requests_are_read),
		cmocka_unit_test(hostile_rows_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
