/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_hold: keeps what is covered, read-only or handed in where it is, and sandgate's own folders
 * out of sight.
 *
 * A mount moves away with the folder above it, when the sandbox may write that, and another could
 * be made in its place: the next start would cover, protect or believe the wrong one. The kernel
 * moves no folder that something is mounted on, so each of those above is mounted on itself. A link
 * on the way to sandgate's own folders cannot be held like that, and is refused.
 */
#ifndef SG_SANDBOX_FILE_HOLD_H
#define SG_SANDBOX_FILE_HOLD_H

#include "sandbox/files/file_system.h"

/* After all other mounts of the host's files are planned. 0 or -1 with the message. */
int file_hold_places(const struct file_request *r, struct file_plan *p,
		     struct err *e) sg_must_check;

#endif
