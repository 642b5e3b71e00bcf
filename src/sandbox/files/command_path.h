/* SPDX-License-Identifier: Apache-2.0 */
/* command_path: a command that the person has and the sandbox does not, told before the start. */
#ifndef SG_SANDBOX_COMMAND_PATH_H
#define SG_SANDBOX_COMMAND_PATH_H

#include "sandbox/files/file_system.h"

/*
 * False, with the message that names the `--ro` to add, when the host finds `command` by `path` (a
 * PATH; `cwd` for a relative name) and the sandbox would not. True in every other case: whether it
 * can be run shows when it is.
 */
bool command_path_check(const struct file_plan *p, const struct tree *host, const char *command,
			const char *path, const char *cwd, struct err *e) sg_must_check;

#endif
