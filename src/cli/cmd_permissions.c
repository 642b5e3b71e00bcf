/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_permissions: what the catalogue has, for a person who decides. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/permission_model.h"
#include "policy/quote.h"
#include "policy/strings.h"
#include "sandbox/settings/project.h"
#include "sandbox/run.h"
#include "sandbox/settings/sources.h"

/* ---- All of them ---- */

/* What stands together, by the first word of the id. */
static const struct {
	const char *heading;
	const char *words[6];
} groups[] = {
	{"models", {"model"}},
	{"the agent's own", {"sign-in", "update", "error-reports"}},
	{"packages", {"install", "publish"}},
	{"code", {"github", "gitlab", "bitbucket", "huggingface"}},
	{"anything else", {NULL}},
};

static bool begins_with_word(const char *id, const char *word)
{
	size_t n = strlen(word);

	return strncmp(id, word, n) == 0 && (!id[n] || id[n] == ':');
}

static size_t group_of(const char *id)
{
	size_t last = sg_array_len(groups) - 1;

	for (size_t g = 0; g < last; g++)
		for (size_t i = 0; i < sg_array_len(groups[g].words) && groups[g].words[i]; i++)
			if (begins_with_word(id, groups[g].words[i]))
				return g;
	return last;
}

/* Why a permission is off, where more than a switch is behind it. */
static const char *state_word(const struct permission_view *v, const struct permission *p)
{
	if (permission_is_on(v, p))
		return "on";
	if (permission_is_removed(v, p))
		return "removed";
	if (p->asks)
		return "asks";
	return p->personal ? "yours" : "";
}

static json_t *row_of(const struct permission_view *v, const struct permission *p)
{
	return json_pack("{s:s, s:s, s:s}", "state", state_word(v, p), "id", p->id, "says",
			 p->says);
}

static enum style state_style(const json_t *state)
{
	return strncmp(json_string_value(state), "on", 2) == 0 ? STYLE_GOOD : STYLE_HINT;
}

/* Padded alike in every group, so that the sentences stand under each other. */
static void pad(json_t *row, const char *key, size_t most)
{
	char text[80];

	snprintf(text, sizeof(text), "%-*s", (int)most,
		 json_string_value(json_object_get(row, key)));
	json_object_set_new(row, key, json_string(text));
}

static void print_group(const struct permission_view *v, size_t group, size_t most)
{
	static const struct column columns[] = {
		{.key = "state", .style = state_style},
		{.key = "id"},
		{.key = "says"},
	};
	json_t *rows = json_array(), *row;

	for (size_t i = 0; i < v->catalogue->n_permissions; i++) {
		if (group_of(v->catalogue->permissions[i].id) != group)
			continue;
		row = row_of(v, &v->catalogue->permissions[i]);
		pad(row, "state", strlen("removed"));
		pad(row, "id", most);
		json_array_append_new(rows, row);
	}
	if (json_array_size(rows)) {
		output_text(groups[group].heading, STYLE_STRONG);
		output_text("\n", STYLE_PLAIN);
		output_table(rows, columns, sg_array_len(columns));
		output_text("\n", STYLE_PLAIN);
	}
	json_decref(rows);
}

static void print_presets(const struct catalogue *c)
{
	static const struct column columns[] = {{.key = "name"}, {.key = "says"}};
	json_t *rows = json_array();

	for (size_t i = 0; i < c->n_presets; i++)
		json_array_append_new(rows, json_pack("{s:s, s:s}", "name", c->presets[i].name,
						      "says", c->presets[i].says));
	output_text("presets\n", STYLE_STRONG);
	output_table(rows, columns, sg_array_len(columns));
	json_decref(rows);
}

static void print_all(const struct permission_view *v)
{
	size_t most = 0;

	for (size_t i = 0; i < v->catalogue->n_permissions; i++) {
		size_t n = strlen(v->catalogue->permissions[i].id);

		most = n > most ? n : most;
	}
	for (size_t g = 0; g < sg_array_len(groups); g++)
		print_group(v, g, most);
	print_presets(v->catalogue);
	output_text(
		"\non: in the preset `standard`, for the project in this folder; yours: with your "
		"credential\ncatalogue ",
		STYLE_PLAIN);
	output_text(v->catalogue->version, STYLE_PLAIN);
	output_text("; `sandgate net permissions ID` shows hosts and operations\n", STYLE_PLAIN);
}

/* ---- One of them ---- */

static void print_line(const char *label, const char *text)
{
	output_text(label, STYLE_PLAIN);
	output_text(text, STYLE_PLAIN);
	output_text("\n", STYLE_PLAIN);
}

static void print_head(const struct permission_view *v, const struct permission *p)
{
	output_text(p->id, STYLE_STRONG);
	print_line(": ", p->says);
	if (p->warning)
		print_line("asks first: ", p->warning);
	if (p->instead)
		print_line("no host by itself: ", p->instead);
	if (p->personal)
		print_line("yours: ", "with your credential, added outside of the sandbox");
	if (permission_is_removed(v, p))
		print_line("removed: ", "the organisation's policy has taken it away");
}

static void print_presets_with(const struct catalogue *c, const struct permission *p)
{
	const char *comma = "";

	output_text("in the presets: ", STYLE_PLAIN);
	for (size_t i = 0; i < c->n_presets; i++) {
		if (!catalogue_preset_has(c, &c->presets[i], p->id))
			continue;
		output_text(comma, STYLE_PLAIN);
		output_text(c->presets[i].name, STYLE_PLAIN);
		comma = ", ";
	}
	output_text(*comma ? "\n" : "none\n", STYLE_PLAIN);
}

static void print_list(const char *heading, const char *const *strings)
{
	if (!strings || !*strings)
		return;
	output_text(heading, STYLE_STRONG);
	output_text("\n", STYLE_PLAIN);
	for (; *strings; strings++)
		print_line("  ", *strings);
}

/* What three permissions stand for depends on the agent that runs. */
static void print_agents(const struct catalogue *c, const struct permission *p)
{
	for (size_t i = 0; i < c->n_agents; i++) {
		const struct agent *a = &c->agents[i];
		char heading[128];

		snprintf(heading, sizeof(heading), "when %s runs", a->name);
		if (strcmp(p->id, "model") == 0)
			print_list(heading, a->model);
		else if (strcmp(p->id, "update") == 0)
			print_list(heading, a->update);
		else if (strcmp(p->id, "sign-in") == 0)
			print_list(heading, a->sign_in);
	}
}

static void print_joined(const json_t *strings, const char *between)
{
	const json_t *one;
	size_t i;

	json_array_foreach(strings, i, one)
	{
		output_text(i ? between : "", STYLE_PLAIN);
		output_text(json_string_value(one), STYLE_PLAIN);
	}
}

static void print_operation(const json_t *o)
{
	const char *host = json_string_value(json_object_get(o, "host"));
	const char *check = json_string_value(json_object_get(o, "check"));
	const json_t *methods = json_object_get(o, "methods");
	bool write = json_is_true(json_object_get(o, "write"));

	output_text("  ", STYLE_PLAIN);
	output_text(host ? host : "each host", STYLE_PLAIN);
	output_text(": ", STYLE_PLAIN);
	output_text(json_string_value(json_object_get(o, "says")), write ? STYLE_BAD : STYLE_PLAIN);
	output_text(write ? " (writes)\n    " : "\n    ", STYLE_PLAIN);
	if (json_is_array(methods))
		print_joined(methods, ", ");
	else
		output_text("every method", STYLE_PLAIN);
	if (json_is_array(json_object_get(o, "paths"))) {
		output_text(" ", STYLE_PLAIN);
		print_joined(json_object_get(o, "paths"), " ");
	}
	if (check) {
		output_text(", checked as ", STYLE_PLAIN);
		output_text(check, STYLE_PLAIN);
	}
	output_text("\n", STYLE_PLAIN);
}

static void print_operations(const json_t *operations)
{
	const json_t *one;
	size_t i;

	if (!json_array_size(operations))
		return;
	output_text("operations\n", STYLE_STRONG);
	json_array_foreach(operations, i, one) print_operation(one);
	output_text("A request to such a host that is none of these is refused.\n", STYLE_HINT);
}

static void print_hosts(const struct permission_view *v, const struct permission *p)
{
	json_t *hosts = permission_hosts(v->catalogue, p);
	const json_t *one;
	size_t i;

	if (json_array_size(hosts))
		output_text("hosts\n", STYLE_STRONG);
	json_array_foreach(hosts, i, one) print_line("  ", json_string_value(one));
	json_decref(hosts);
}

static void print_one(const struct permission_view *v, const struct permission *p)
{
	json_t *model = permission_model(v, p);

	print_head(v, p);
	print_presets_with(v->catalogue, p);
	print_list("includes", p->includes);
	print_hosts(v, p);
	print_agents(v->catalogue, p);
	print_operations(json_object_get(model, "operations"));
	json_decref(model);
}

/* ---- The command ---- */

static int refuse_unknown(const struct catalogue *c, const char *id)
{
	const char *near = catalogue_nearest(c, id);
	char shown[QUOTE_MAX];
	struct err e;

	quote_string(id, shown);
	if (near && catalogue_permission(c, near))
		err_set(&e, "net permissions: %s is no permission; did you mean `%s`?", shown,
			near);
	else
		err_set(&e, "net permissions: %s is no permission; without an ID all are listed",
			shown);
	return cli_fail(EXIT_USAGE, &e);
}

static json_t *list_model(const struct permission_view *v, const struct permission *only)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->catalogue->n_permissions; i++) {
		const struct permission *p = &v->catalogue->permissions[i];

		if (!only || p == only)
			json_array_append_new(list, permission_model(v, p));
	}
	return list;
}

static int show(const struct permission_view *v, const char *id, bool as_json)
{
	const struct permission *p = id ? catalogue_permission(v->catalogue, id) : NULL;
	json_t *model;

	if (id && !p)
		return refuse_unknown(v->catalogue, id);
	if (as_json) {
		model = list_model(v, p);
		output_json(model);
		json_decref(model);
	} else if (p) {
		print_one(v, p);
	} else {
		print_all(v);
	}
	return 0;
}

int cmd_net_permissions(const struct args *a)
{
	struct permission_view v;
	struct sources s;
	struct err e;
	int status;

	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	v = (struct permission_view){.catalogue = s.catalogue,
				     .languages = project_languages(s.catalogue, "."),
				     .removed = s.organisation.permissions_removed};
	status = show(&v, a->n_words ? a->words[0] : NULL, args_has(a, NET_PERMISSIONS_JSON));
	string_list_free(v.languages);
	sources_free(&s);
	return status;
}
