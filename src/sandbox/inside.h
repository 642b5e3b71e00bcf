/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside: what the command of a process sandbox finds: files, environment, and whether the command
 * itself is among them.
 */
#ifndef SG_SANDBOX_INSIDE_H
#define SG_SANDBOX_INSIDE_H

#include "sandbox/file_system.h"
#include "sandbox/mount_check.h"
#include "sandbox/planted.h"

struct supervisor;

struct inside {
	struct file_plan plan;
	struct mount_check *check;
	struct planted planted;
	char **env;
};

/*
 * Plans all of it from the options of s. 0, or the exit status with the message; inside_free() in
 * both cases, of one that was empty before.
 */
int inside_plan(struct inside *in, struct supervisor *s, const char *cwd,
		struct err *e) sg_must_check;
void inside_free(struct inside *in);

#define INSIDE_NONE ((struct inside){.planted = {.folder = -1}})

#endif
