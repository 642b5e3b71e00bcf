/* SPDX-License-Identifier: Apache-2.0 */
/* From bases and permissions to what is on, and to its rules; and the older format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "little_catalogue.h"
#include "policy/decide.h"

enum { JOINED_MAX = 1024 };

static const struct agent *const claude = &little_agents[0], *const both = &little_agents[1];

static struct policy_sources sources(const struct agent *agent)
{
	static char *languages[] = {"install:rust", NULL};

	return (struct policy_sources){
		.catalogue = &little_catalogue, .agent = agent, .languages = languages};
}

static void read_policy(const char *yaml, struct policy *p)
{
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "f", p, &e))
		fail_msg("%s", e.text);
}

static void resolve(const char *yaml, const struct policy_sources *s, struct policy *p)
{
	struct err e;

	read_policy(yaml, p);
	if (policy_resolve(p, s, &e))
		fail_msg("%s\n%s", yaml, e.text);
	assert_true(p->resolved.done);
}

static const char *joined(char *const *list)
{
	static char out[JOINED_MAX];

	out[0] = 0;
	for (; list && *list; list++)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", *out ? " " : "",
			 *list);
	return out;
}

static const char *joined_rules(const struct rule_list *list)
{
	static char out[JOINED_MAX];
	char text[RULE_TEXT_MAX];

	out[0] = 0;
	for (size_t i = 0; i < list->n; i++)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", *out ? " " : "",
			 rule_format(&list->v[i], text));
	return out;
}

static void assert_on(const char *yaml, const struct policy_sources *s, const char *on)
{
	struct policy p;

	resolve(yaml, s, &p);
	assert_string_equal(joined(p.resolved.on), on);
	policy_free(&p);
}

static void assert_refused(const char *yaml, const struct policy_sources *s, const char *says)
{
	struct policy p;
	struct err e;

	read_policy(yaml, &p);
	if (policy_resolve(&p, s, &e) == 0)
		fail_msg("resolved: %s", yaml);
	if (!strstr(e.text, says))
		fail_msg("%s\n  want: %s\n  got:  %s", yaml, says, e.text);
	assert_false(p.resolved.done);
	policy_free(&p);
}

static void presets_switch_their_permissions_on(void **state)
{
	struct policy_sources s = sources(claude);

	assert_on("network: deny", &s, "");
	assert_on("network: none", &s, "");
	assert_on("network: any", &s, "");
	assert_on("network: locked", &s, "model model:anthropic");
	assert_on("network: standard", &s,
		  "error-reports github install:rust install:system model model:anthropic update");
	assert_on("dns: on", &s,
		  "error-reports github install:rust install:system model model:anthropic update");
	assert_on("network: open", &s, "model model:anthropic");
	assert_on("network: bake", &s, "install install:python install:rust install:system");
}

static void the_agent_and_the_languages_fill_their_places(void **state)
{
	struct policy_sources s = sources(both);

	assert_on("network: locked", &s, "model model:anthropic model:openai");
	s = sources(NULL);
	s.languages = (char *[]){"install:cobol", "install:python", NULL};
	assert_on("network: standard", &s,
		  "error-reports github install:python install:system update");
	assert_on("network: locked", &s, "");
	s.languages = NULL;
	assert_on("network: standard", &s, "error-reports github install:system update");
	assert_on("{network: deny, permissions: [model]}", &s, "");
	s = sources(claude);
	assert_on("{network: deny, permissions: [model]}", &s, "model model:anthropic");
}

static void the_list_is_taken_in_order(void **state)
{
	struct policy_sources s = sources(claude);

	assert_on("{network: deny, permissions: [install]}", &s,
		  "install install:python install:rust");
	/* a group without one of its parts is not on; the other parts are */
	assert_on("{network: deny, permissions: [install, '-install:rust']}", &s, "install:python");
	assert_on("{network: deny, permissions: ['-install:rust', install]}", &s,
		  "install install:python install:rust");
	assert_on("{network: bake, permissions: ['-install']}", &s, "install:system");
	assert_on("{network: locked, permissions: ['-model']}", &s, "");
	assert_on("{network: locked, permissions: ['-model:anthropic']}", &s, "");
	s = sources(both);
	assert_on("{network: locked, permissions: ['-model:openai']}", &s, "model model:anthropic");
	/* what is built on a permission goes with it */
	assert_on("{network: deny, permissions: ['github:as-you']}", &s, "github github:as-you");
	assert_on("{network: deny, permissions: ['github:as-you', '-github']}", &s, "");
}

static void a_personal_permission_is_on_when_it_is_named(void **state)
{
	struct preset presets[sg_array_len(little_presets)];
	struct catalogue c = little_catalogue;
	struct policy_sources s = {.catalogue = &c};

	memcpy(presets, little_presets, sizeof(presets));
	presets[0].permissions = LIST("github:as-you", "time");
	c.presets = presets;
	assert_on("network: locked", &s, "time");
	assert_on("{network: locked, permissions: ['github:as-you']}", &s,
		  "github github:as-you time");
}

static void rules_carry_their_permission(void **state)
{
	struct policy_sources s = sources(claude);
	struct policy p;

	resolve("{network: deny, permissions: [time, update, sign-in], allow: [own.example]}", &s,
		&p);
	assert_string_equal(joined_rules(&p.resolved.permissions),
			    "login.example login.claude.example pool.example:123/udp "
			    "downloads.example registry.example");
	assert_string_equal(p.resolved.permissions.v[1].detail->permission, "sign-in");
	assert_string_equal(p.resolved.permissions.v[2].detail->permission, "time");
	assert_string_equal(p.resolved.permissions.v[4].detail->permission, "update");
	assert_int_equal(p.n_rules, 1);
	assert_null(p.rules[0].detail);
	policy_free(&p);
}

static void web_and_host_ports_are_resolved(void **state)
{
	struct policy_sources s = sources(NULL);
	struct policy p;

	resolve("{network: deny, permissions: [web, 'model:ollama']}", &s, &p);
	assert_true(p.resolved.web);
	assert_int_equal(p.resolved.n_host_ports, 1);
	assert_int_equal(p.resolved.host_ports[0], 11434);
	assert_int_equal(p.n_host_ports, 0);
	policy_free(&p);
}

static void resolving_again_replaces_what_was_there(void **state)
{
	struct policy_sources s = sources(claude);
	struct policy p;
	struct err e;

	resolve("network: standard", &s, &p);
	p.network = NET_LOCKED;
	assert_int_equal(policy_resolve(&p, &s, &e), 0);
	assert_string_equal(joined(p.resolved.on), "model model:anthropic");
	assert_int_equal(p.resolved.permissions.n, 1);
	/* an error leaves it as it was */
	assert_int_equal(policy_add_permission(&p, "gitub", &e), 0);
	assert_int_equal(policy_resolve(&p, &s, &e), -1);
	assert_string_equal(joined(p.resolved.on), "model model:anthropic");
	policy_free(&p);
}

static void what_is_not_known_is_named_with_the_nearest(void **state)
{
	struct policy_sources s = sources(claude);

	assert_refused("{permissions: [gitub]}", &s,
		       "permission `gitub` is not known; did you mean `github`?");
	assert_refused("{permissions: ['-install:rst']}", &s, "did you mean `install:rust`?");
	assert_refused("{permissions: [xyzzyxyzzy]}", &s,
		       "`sandgate net permissions` lists those there are");
	assert_refused("{permissions: ['model:azure']}", &s,
		       "has no host by itself: name the resource");
}

static void a_catalogue_that_cannot_be_is_refused(void **state)
{
	const struct permission circle[] = {{.id = "a", .says = "a", .includes = LIST("b")},
					    {.id = "b", .says = "b", .includes = LIST("a")}};
	const struct permission broken[] = {{.id = "a", .says = "a", .rules = LIST("*.com")}};
	const struct preset closed[] = {{.name = "open", .permissions = LIST("a")}};
	struct catalogue c = {.permissions = circle, .n_permissions = 2};
	struct policy_sources s = {.catalogue = &c};

	assert_refused("{network: deny, permissions: [a]}", &s, "includes itself");
	assert_refused("network: locked", &s, "the catalogue has no such preset");
	c = (struct catalogue){.permissions = broken, .n_permissions = 1};
	assert_refused("{network: deny, permissions: [a]}", &s, "permission a: `*.com`");
	c = (struct catalogue){.permissions = broken, .presets = closed, .n_presets = 1};
	assert_refused("network: open", &s, "`open: false`");
}

/* ---- The organisation ---- */

static struct policy_sources under(const char *json, struct organisation *o)
{
	struct policy_sources s = sources(claude);
	struct err e;

	if (organisation_parse(span_of_string(json), "policy.json", &little_catalogue, o, &e))
		fail_msg("%s", e.text);
	s.organisation = o;
	return s;
}

static void the_organisation_takes_permissions_away(void **state)
{
	struct organisation o;
	struct policy_sources s =
		under("{\"permissions_removed\": [\"github\", \"install:rust\"]}", &o);

	assert_on("network: standard", &s,
		  "error-reports install:system model model:anthropic update");
	assert_on("{network: deny, permissions: [install]}", &s, "install:python");
	assert_refused("{permissions: [github]}", &s, "taken away by the organisation's policy");
	assert_refused("{permissions: ['install:rust']}", &s, "taken away by the organisation");
	assert_refused("{permissions: ['github:as-you']}", &s, "`github:as-you` is taken away");
	assert_on("{network: deny, permissions: ['-github']}", &s, "");
	organisation_free(&o);
	s = under("{\"permissions_removed\": [\"install\"]}", &o);
	assert_refused("{permissions: ['install:rust']}", &s, "`install:rust` is taken away");
	organisation_free(&o);
}

static void the_organisation_has_rules(void **state)
{
	struct organisation o;
	struct policy_sources s =
		under("{\"allow\": [\"in.example\"], \"deny\": [\"out.example\"]}", &o);
	struct policy p;

	resolve("network: any", &s, &p);
	assert_string_equal(joined_rules(&p.resolved.organisation), "in.example out.example");
	policy_free(&p);
	organisation_free(&o);
}

static void a_locked_organisation_is_only_narrowed(void **state)
{
	struct organisation o;
	struct policy_sources s = under("{\"locked\": true}", &o);

	assert_on("network: standard", &s,
		  "error-reports github install:rust install:system model model:anthropic update");
	assert_on("network: locked", &s, "model model:anthropic");
	assert_on("network: none", &s, "");
	assert_on("{network: deny, permissions: [github], deny: [a.example]}", &s, "github");
	assert_refused("network: open", &s,
		       "the organisation's policy is locked: network `open` is wider than its "
		       "`standard`");
	assert_refused("network: any", &s, "is locked: network `any` is wider");
	assert_refused("{allow: [a.example]}", &s, "is locked: `a.example` cannot be allowed");
	assert_refused("{permissions: [time]}", &s, "is locked: permission `time` is not among");
	assert_refused("{permissions: ['install:python']}", &s, "permission `install:python`");
	assert_refused("network: bake", &s, "permission `install`");
	assert_refused("{host_ports: [5432]}", &s, "is locked: port 5432 of the host");
	organisation_free(&o);
	s = under("{\"locked\": true, \"default_network\": \"open\"}", &o);
	assert_on("network: open", &s, "model model:anthropic");
	assert_refused("network: any", &s, "wider than its `open`");
	assert_refused("{network: deny, permissions: [github]}", &s, "permission `github`");
	organisation_free(&o);
}

/* ---- The older format ---- */

static void assert_upgraded(const char *yaml, const char *permissions, const char *rules)
{
	struct policy p;
	struct err e;
	struct rule_list own;

	read_policy(yaml, &p);
	if (policy_upgrade(&p, &little_catalogue, &e))
		fail_msg("%s", e.text);
	assert_int_equal(p.format, POLICY_FORMAT_VERSION);
	own = (struct rule_list){.v = p.rules, .n = p.n_rules};
	assert_string_equal(joined(p.permissions), permissions);
	assert_string_equal(joined_rules(&own), rules);
	policy_free(&p);
}

static void hosts_become_the_permissions_they_amount_to(void **state)
{
	assert_upgraded("{version: 0, allow: [pypi.example, files.pypi.example, own.example]}",
			"install:python", "own.example");
	assert_upgraded("{version: 0, allow: ['pypi.example:*', files.pypi.example]}",
			"install:python", "pypi.example:*");
	/* half of a permission is no permission: it would be wider than what was listed */
	assert_upgraded("{version: 0, allow: [pypi.example]}", "", "pypi.example");
	assert_upgraded("{version: 0, allow: ['pypi.example:443', files.pypi.example]}", "",
			"pypi.example:443 files.pypi.example");
	assert_upgraded("{version: 0, allow: ['*.pypi.example', pypi.example]}", "install:python",
			"*.pypi.example");
	/* one that the agent adds to is wider than its rules */
	assert_upgraded("{version: 0, allow: [downloads.example]}", "", "downloads.example");
	/* a deny would win over the permission, however specific the rule was */
	assert_upgraded("{version: 0, allow: [crates.example], deny: ['*.example']}", "",
			"crates.example *.example");
	/* what is of this format stays */
	assert_upgraded("{version: 1, allow: [crates.example]}", "", "crates.example");
}

static void the_older_format_had_no_presets(void **state)
{
	struct policy p;

	read_policy("{version: 0, allow: [a.example]}", &p);
	assert_int_equal(p.format, 0);
	assert_int_equal(p.network, NET_DENY);
	policy_free(&p);
	read_policy("{network: open, version: 0}", &p);
	assert_int_equal(p.network, NET_OPEN);
	policy_free(&p);
	read_policy("{version: 1, allow: [a.example]}", &p);
	assert_int_equal(p.network, NET_STANDARD);
	policy_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_switch_their_permissions_on),
		cmocka_unit_test(the_agent_and_the_languages_fill_their_places),
		cmocka_unit_test(the_list_is_taken_in_order),
		cmocka_unit_test(a_personal_permission_is_on_when_it_is_named),
		cmocka_unit_test(rules_carry_their_permission),
		cmocka_unit_test(web_and_host_ports_are_resolved),
		cmocka_unit_test(resolving_again_replaces_what_was_there),
		cmocka_unit_test(what_is_not_known_is_named_with_the_nearest),
		cmocka_unit_test(a_catalogue_that_cannot_be_is_refused),
		cmocka_unit_test(the_organisation_takes_permissions_away),
		cmocka_unit_test(the_organisation_has_rules),
		cmocka_unit_test(a_locked_organisation_is_only_narrowed),
		cmocka_unit_test(hosts_become_the_permissions_they_amount_to),
		cmocka_unit_test(the_older_format_had_no_presets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
