/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_opened: puts a file where the host has none.
 *
 * A folder of the host's that is seen read-only takes nothing new. The lowest one on the way that
 * is there is replaced by one of the sandbox's own, in which all that the host's has is mounted or
 * linked again, and beside that the new file.
 */
#ifndef SG_SANDBOX_FILE_OPENED_H
#define SG_SANDBOX_FILE_OPENED_H

#include "sandbox/files/file_system.h"

/* A folder with more in it is left as it is. */
enum { FILE_OPENED_MAX = 32 };

/*
 * Makes `path` a place where something can be mounted, if the folder `within`, above it, is there
 * or is the sandbox's own. False when it is not, or has links on the way, or has too much in it.
 */
bool file_opened_place(const struct file_request *r, struct file_plan *p, const char *within,
		       const char *path);

#endif
