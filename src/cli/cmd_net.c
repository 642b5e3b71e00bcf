/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net: what a sandbox may do, as a list of switches, and what it was refused lately with the
 * command that allows each.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/known.h"
#include "cli/output.h"
#include "cli/sandbox_policy.h"
#include "cli/seen_log.h"
#include "sandbox/control/client.h"
#include "sandbox/refused.h"
#include "sandbox/run.h"

/* --- the model --- */

static bool is_listed(char *const *list, const char *id)
{
	for (; list && *list; list++)
		if (strcmp(*list, id) == 0)
			return true;
	return false;
}

static json_t *permission_model(const struct sandbox_policy *p, const struct permission *one)
{
	const struct organisation *o = &p->sources.organisation;
	bool removed = o->present && is_listed(o->permissions_removed, one->id);

	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:b}", "id", one->id, "says", one->says, "on",
			 is_listed(p->policy.resolved.on, one->id), "personal", one->personal,
			 "asks", one->asks, "removed", removed);
}

static json_t *permissions_model(const struct sandbox_policy *p)
{
	const struct catalogue *c = p->sources.catalogue;
	json_t *rows = json_array();

	for (size_t i = 0; i < c->n_permissions; i++)
		json_array_append_new(rows, permission_model(p, &c->permissions[i]));
	return rows;
}

static json_t *rules_model(const struct rule *rules, size_t n)
{
	char text[RULE_TEXT_MAX], says[RULE_TEXT_MAX];
	json_t *rows = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:s}", "effect",
						rules[i].effect == EFFECT_ALLOW ? "allow" : "deny",
						"rule", rule_format(&rules[i], text), "says",
						rule_describe(&rules[i], says)));
	return rows;
}

static json_t *host_ports_model(const struct policy *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_host_ports; i++)
		json_array_append_new(list, json_integer(p->host_ports[i]));
	return list;
}

/* By the gate of one that runs, else by its log. 0, or -1 with the message. */
static int find_refused(const char *name, const struct sandbox_policy *p, struct suggestions *s,
			uint64_t *others, struct err *e)
{
	json_t *answer;

	*others = 0;
	if (!p->runs)
		return seen_log_suggest(name, s, others, e);
	answer = client_ask(name, "refusals", e);
	if (!answer)
		return -1;
	*others = refused_read(answer, s);
	json_decref(answer);
	return 0;
}

/* --- for a person --- */

static void print_permission(const struct permission *one, const struct sandbox_policy *p,
			     int width)
{
	const struct organisation *o = &p->sources.organisation;
	bool on = is_listed(p->policy.resolved.on, one->id);

	output_text(on ? "[x] " : "[ ] ", on ? STYLE_GOOD : STYLE_PLAIN);
	printf("%-*s  ", width, one->id);
	output_text(one->says, STYLE_PLAIN);
	if (one->personal)
		output_text(" (uses a credential of yours)", STYLE_HINT);
	if (o->present && is_listed(o->permissions_removed, one->id))
		output_text(" (taken away by your organisation)", STYLE_HINT);
	putchar('\n');
}

static void print_permissions(const struct sandbox_policy *p)
{
	const struct catalogue *c = p->sources.catalogue;
	int width = 0;

	for (size_t i = 0; i < c->n_permissions; i++)
		if ((int)strlen(c->permissions[i].id) > width)
			width = (int)strlen(c->permissions[i].id);
	for (size_t i = 0; i < c->n_permissions; i++)
		print_permission(&c->permissions[i], p, width);
}

static void print_rules(const char *heading, const struct rule *rules, size_t n)
{
	char text[RULE_TEXT_MAX];

	if (n)
		printf("\n%s\n", heading);
	for (size_t i = 0; i < n; i++) {
		bool allow = rules[i].effect == EFFECT_ALLOW;

		output_text(allow ? "  allow  " : "  deny   ", allow ? STYLE_GOOD : STYLE_BAD);
		output_text(rule_format(&rules[i], text), STYLE_PLAIN);
		if (rules[i].detail && rules[i].detail->note) {
			output_text("  # ", STYLE_PLAIN);
			output_text(rules[i].detail->note, STYLE_PLAIN);
		}
		putchar('\n');
	}
}

static void print_remedy(const json_t *row)
{
	const char *remedy = json_string_value(json_object_get(row, "remedy"));

	if (!remedy)
		return;
	output_text("    ", STYLE_PLAIN);
	output_text(remedy, STYLE_STRONG);
	putchar('\n');
}

static void print_refused(const struct suggestions *s, uint64_t others, const char *name)
{
	json_t *rows = refused_model(s, name);

	if (s->n || others)
		puts("\nrefused lately");
	for (size_t i = 0; i < s->n; i++) {
		refused_put(stdout, &s->v[i]);
		print_remedy(json_array_get(rows, i));
	}
	if (others)
		printf("  others (%llu)\n", (unsigned long long)others);
	json_decref(rows);
}

static void print_text(const char *name, const struct sandbox_policy *p,
		       const struct suggestions *refused, uint64_t others)
{
	const struct resolved *r = &p->policy.resolved;

	output_text(name, STYLE_STRONG);
	printf(": %s, generation %llu%s\n", network_base_name(p->policy.network),
	       (unsigned long long)p->generation, p->runs ? "" : ", stopped");
	print_permissions(p);
	print_rules("sites and rules of your own", p->policy.rules, p->policy.n_rules);
	for (size_t i = 0; i < p->policy.n_host_ports; i++)
		printf("%s  allow  host.sandgate.internal:%u\n",
		       i || p->policy.n_rules ? "" : "\nsites and rules of your own\n",
		       (unsigned)p->policy.host_ports[i]);
	print_rules("your organisation's", r->organisation.v, r->organisation.n);
	print_refused(refused, others, name);
}

static void print_json(const char *name, const struct sandbox_policy *p,
		       const struct suggestions *refused, uint64_t others)
{
	const struct resolved *r = &p->policy.resolved;
	json_t *model = json_pack(
		"{s:s, s:b, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "name", name, "runs", p->runs,
		"network", network_base_name(p->policy.network), "generation",
		(json_int_t)p->generation, "permissions", permissions_model(p), "rules",
		rules_model(p->policy.rules, p->policy.n_rules), "host_ports",
		host_ports_model(&p->policy), "organisation",
		rules_model(r->organisation.v, r->organisation.n), "refused",
		refused_model(refused, name), "refused_others", (json_int_t)others);

	output_json(model);
	json_decref(model);
}

/* A word that names no sandbox may be a command that was misspelt. */
static void say_nearest_command(const char *name, struct err *e)
{
	struct nearest near;
	char written[64];

	snprintf(written, sizeof(written), "net %s", name);
	near = nearest_to(written);
	for (size_t i = 0; i < command_count; i++)
		nearest_offer(&near, command_table[i].name);
	if (near.word && strncmp(near.word, "net ", 4) == 0)
		err_set(e, "%s: there is no sandbox of that name; did you mean \"sandgate %s\"?",
			name, near.word);
}

int cmd_net(const struct args *a)
{
	const char *name = a->words[0];
	struct suggestions refused = {.n = 0};
	struct sandbox_policy p;
	struct ruleset *rules;
	uint64_t others;
	struct err e;
	int status = 0;

	if (sandbox_policy_read(name, &p, &e)) {
		struct err ignored;

		if (known_find(name, &ignored) == KNOWN_NOT)
			say_nearest_command(name, &e);
		return cli_fail(EXIT_SANDGATE, &e);
	}
	refused.catalogue = p.sources.catalogue;
	refused.on = p.policy.resolved.on;
	refused.rules = rules = ruleset_compile(&p.policy, p.generation, &e);
	if (!rules || find_refused(name, &p, &refused, &others, &e))
		status = cli_fail(EXIT_SANDGATE, &e);
	else if (args_has(a, NET_JSON))
		print_json(name, &p, &refused, others);
	else
		print_text(name, &p, &refused, others);
	suggest_free(&refused);
	ruleset_free(rules);
	sandbox_policy_free(&p);
	return status;
}
