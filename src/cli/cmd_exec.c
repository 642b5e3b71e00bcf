/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/join.h"
#include "cli/known.h"
#include "cli/run_words.h"
#include "sandbox/run.h"

int cmd_exec(const struct args *a)
{
	struct exec_options o = {
		.name = a->words[0],
		.cwd = args_value(a, EXEC_CWD),
		.env = args_values(a, EXEC_ENV),
		.argv = a->rest,
	};
	struct err e;
	int status;

	if (run_words_check_env(o.env, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (!*o.argv[0]) {
		err_set(&e, "the command is empty; write it after --");
		return cli_fail(EXIT_NOT_FOUND, &e);
	}
	/* One that ends first is told of as it then is: stopped, gone, or started again. */
	do {
		if (known_open_running(o.name, &o.dir, &e))
			return cli_fail(EXIT_SANDGATE, &e);
		status = join_run(&o, &e);
		close(o.dir);
	} while (status == JOIN_ENDED);
	return *e.text ? cli_fail(status, &e) : status;
}
