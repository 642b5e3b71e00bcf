/* SPDX-License-Identifier: Apache-2.0 */
/* secret_command: a program of the person's, run for what it prints. */
#ifndef SG_SANDBOX_SECRET_COMMAND_H
#define SG_SANDBOX_SECRET_COMMAND_H

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/engine/exposure.h"

struct secret_command {
	const char *const
		*argv; /* NULL-terminated; the first with its whole path, or found by PATH */
	const char *const *env; /* NAME=VALUE, or NAME to take it away; NULL-terminated, or NULL */
	const char *input;	/* for its standard input; NULL: none */
	const struct exposure *exposure;
	int timeout_ms;
};

/*
 * Appends its standard output. It is run in "/", with a PATH that leads to no folder of a sandbox:
 * neither it nor what it starts by a name is the agent's, and no configuration beside it is.
 *
 * 0; -ENOENT when there is no such program but one that a sandbox may have written; -1 with why: its
 * status and the last line that it printed on standard error, or that it took too long, and then it was
 * ended with all that it started.
 */
int secret_command_run(const struct secret_command *c, struct buf *out,
		       struct err *e) sg_must_check;

#endif
