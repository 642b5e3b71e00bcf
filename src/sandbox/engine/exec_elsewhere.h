/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_elsewhere: a command in a sandbox whose engine runs commands by a program of its own, with the
 * person's rights and terminal, as `podman exec` does (engine.h, exec()).
 */
#ifndef SG_SANDBOX_EXEC_ELSEWHERE_H
#define SG_SANDBOX_EXEC_ELSEWHERE_H

#include <jansson.h>
#include <stdbool.h>

#include "sandbox/control/exec_client.h"

struct supervisor;

/* Does the sandbox take commands by its socket (exec_wire.h)? One that is being made may yet. */
bool exec_elsewhere_is_inside(const char *name);

/*
 * Becomes the engine's program with the command. Returns -1 with the message, or 1 when commands are
 * taken by the socket after all.
 */
int exec_elsewhere_run(const struct exec_options *o, struct err *e) sg_must_check;

/* The answer to {"op":"exec", ...}: {"inside":true}, {"argv":[...]}, or an error. */
json_t *exec_elsewhere_answer(struct supervisor *s, const json_t *request);

#endif
