/* SPDX-License-Identifier: Apache-2.0 */
/* net allow, net deny, net policy: changing what a sandbox may reach, and seeing it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/change_question.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/sandbox_policy.h"
#include "policy/print_yaml.h"
#include "policy/rule.h"
#include "sandbox/name_list.h"
#include "sandbox/run.h"

/* --- the items --- */

static int add_item(void *ctx, const char *item, struct err *e)
{
	struct name_list *l = ctx;

	name_list_add(l, item);
	return l->failed ? err_set(e, "out of memory") : 0;
}

/* Each word may hold several, with commas, as for --allow. NULL words are none. */
static int take_items(const char *const *words, struct name_list *out, struct err *e)
{
	for (; words && *words; words++)
		if (policy_each_item(*words, add_item, out, e))
			return -1;
	return 0;
}

/* --- what is said afterwards --- */

static void say_words(const char *verb, const char *const *words)
{
	if (!words || !*words)
		return;
	output_text(verb, STYLE_PLAIN);
	for (const char *const *w = words; *w; w++) {
		output_text(w == words ? " " : ", ", STYLE_PLAIN);
		output_text(*w, STYLE_PLAIN);
	}
	output_text("; ", STYLE_PLAIN);
}

static void say_change(const char *name, const struct change_request *r, const json_t *answer)
{
	bool changed = json_is_true(json_object_get(answer, "changed"));

	output_text(name, STYLE_STRONG);
	output_text(": ", STYLE_PLAIN);
	if (r->change.preset) {
		output_text(r->change.preset, STYLE_PLAIN);
		output_text("; ", STYLE_PLAIN);
	}
	say_words("allowed", r->change.allow);
	say_words("denied", r->change.deny);
	say_words("taken out", r->change.remove);
	if (r->dry_run)
		output_text(changed ? "this would change the policy, and nothing was done; "
				    : "this would change nothing; ",
			    STYLE_PLAIN);
	else if (!changed)
		output_text("it was so already; ", STYLE_PLAIN);
	if (r->dry_run && changed) {
		output_text("it would be ", STYLE_PLAIN);
		output_text(json_string_value(json_object_get(answer, "policy")), STYLE_PLAIN);
		output_text(", ", STYLE_PLAIN);
	}
	printf("generation %" JSON_INTEGER_FORMAT "\n",
	       json_integer_value(json_object_get(answer, "generation")));
}

static int change(const char *name, const struct change_request *r, bool yes, bool as_json)
{
	struct err e;
	int status = change_question_ask(name, r, yes, &e);
	json_t *answer = status ? NULL : sandbox_policy_change(name, r, &status, &e);

	if (!answer)
		return cli_fail(status, &e);
	if (as_json) {
		json_object_set_new(answer, "name", json_string(name));
		output_json(answer);
	} else {
		say_change(name, r, answer);
	}
	json_decref(answer);
	return 0;
}

/* `words` may hold commas; `r` gets the items of them in the place of its own. */
static int change_items(const char *name, const char *const *allow, const char *const *deny,
			struct change_request *r, bool yes, bool as_json)
{
	struct name_list allowed = {.v = NULL}, denied = {.v = NULL};
	struct err e;
	int status;

	if (take_items(allow, &allowed, &e) || take_items(deny, &denied, &e)) {
		status = cli_fail(EXIT_USAGE, &e);
	} else {
		r->change.allow = (const char *const *)allowed.v;
		r->change.deny = (const char *const *)denied.v;
		status = change(name, r, yes, as_json);
	}
	name_list_free(allowed.v);
	name_list_free(denied.v);
	return status;
}

/* The words after the name. */
static const char *const *items_of(const struct args *a)
{
	return (const char *const *)a->words + 1;
}

int cmd_net_allow(const struct args *a)
{
	struct change_request r = {.dry_run = false};

	return change_items(a->words[0], items_of(a), NULL, &r, args_has(a, NET_ALLOW_YES),
			    args_has(a, NET_ALLOW_JSON));
}

int cmd_net_deny(const struct args *a)
{
	struct change_request r = {.dry_run = false};

	return change_items(a->words[0], NULL, items_of(a), &r, false, args_has(a, NET_DENY_JSON));
}

/* --- the policy in force --- */

/* The wire form has both: the person's words, and under a key of its own what they stand for. */
static json_t *policy_model(const char *name, const struct sandbox_policy *p)
{
	char *text = policy_print_wire(&p->policy);
	json_t *words = text ? json_loads(text, 0, NULL) : NULL, *resolved, *model;

	free(text);
	resolved = json_incref(json_object_get(words, "resolved"));
	json_object_del(words, "resolved");
	model = json_pack("{s:s, s:b, s:I, s:s, s:o, s:o}", "name", name, "runs", p->runs,
			  "generation", (json_int_t)p->generation, "network",
			  network_base_name(p->policy.network), "policy", words, "resolved",
			  resolved ? resolved : json_object());
	return model;
}

static void print_rules(const char *heading, const struct rule_list *list, const char *permission)
{
	char text[RULE_TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct rule *r = &list->v[i];

		if (permission && strcmp(r->detail->permission, permission) != 0)
			continue;
		printf("%s%s", n ? ", " : "  ", n ? "" : heading);
		n++;
		if (!permission && r->effect == EFFECT_DENY)
			fputs("not ", stdout);
		output_text(rule_format(r, text), STYLE_PLAIN);
	}
	if (n)
		putchar('\n');
}

/* What the words stand for, a permission a line. */
static void print_resolved(const struct resolved *r)
{
	char heading[128];

	if (r->permissions.n || r->organisation.n)
		fputs("which stands for\n", stdout);
	for (char *const *id = r->on; id && *id; id++) {
		snprintf(heading, sizeof(heading), "%s: ", *id);
		print_rules(heading, &r->permissions, *id);
	}
	print_rules("the organisation: ", &r->organisation, NULL);
}

static int show(const char *name, bool as_json)
{
	struct sandbox_policy p;
	struct err e;
	char *yaml;

	if (sandbox_policy_read(name, &p, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	if (as_json) {
		json_t *model = policy_model(name, &p);

		output_json(model);
		json_decref(model);
	} else {
		yaml = policy_print_yaml(&p.policy);
		output_text(name, STYLE_STRONG);
		printf(": generation %llu%s\n", (unsigned long long)p.generation,
		       p.runs ? "" : ", stopped");
		output_text(yaml, STYLE_PLAIN);
		print_resolved(&p.policy.resolved);
		free(yaml);
	}
	sandbox_policy_free(&p);
	return 0;
}

int cmd_net_policy(const struct args *a)
{
	const char *const *allow = args_values(a, NET_POLICY_ALLOW);
	const char *const *deny = args_values(a, NET_POLICY_DENY);
	struct change_request r = {
		.change = {.remove = args_values(a, NET_POLICY_REMOVE),
			   .preset = args_value(a, NET_POLICY_PRESET)},
		.dry_run = args_has(a, NET_POLICY_DRY_RUN),
	};
	bool as_json = args_has(a, NET_POLICY_JSON);
	struct err e;

	if (allow || deny || r.change.remove || r.change.preset)
		return change_items(a->words[0], allow, deny, &r, args_has(a, NET_POLICY_YES),
				    as_json);
	if (!r.dry_run)
		return show(a->words[0], as_json);
	err_set(&e, "net policy: --dry-run needs a change to try; add --allow, --deny, --remove or "
		    "--preset");
	return cli_fail(EXIT_USAGE, &e);
}
