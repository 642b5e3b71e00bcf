/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_example WORD...: exits 0 when `sandgate WORD...` is a command line that would be taken.
 *
 * `run` makes its policy as well; nothing is started. The examples of the documents are tested with
 * it, and the rows of their tables.
 */
#include "cli/cli.h"
#include "cli/run_words.h"

static int parse(int argc, char **argv, struct args *a, struct err *e)
{
	size_t used;
	const struct command *c = command_find((size_t)argc, argv, &used, e);

	return c ? args_parse(c, argv + used, a, e) : -1;
}

/* With the catalogue that is built in, and as if every question were answered with yes. */
static int make_policy(const struct args *a, struct err *e)
{
	struct policy_words words = run_words_policy(a);
	struct sources s = {.catalogue = catalogue_builtin()};
	struct run_policy p;

	settings_init(&s.settings);
	words.yes = !words.unattended;
	if (run_policy_parse(&words, &s, &p, e))
		return -1;
	run_policy_free(&p);
	return 0;
}

int main(int argc, char **argv)
{
	struct args a = {0};
	struct err e;

	if (argc < 2 || parse(argc - 1, argv + 1, &a, &e))
		return cli_fail(2, &e);
	if (a.command->run == cmd_run && make_policy(&a, &e))
		return cli_fail(2, &e);
	args_free(&a);
	return 0;
}
