/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_check: what was mounted is what was judged.
 *
 * Between the plan and the mounts, another sandbox that shares the working directory could put a
 * link where a protected folder was, and have a folder of the person's mounted in its stead. So the
 * files behind `checked` mounts are opened, no link followed, when the plan is made, and compared
 * with what lies there in the finished sandbox while the command still waits.
 */
#ifndef SG_SANDBOX_MOUNT_CHECK_H
#define SG_SANDBOX_MOUNT_CHECK_H

#include "sandbox/files/file_system.h"

struct mount_check;

/* Opens the sources. NULL with the message when one is not there as a plain path any more. */
struct mount_check *mount_check_begin(const struct file_plan *p, struct err *e);

/* `process` is a pidfd of a process in the sandbox. 0, or -1 with the message. */
int mount_check_end(const struct mount_check *c, int process, struct err *e) sg_must_check;

void mount_check_free(struct mount_check *c);

#endif
