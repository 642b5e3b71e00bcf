/* SPDX-License-Identifier: Apache-2.0 */
/* file_view: what the sandbox will see, by the mounts that are planned so far. */
#ifndef SG_SANDBOX_FILE_VIEW_H
#define SG_SANDBOX_FILE_VIEW_H

#include "sandbox/files/file_system.h"

/* The mount that a path lies on: the deepest, of several at one place the last. NULL: none. */
const struct mount *file_view_mount(const struct file_plan *p, const char *path);

/* Does it show files of the host's? */
bool file_view_is_bind(const struct mount *m);

/* The place itself, seen from inside, links followed; as path_resolve(). */
bool file_view_resolve(const struct file_plan *p, const struct tree *host, const char *path,
		       char out[PATH_MAX]);

#endif
