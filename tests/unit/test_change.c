/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a policy, as `sandgate net` asks for them: what follows, and that it is all or
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "little_catalogue.h"
#include "policy/change.h"
#include "policy/decide.h"

static struct organisation organisation;
static const struct policy_sources sources = {
	.catalogue = &little_catalogue, .organisation = &organisation, .agent = &little_agents[0]};

static void read_policy(const char *yaml, struct policy *p)
{
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "f", p, &e))
		fail_msg("%s", e.text);
}

/* The change turns one policy into the other, and says whether they differ. */
static void assert_change(const char *from, const struct policy_change *change, const char *want)
{
	char *printed, *wanted, *before;
	struct policy p, to, after;
	bool changed;
	struct err e;

	read_policy(from, &p);
	read_policy(want, &after);
	before = policy_print_json(&p);
	if (policy_apply_change(&p, change, &sources, &to, &changed, &e))
		fail_msg("%s: %s", from, e.text);
	printed = policy_print_json(&to);
	wanted = policy_print_json(&after);
	assert_string_equal(printed, wanted);
	assert_int_equal(changed, strcmp(before, wanted) != 0);
	assert_true(to.resolved.done);
	free(printed);
	free(wanted);
	free(before);
	policy_free(&p);
	policy_free(&to);
	policy_free(&after);
}

static void assert_refused(const char *from, const struct policy_change *change, const char *says)
{
	struct policy p, to, empty;
	bool changed = true;
	struct err e;

	read_policy(from, &p);
	policy_init(&empty);
	if (policy_apply_change(&p, change, &sources, &to, &changed, &e) == 0)
		fail_msg("accepted: %s", says);
	if (!strstr(e.text, says))
		fail_msg("want: %s\n  got:  %s", says, e.text);
	assert_false(changed);
	assert_memory_equal(&to, &empty, sizeof(to));
	policy_free(&p);
}

#define ALLOW(...)  (&(struct policy_change){.allow = LIST(__VA_ARGS__)})
#define DENY(...)   (&(struct policy_change){.deny = LIST(__VA_ARGS__)})
#define REMOVE(...) (&(struct policy_change){.remove = LIST(__VA_ARGS__)})
#define PRESET(p)   (&(struct policy_change){.preset = (p)})

static void rules_are_added_once(void **state)
{
	assert_change("network: deny", ALLOW("site:a.example"),
		      "{network: deny, allow: [a.example]}");
	assert_change("{network: deny, allow: [a.example]}", ALLOW("a.example", "A.example."),
		      "{network: deny, allow: [a.example]}");
	assert_change("network: deny", DENY("a.example", "a.example"),
		      "{network: deny, deny: [a.example]}");
	assert_change("network: deny", ALLOW("a.example:22", "10.0.0.0/8"),
		      "{network: deny, allow: ['a.example:22', 10.0.0.0/8]}");
}

static void the_later_word_counts(void **state)
{
	assert_change("{network: open, deny: [a.example]}", ALLOW("a.example"),
		      "{network: open, allow: [a.example]}");
	assert_change("{network: open, deny: ['a.example:443']}", ALLOW("a.example"),
		      "{network: open, allow: [a.example]}");
	assert_change("{network: deny, allow: [a.example, 'a.example:22']}", DENY("a.example"),
		      "{network: deny, deny: [a.example]}");
	/* a deny of one port leaves the others */
	assert_change("{network: deny, allow: [a.example]}", DENY("a.example:443"),
		      "{network: deny, allow: [a.example], deny: ['a.example:443']}");
	/* a rule of another target is an exception, and stays */
	assert_change("{network: deny, allow: [a.b.example], deny: ['*.example']}",
		      DENY("*.b.example"),
		      "{network: deny, allow: [a.b.example], deny: ['*.example', '*.b.example']}");
	assert_change("{network: deny, deny: ['*.b.example']}", ALLOW("a.b.example"),
		      "{network: deny, allow: [a.b.example], deny: ['*.b.example']}");
}

static void what_is_allowed_is_allowed_afterwards(void **state)
{
	struct policy_change change = {.allow = LIST("a.example:443", "*.b.example")};
	struct name a;
	struct destination d = {.kind = DEST_CONNECT, .name = &a, .port = 443, .proto = PROTO_TCP};
	struct policy p, to;
	struct ruleset *rs;
	struct verdict v;
	bool changed;
	struct err e;

	assert_int_equal(name_parse_ascii("a.example", 9, &a), NAME_OK);
	read_policy("{network: deny, deny: ['a.example', 'a.example:443', '*.example']}", &p);
	assert_int_equal(policy_apply_change(&p, &change, &sources, &to, &changed, &e), 0);
	rs = ruleset_compile(&to, 1, &e);
	decide(rs, NULL, &d, &v);
	assert_true(v.allow);
	ruleset_free(rs);
	policy_free(&p);
	policy_free(&to);
}

static void permissions_are_switched(void **state)
{
	assert_change("network: deny", ALLOW("github"), "{network: deny, permissions: [github]}");
	assert_change("{network: deny, permissions: [github]}", ALLOW("github"),
		      "{network: deny, permissions: [github]}");
	assert_change("{network: deny, permissions: [github]}", DENY("github"), "network: deny");
	/* what the base has need not be written down; taking it away must be */
	assert_change("network: standard", ALLOW("github"), "network: standard");
	assert_change("network: standard", DENY("github"), "permissions: ['-github']");
	assert_change("network: standard", ALLOW("-github"), "permissions: ['-github']");
	assert_change("permissions: ['-github']", DENY("github"), "permissions: ['-github']");
	assert_change("permissions: ['-github']", ALLOW("github"), "network: standard");
	assert_change("network: deny", DENY("github"), "network: deny");
	/* groups */
	assert_change("{network: deny, permissions: [install]}", DENY("install:rust"),
		      "{network: deny, permissions: [install, '-install:rust']}");
	assert_change("{network: deny, permissions: [install, '-install:rust']}", ALLOW("install"),
		      "{network: deny, permissions: ['-install:rust', install]}");
	assert_change("{network: deny, permissions: [install, '-install:rust']}",
		      ALLOW("install:rust"), "{network: deny, permissions: [install]}");
	assert_change("network: locked", DENY("model"),
		      "{network: locked, permissions: ['-model']}");
	assert_change("{network: deny, allow: [a.example]}", ALLOW("web"),
		      "{network: deny, permissions: [web], allow: [a.example]}");
}

static void a_preset_leaves_what_is_personal(void **state)
{
	assert_change("{permissions: [time, '-github', 'github:as-you'], allow: [a.example]}",
		      PRESET("locked"),
		      "{network: locked, permissions: ['github:as-you'], allow: [a.example]}");
	assert_change("{network: locked, permissions: [time]}", ALLOW("standard"),
		      "network: standard");
	assert_change("network: standard", PRESET("standard"), "network: standard");
	assert_change("network: standard", PRESET("none"), "network: none");
	/* named, it is kept by name also where it is on already */
	assert_change("network: deny", ALLOW("github:as-you"),
		      "{network: deny, permissions: ['github:as-you']}");
}

/* What the preset would let go of is there to be removed; of what is personal it is the only way.
 */
static void what_is_removed_need_not_outlast_the_preset(void **state)
{
	assert_change("{permissions: [time, 'github:as-you']}",
		      &((struct policy_change){.preset = "locked",
					       .remove = LIST("time", "github:as-you")}),
		      "network: locked");
	assert_refused("{permissions: [time]}",
		       &((struct policy_change){.preset = "locked", .remove = LIST("web")}),
		       "`web` is not in the policy");
}

static void removing_takes_out_what_is_printed(void **state)
{
	assert_change("{network: deny, allow: [a.example, 'b.example:22'], deny: [a.example]}",
		      REMOVE("a.example"), "{network: deny, allow: ['b.example:22']}");
	assert_change("{network: deny, allow: ['b.example:22']}", REMOVE("B.example:22"),
		      "network: deny");
	assert_change("{network: deny, deny: ['a.example/udp']}", REMOVE("a.example/udp"),
		      "network: deny");
	assert_change("{network: deny, permissions: [time, '-github']}", REMOVE("-github", "time"),
		      "network: deny");
	assert_refused("{network: deny, allow: [api.example]}", REMOVE("ap.example"),
		       "`ap.example` is not in the policy; did you mean `api.example`?");
	assert_refused("{network: deny, permissions: ['-github']}", REMOVE("-gitub"),
		       "did you mean `-github`?");
	assert_refused("network: deny", REMOVE("x.example"), "cannot be taken out");
	assert_refused("network: locked", REMOVE("model:anthropic"),
		       "is on by the base `locked`; deny it to take it away");
}

static void it_is_all_or_nothing(void **state)
{
	struct policy_change change = {
		.allow = LIST("a.example", "*.com"), .deny = LIST("github"), .preset = "standard"};

	assert_refused("network: deny", &change, "*.com");
	change.allow = LIST("b.example", "gitub");
	assert_refused("network: deny", &change, "did you mean `github`?");
	change.allow = LIST("github");
	assert_refused("network: deny", &change, "`github` is to be allowed and denied");
	change = (struct policy_change){.preset = "standrd"};
	assert_refused("network: deny", &change, "did you mean `standard`?");
	change = (struct policy_change){.preset = "any", .allow = LIST("a.example")};
	assert_refused("network: deny", &change, "network `any` allows everything");
	assert_refused("{network: deny, permissions: [time]}", ALLOW("model:azure"),
		       "has no host by itself");
}

static void the_parts_come_in_one_order(void **state)
{
	struct policy_change change = {.allow = LIST("a.example", "time"),
				       .deny = LIST("*.b.example", "github"),
				       .remove = LIST("old.example"),
				       .preset = "standard"};

	assert_change(
		"{network: deny, permissions: [github], allow: [old.example]}", &change,
		"{permissions: ['-github', time], allow: [a.example], deny: ['*.b.example']}");
}

static void what_the_organisation_holds_cannot_be_changed(void **state)
{
	struct err e;
	static const char text[] = "{\"deny\": [\"*.evil.example\", \"10.0.0.0/8\"],"
				   "\"allow\": [\"good.evil.example\"],"
				   "\"permissions_removed\": [\"time\"]}";

	assert_int_equal(
		organisation_parse(span_of_string(text), "o", &little_catalogue, &organisation, &e),
		0);
	assert_refused("network: deny", ALLOW("a.evil.example"),
		       "`a.evil.example` cannot be allowed: the organisation's policy denies "
		       "`*.evil.example`");
	assert_refused("network: deny", ALLOW("10.1.2.3:22"), "denies `10.0.0.0/8`");
	assert_refused("network: deny", ALLOW("time"), "taken away by the organisation's policy");
	assert_change("network: deny", ALLOW("a.example"), "{network: deny, allow: [a.example]}");
	assert_change("network: deny", ALLOW("good.evil.example"),
		      "{network: deny, allow: [good.evil.example]}");
	organisation_free(&organisation);
	assert_int_equal(organisation_parse(span_of_string("{\"locked\": true}"), "o",
					    &little_catalogue, &organisation, &e),
			 0);
	assert_refused("network: standard", ALLOW("a.example"), "policy is locked");
	assert_refused("network: standard", PRESET("open"), "policy is locked");
	assert_change("network: standard", DENY("github"), "permissions: ['-github']");
	organisation_free(&organisation);
}

static void a_copy_is_whole(void **state)
{
	struct policy p, copy;
	struct err e;
	char *one, *two;

	read_policy("{permissions: [time, web], allow: [a.example, {host: b.example, ports: [80],"
		    " methods: [GET], paths: ['/x/*'], note: n}], deny: ['*.c.example'],"
		    " host_ports: [1], publish: ['2:3'], limits: {flows: 7}}",
		    &p);
	assert_int_equal(policy_resolve(&p, &sources, &e), 0);
	assert_int_equal(policy_copy(&p, &copy, &e), 0);
	one = policy_print_wire(&p);
	policy_free(&p);
	two = policy_print_wire(&copy);
	assert_string_equal(one, two);
	free(one);
	free(two);
	policy_free(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_added_once),
		cmocka_unit_test(the_later_word_counts),
		cmocka_unit_test(what_is_allowed_is_allowed_afterwards),
		cmocka_unit_test(permissions_are_switched),
		cmocka_unit_test(a_preset_leaves_what_is_personal),
		cmocka_unit_test(what_is_removed_need_not_outlast_the_preset),
		cmocka_unit_test(removing_takes_out_what_is_printed),
		cmocka_unit_test(it_is_all_or_nothing),
		cmocka_unit_test(the_parts_come_in_one_order),
		cmocka_unit_test(what_the_organisation_holds_cannot_be_changed),
		cmocka_unit_test(a_copy_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
