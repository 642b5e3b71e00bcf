/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/log/host_log.h"
#include "sandbox/person.h"
#include "sandbox/run.h"
#include "sandbox/settings/settings_file.h"
#include "sandbox/settings/sources.h"
#include "sandbox/who.h"

static const char *const from_words[] = {
	[SETTING_DEFAULT] = "default", [SETTING_SYSTEM] = "system", [SETTING_PERSON] = "own"};

static json_t *model_of(const struct settings *s, size_t key)
{
	return json_pack("{s:s, s:o, s:s}", "key", settings_key(key), "value",
			 settings_value(s, key), "from", from_words[s->from[key]]);
}

/* --- get, list --- */

int cmd_config_get(const struct args *a)
{
	_cleanup_free_ char *text = NULL;
	struct settings s;
	struct err e;
	int key = settings_find(a->words[0], &e);
	json_t *model;

	if (key < 0)
		return cli_fail(EXIT_USAGE, &e);
	if (settings_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	text = settings_value_text(&s, (size_t)key);
	model = model_of(&s, (size_t)key);
	if (args_has(a, CONFIG_GET_JSON)) {
		output_json(model);
	} else {
		output_text(text, STYLE_PLAIN);
		output_text("\n", STYLE_PLAIN);
	}
	json_decref(model);
	settings_free(&s);
	return 0;
}

static void value_words(const json_t *value, char *out, size_t n)
{
	size_t i, used = 0;
	const json_t *one;

	*out = 0;
	if (json_is_integer(value))
		snprintf(out, n, "%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		snprintf(out, n, "%s", json_string_value(value));
	json_array_foreach(value, i, one) if (used < n) used += (size_t)snprintf(
		out + used, n - used, "%s%s", i ? "," : "", json_string_value(one));
}

int cmd_config_list(const struct args *a)
{
	static const struct column columns[] = {
		{.key = "key", .heading = "SETTING"},
		{.key = "from", .heading = "FROM"},
		{.key = "value", .heading = "VALUE", .words = value_words},
	};
	struct settings s;
	struct err e;
	json_t *rows;

	if (settings_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	rows = json_array();
	for (size_t i = 0; i < settings_n_keys; i++)
		if (settings_key(i))
			json_array_append_new(rows, model_of(&s, i));
	if (args_has(a, CONFIG_LIST_JSON))
		output_json(rows);
	else
		output_table(rows, columns, sg_array_len(columns));
	json_decref(rows);
	settings_free(&s);
	return 0;
}

/* --- set, unset --- */

/* Ids that the catalogue has, in words that a policy takes. */
static int check_permissions(const struct sources *s, const struct settings *wanted, struct err *e)
{
	struct policy p;
	int rc = 0;

	policy_init(&p);
	for (char *const *id = wanted->permissions; rc == 0 && id && *id; id++)
		rc = policy_add_item(&p, s->catalogue, EFFECT_ALLOW, *id, e);
	policy_free(&p);
	return rc ? err_prefix(e, "defaults.permissions") : 0;
}

/* The value can be used: as settings alone, and with the catalogue. */
static int check_value(size_t key, const char *value, struct err *e)
{
	struct settings wanted;
	struct sources s;
	int rc;

	settings_init(&wanted);
	if (settings_set(&wanted, key, value, e))
		return EXIT_USAGE;
	rc = sources_read(&s, e) ? EXIT_SANDGATE : 0;
	if (rc == 0) {
		rc = check_permissions(&s, &wanted, e) ? EXIT_USAGE : 0;
		sources_free(&s);
	}
	settings_free(&wanted);
	return rc;
}

static char *value_now(size_t key, struct err *e)
{
	struct settings s;
	char *text;

	if (settings_read(&s, e))
		return NULL;
	text = settings_value_text(&s, key);
	settings_free(&s);
	if (!text)
		err_set(e, "out of memory");
	return text;
}

static int note_change(size_t key, const char *before, const char *after, struct err *e)
{
	json_t *entry = json_pack("{s:s, s:o, s:s, s:s, s:s}", "action", "sandgate.setting.change",
				  "who", who_json(person_uid()), "name", settings_key(key),
				  "before", before, "after", after);

	if (entry && host_log_append(entry, e) == 0)
		return 0;
	if (!entry)
		err_set(e, "out of memory");
	return err_prefix(e, "%s is changed, but the host's log could not take it",
			  settings_key(key));
}

/* `value` NULL takes the key out. */
static int change(const char *name, const char *value)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	struct err e;
	int key = settings_find(name, &e), status;
	bool changed;

	if (key < 0)
		return cli_fail(EXIT_USAGE, &e);
	status = value ? check_value((size_t)key, value, &e) : 0;
	if (status)
		return cli_fail(status, &e);
	before = value_now((size_t)key, &e);
	if (!before || settings_file_set((size_t)key, value, &changed, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	if (!changed)
		return 0;
	after = value_now((size_t)key, &e);
	if (!after || note_change((size_t)key, before, after, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	return 0;
}

int cmd_config_set(const struct args *a)
{
	return change(a->words[0], a->words[1]);
}

int cmd_config_unset(const struct args *a)
{
	return change(a->words[0], NULL);
}
