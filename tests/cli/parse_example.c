/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_example WORD...: exits 0 when `sandgate WORD...` is a command line that would be taken.
 *
 * `run` makes its policy as well; nothing is started. The examples of the documents are tested with
 * it, and the rows of their tables.
 */
#include "cli/cli.h"
#include "cli/run_policy.h"

static int parse(int argc, char **argv, struct args *a, struct err *e)
{
	size_t used;
	const struct command *c = command_find((size_t)argc, argv, &used, e);

	return c ? args_parse(c, argv + used, a, e) : -1;
}

int main(int argc, char **argv)
{
	struct args a = {0};
	struct policy p;
	struct err e;

	if (argc < 2 || parse(argc - 1, argv + 1, &a, &e))
		return cli_fail(2, &e);
	if (a.command->run == cmd_run) {
		if (run_policy_build(&a, &p, &e))
			return cli_fail(2, &e);
		policy_free(&p);
	}
	args_free(&a);
	return 0;
}
