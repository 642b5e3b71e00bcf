/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/control/client.h"
#include "sandbox/definition.h"
#include "sandbox/engine/engine.h"
#include "sandbox/name_list.h"
#include "sandbox/run.h"
#include "sandbox/state_dir.h"

static const char *const row_keys[] = {
	"name", "network", "engine", "uptime_s", "flows_open", "refused", "generation", "state",
};

/* The documented keys and no other, in their order. */
static json_t *row_model(const json_t *answer)
{
	json_t *row = json_object();

	for (size_t i = 0; i < sg_array_len(row_keys); i++) {
		json_t *value = json_object_get(answer, row_keys[i]);

		json_object_set_new(row, row_keys[i], value ? json_incref(value) : json_null());
	}
	return row;
}

/* Of an answer, which is consumed. NULL when there is none: it has ended while it was asked. */
static json_t *running_row(json_t *answer)
{
	json_t *row;

	if (!json_object_get(answer, "name")) {
		json_decref(answer);
		return NULL;
	}
	json_object_set_new(
		answer, "state",
		json_string(json_object_get(answer, "exposed") ? "exposed" : "running"));
	row = row_model(answer);
	json_decref(answer);
	return row;
}

/* One whose definition cannot be read is there all the same. */
static json_t *stopped_row(const char *name)
{
	struct definition d;
	struct err ignored;
	int rc = definition_load(name, &d, &ignored);
	json_t *row;

	if (rc == 0)
		row = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:s}", "name", name, "network",
				network_base_name(d.policy.network), "engine",
				engine_name(d.engine), "uptime_s", 0, "flows_open", 0, "refused", 0,
				"generation", (json_int_t)d.generation, "state", "stopped");
	else
		row = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:s}", "name", name, "network",
				"?", "engine", "?", "uptime_s", 0, "flows_open", 0, "refused", 0,
				"generation", 0, "state", "stopped");
	definition_free(&d);
	return row;
}

/* One that has ended while it was asked is one that is kept, or none. */
static void add_row(json_t *rows, json_t *answer, const char *kept)
{
	json_t *row = running_row(answer);

	if (!row && kept)
		row = stopped_row(kept);
	if (row)
		json_array_append_new(rows, row);
}

/* Both lists are sorted, and what is in both runs. Consumes the answers. */
static json_t *merge(char *const *running, json_t **answers, char *const *kept)
{
	json_t *rows = json_array();

	while (*running || *kept) {
		int order = !*running ? 1 : !*kept ? -1 : strcmp(*running, *kept);

		add_row(rows, order <= 0 ? *answers++ : NULL, order >= 0 ? *kept : NULL);
		if (order >= 0)
			kept++;
		if (order <= 0)
			running++;
	}
	return rows;
}

static json_t *ask_and_merge(char *const *running, char *const *kept)
{
	size_t n = 0;
	json_t **answers, *rows;

	while (running[n])
		n++;
	answers = calloc(n + 1, sizeof(*answers));
	if (!answers)
		return NULL;
	client_ask_all(running, n, "ls", answers);
	rows = merge(running, answers, kept);
	free(answers);
	return rows;
}

/* NULL with the message. */
static json_t *list_model(struct err *e)
{
	char **running = client_list_names(e);
	char **kept = running ? state_dir_list(e) : NULL;
	json_t *rows = kept ? ask_and_merge(running, kept) : NULL;

	if (kept && !rows)
		err_set(e, "out of memory");
	name_list_free(running);
	name_list_free(kept);
	return rows;
}

static void uptime_words(const json_t *seconds, char *out, size_t n)
{
	long long s = json_integer_value(seconds);

	if (s >= 86400)
		snprintf(out, n, "%lldd%02lldh", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(out, n, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(out, n, "%lldm%02llds", s / 60, s % 60);
	else
		snprintf(out, n, "%llds", s);
}

int cmd_ls(const struct args *a)
{
	static const struct column columns[] = {
		{.key = "name", .heading = "NAME"},
		{.key = "state", .heading = "STATE"},
		{.key = "network", .heading = "NETWORK"},
		{.key = "engine", .heading = "ENGINE"},
		{.key = "uptime_s", .heading = "UPTIME", .right = true, .words = uptime_words},
		{.key = "flows_open", .heading = "FLOWS", .right = true},
		{.key = "refused", .heading = "REFUSED", .right = true},
	};
	struct err e;
	json_t *rows = list_model(&e);

	if (!rows)
		return cli_fail(EXIT_SANDGATE, &e);
	if (args_has(a, LS_JSON))
		output_json(rows);
	else if (json_array_size(rows))
		output_table(rows, columns, sg_array_len(columns));
	json_decref(rows);
	return 0;
}
