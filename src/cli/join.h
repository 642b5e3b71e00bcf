/* SPDX-License-Identifier: Apache-2.0 */
/* join: one more command in a sandbox that runs, for `exec` and `run --name`. */
#ifndef SG_CLI_JOIN_H
#define SG_CLI_JOIN_H

#include "sandbox/control/exec_client.h"

/* No exit status: the command was not started, and that sandbox has ended, which was waited for. */
enum { JOIN_ENDED = -1 };

/* As exec_client_run(); `dir` is that of known_open(). */
int join_run(const struct exec_options *o, struct err *e) sg_must_check;

/*
 * Something that was asked of it went wrong: has it ended, or does it end, which is waited for? Then
 * it is no failure of the one who asks, who looks again what there is of that name.
 */
bool join_has_ended(int dir);

#endif
