/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "sandbox/run.h"

int cli_fail(int status, const struct err *e)
{
	fflush(stdout);
	fprintf(stderr, "sandgate: %s\n", e->text);
	return status;
}

static int run_command(const struct command *c, char *const *argv)
{
	struct args a;
	struct err e;
	int status;

	if (args_parse(c, argv, &a, &e))
		status = cli_fail(EXIT_USAGE, &e);
	else if (a.help)
		status = fputs(c->help, stdout) < 0 ? EXIT_SANDGATE : 0;
	else
		status = c->run(&a);
	args_free(&a);
	return status;
}

/* What stands before any command: nothing, --help, --version. */
static const char *spelled_as_option(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return "help";
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return "version";
	return word;
}

static bool wants_group(int argc, char **argv)
{
	return argc > 2 && command_is_group(argv[1]) &&
	       strcmp(spelled_as_option(argv[2]), "help") == 0;
}

int cli_main(int argc, char **argv)
{
	const struct command *c;
	struct err e;
	size_t used;
	int status;

	if (argc < 2) {
		fputs(command_overview, stderr);
		return EXIT_USAGE;
	}
	argv[1] = (char *)spelled_as_option(argv[1]);
	if (wants_group(argc, argv)) {
		command_print_group(stdout, argv[1]);
		return output_finish() ? 0 : EXIT_SANDGATE;
	}
	c = command_find((size_t)argc - 1, argv + 1, &used, &e);
	if (!c)
		return cli_fail(EXIT_USAGE, &e);
	status = run_command(c, argv + 1 + used);
	return output_finish() ? status : EXIT_SANDGATE;
}
