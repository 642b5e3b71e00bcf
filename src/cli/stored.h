/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored: a sandbox that is kept, made from the options of `create` and `run`, and read to be
 * started.
 */
#ifndef SG_CLI_STORED_H
#define SG_CLI_STORED_H

#include "cli/run_policy.h"
#include "sandbox/definition.h"
#include "sandbox/run.h"

/*
 * Keeps a new sandbox: what the options amount to, the folders of it absolute from the working
 * directory, and a capture for each start. Its name is that of the options. 0, or the exit status
 * with the message; STORED_TAKEN, no exit status, with it when there is one of that name by now.
 */
enum { STORED_TAKEN = -1 };
int stored_create(const struct run_options *o, struct err *e) sg_must_check;

struct stored {
	struct definition d;
	struct run_options o; /* borrows from d and from what it was opened with */
	const struct engine_class *engine;
	const char **env; /* of the definition, and then what was added */
};

/*
 * Reads one that is kept, for sandbox_run(): its policy resolved with `s`, its definition locked
 * until the run has taken the name. `env` is added to its own, and may be NULL. 0, or the exit
 * status with the message.
 */
int stored_open(const char *name, const struct sources *s, const char *const *env,
		struct stored *out, struct err *e) sg_must_check;

/* A capture that is asked for this run is made in the place of the one that is kept, if any. */
void stored_capture(struct stored *st, const struct capture_request *r);
void stored_close(struct stored *st);

#endif
