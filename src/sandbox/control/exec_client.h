/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_client: one command in a sandbox that runs, as `sandgate exec` asks for it.
 */
#ifndef SG_SANDBOX_EXEC_CLIENT_H
#define SG_SANDBOX_EXEC_CLIENT_H

#include <stdbool.h>

#include "base/err.h"

struct exec_options {
	const char *name;
	int dir;	 /* its runtime folder, the caller's: of that sandbox, and no later one */
	bool holds;	 /* the sandbox does not end with its first command before this one */
	const char *cwd; /* NULL: the sandbox's own */
	const char *const *env; /* "K=V", or NULL */
	char *const *argv;	/* NULL-terminated, not empty */
};

/*
 * Runs it with this process's standard descriptors: those that are terminals become a terminal of
 * the sandbox's own, of which what is typed and printed is copied; the others are handed in.
 * Returns the exit status: the command's, 128 and a signal's number, 126 or 127 as a shell has it,
 * or 125. With a message in *e, which is empty otherwise, also for 126 and 127. EXEC_NOT_BEGUN, with
 * a message as well, when the sandbox has ended, or is about to, and the command was not started: that
 * one never will be.
 */
enum { EXEC_NOT_BEGUN = -1 };
int exec_client_run(const struct exec_options *o, struct err *e) sg_must_check;

#endif
