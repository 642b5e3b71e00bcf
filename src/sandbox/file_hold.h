/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_hold: keeps sandgate's own folders out of what a sandbox sees, and in their place.
 *
 * The sandbox has the person's own uid, so control sockets, what was confirmed and settings must not
 * be within its reach. A cover hides such a folder, but a folder above it that the sandbox may write
 * could be moved away with the cover on it, and another be made there, which is what sandgate would
 * find the next time. The kernel moves no folder that something is mounted on, so each of those
 * above is mounted on itself. A link on the way cannot be held like that, and is refused.
 */
#ifndef SG_SANDBOX_FILE_HOLD_H
#define SG_SANDBOX_FILE_HOLD_H

#include "sandbox/file_system.h"

/* After all other mounts of the host's files are planned. 0 or -1 with the message. */
int file_hold_own(const struct file_request *r, struct file_plan *p, struct err *e) sg_must_check;

#endif
