/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/run.h"

int cmd_help(const struct args *a)
{
	const struct command *c;
	struct err e;
	size_t used;

	if (a->n_words == 0) {
		fputs(command_overview, stdout);
		return 0;
	}
	if (a->n_words == 1 && command_is_group(a->words[0])) {
		command_print_group(stdout, a->words[0]);
		return 0;
	}
	c = command_find(a->n_words, a->words, &used, &e);
	if (!c)
		return cli_fail(EXIT_USAGE, &e);
	fputs(c->help, stdout);
	return 0;
}

int cmd_version(const struct args *a)
{
	json_t *model;

	if (!args_has(a, VERSION_JSON)) {
		printf("sandgate %s\n", SANDGATE_VERSION);
		return 0;
	}
	model = json_pack("{s:s}", "version", SANDGATE_VERSION);
	output_json(model);
	json_decref(model);
	return 0;
}
