/* SPDX-License-Identifier: Apache-2.0 */
/* cli: what every subcommand says in the same way. */
#ifndef SG_CLI_CLI_H
#define SG_CLI_CLI_H

#include "base/err.h"
#include "cli/args.h"
#include "cli/command.h"
#include "command_options.h"

/* cli_main: the whole program. */
int cli_main(int argc, char **argv);

/* Prints "sandgate: MESSAGE" on standard error and returns the status. */
int cli_fail(int status, const struct err *e);

#endif
