/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_named: `run --name N`: in the sandbox of that name, where it runs; or started for one command,
 * where it is kept; or made.
 */
#ifndef SG_CLI_RUN_NAMED_H
#define SG_CLI_RUN_NAMED_H

#include "cli/args.h"
#include "sandbox/run.h"
#include "sandbox/settings/sources.h"

/* Makes one and runs it, with run_new(): its exit status, what there is to say said. */
typedef int run_with_fn(const struct args *a, const struct sources *s);

/*
 * Of one that is there, what the options say of its policy is applied as a change, and kept; what
 * would make another sandbox of it is refused. Of one that is not there, `make`. Returns the exit
 * status, what there is to say said.
 */
int run_named(const struct args *a, const char *name, const struct sources *s, run_with_fn *make);

/* For `make`: keeps what the options say, and runs it. The exit status, or RUN_NAME_TAKEN. */
int run_new(const struct args *a, const struct run_options *o);

#endif
