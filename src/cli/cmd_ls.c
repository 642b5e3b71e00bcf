/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/client.h"
#include "sandbox/run.h"

static const char *const row_keys[] = {
	"name", "network", "engine", "uptime_s", "flows_open", "refused", "generation",
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

/* NULL with the message. A sandbox that ends while it is asked is no longer one that runs. */
static json_t *list_model(struct err *e)
{
	char **names = client_list_names(e);
	json_t *rows;

	if (!names)
		return NULL;
	rows = json_array();
	for (size_t i = 0; names[i]; i++) {
		json_t *answer = client_ask(names[i], "ls", e);

		if (answer)
			json_array_append_new(rows, row_model(answer));
		json_decref(answer);
	}
	client_free_names(names);
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
