/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_named: `run --name N` of a sandbox that is kept: in one that runs, or started for one
 * command.
 */
#ifndef SG_CLI_RUN_NAMED_H
#define SG_CLI_RUN_NAMED_H

#include "cli/args.h"
#include "sandbox/settings/sources.h"

/*
 * What the options say of its policy is applied as a change, and kept; what would make another
 * sandbox of it is refused. Returns the exit status, what there is to say said.
 */
int run_named(const struct args *a, const char *name, const struct sources *s);

/* One that is kept and does not run is started as it is, for the command. */
int run_stored(const struct args *a, const char *name, const struct sources *s);

#endif
