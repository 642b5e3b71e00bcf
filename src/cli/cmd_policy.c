/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/policy_file.h"
#include "policy/credential_use.h"
#include "sandbox/run.h"
#include "sandbox/settings/sources.h"

/* As `run --policy` would: parsed, valid as a whole, its permissions known, and it compiles. */
static int load(const char *path, const struct sources *from, struct policy *p, struct err *note,
		struct err *e)
{
	struct policy_sources s = sources_for(from, NULL, NULL);
	struct ruleset *rs;

	if (policy_file_read(path, s.catalogue, p, NULL, e))
		return -1;
	if (policy_validate(p, e) || policy_resolve(p, &s, e))
		return err_prefix(e, "%s", policy_file_name(path));
	rs = ruleset_compile(p, 1, e);
	if (!rs)
		return -1;
	note->text[0] = 0;
	(void)credentials_note_idle(rs, note);
	ruleset_free(rs);
	return 0;
}

static json_t *rule_model(const struct rule *r)
{
	char text[RULE_TEXT_MAX], says[RULE_TEXT_MAX];

	return json_pack("{s:s, s:s, s:s}", "effect", r->effect == EFFECT_ALLOW ? "allow" : "deny",
			 "rule", rule_format(r, text), "says", rule_describe(r, says));
}

/* The canonical form without what the model shows by itself. */
static json_t *settings_model(const struct policy *p)
{
	static const char *const shown[] = {"version", "network", "permissions", "allow", "deny"};
	char *text = policy_print_json(p);
	json_t *settings = text ? json_loads(text, 0, NULL) : NULL;

	free(text);
	for (size_t i = 0; settings && i < sg_array_len(shown); i++)
		json_object_del(settings, shown[i]);
	return settings ? settings : json_object();
}

/* What is on, whichever agent runs: the base's and those that the file names. */
static json_t *permissions_model(const struct policy *p, const struct catalogue *c)
{
	json_t *list = json_array();

	for (char **id = p->resolved.on; id && *id; id++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "id", *id, "says",
						      catalogue_permission(c, *id)->says));
	return list;
}

static json_t *valid_model(const char *path, const struct policy *p, const struct catalogue *c,
			   const struct err *note)
{
	json_t *rules = json_array();

	for (size_t i = 0; i < p->n_rules; i++)
		json_array_append_new(rules, rule_model(&p->rules[i]));
	return json_pack("{s:s, s:b, s:n, s:s?, s:s, s:o, s:o, s:o}", "file", path, "valid", 1,
			 "error", "note", note->text[0] ? note->text : NULL, "network",
			 network_base_name(p->network), "permissions", permissions_model(p, c),
			 "rules", rules, "settings", settings_model(p));
}

static json_t *invalid_model(const char *path, const struct err *e)
{
	return json_pack("{s:s, s:b, s:s, s:n, s:n, s:[], s:[], s:{}}", "file", path, "valid", 0,
			 "error", e->text, "note", "network", "permissions", "rules", "settings");
}

static enum style effect_style(const json_t *effect)
{
	return strcmp(json_string_value(effect), "allow") == 0 ? STYLE_GOOD : STYLE_BAD;
}

/* As a policy file has it: "quic: allow". */
static void print_setting(const char *key, const json_t *value)
{
	const char *word = json_string_value(value);
	char *text = word ? NULL : json_dumps(value, JSON_ENCODE_ANY);

	if (!word && !text)
		die(EXIT_SANDGATE, "out of memory");
	output_text(key, STYLE_PLAIN);
	output_text(": ", STYLE_PLAIN);
	output_text(word ? word : text, STYLE_PLAIN);
	output_text("\n", STYLE_PLAIN);
	free(text);
}

static void print_settings(const json_t *settings)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)settings, key, value) print_setting(key, value);
}

static void print_note(const char *note)
{
	if (!note)
		return;
	output_text("note: ", STYLE_PLAIN);
	output_text(note, STYLE_PLAIN);
	output_text("\n", STYLE_PLAIN);
}

static void print_text(const json_t *model)
{
	static const struct column columns[] = {
		{.key = "effect", .style = effect_style},
		{.key = "rule"},
		{.key = "says"},
	};
	static const struct column permissions[] = {{.key = "id"}, {.key = "says"}};
	const char *file = json_string_value(json_object_get(model, "file"));

	output_text(policy_file_name(file), STYLE_STRONG);
	output_text(": valid\nnetwork: ", STYLE_PLAIN);
	output_text(json_string_value(json_object_get(model, "network")), STYLE_PLAIN);
	output_text("\n", STYLE_PLAIN);
	output_table(json_object_get(model, "permissions"), permissions, sg_array_len(permissions));
	output_table(json_object_get(model, "rules"), columns, sg_array_len(columns));
	print_settings(json_object_get(model, "settings"));
	print_note(json_string_value(json_object_get(model, "note")));
}

static int check(const char *path, const struct sources *from, bool as_json)
{
	struct policy p;
	struct err note, e;
	bool valid = load(path, from, &p, &note, &e) == 0;
	json_t *model =
		valid ? valid_model(path, &p, from->catalogue, &note) : invalid_model(path, &e);

	if (as_json)
		output_json(model);
	else if (valid)
		print_text(model);
	json_decref(model);
	policy_free(&p);
	if (valid)
		return 0;
	return as_json ? EXIT_USAGE : cli_fail(EXIT_USAGE, &e);
}

int cmd_policy_check(const struct args *a)
{
	struct sources from;
	struct err e;
	int status;

	if (sources_read(&from, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = check(a->words[0], &from, args_has(a, POLICY_CHECK_JSON));
	sources_free(&from);
	return status;
}
