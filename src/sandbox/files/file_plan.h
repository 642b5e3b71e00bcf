/* SPDX-License-Identifier: Apache-2.0 */
/* file_plan: the list of mounts while it is made. Without memory `failed` is set, and it goes on.
 */
#ifndef SG_SANDBOX_FILE_PLAN_H
#define SG_SANDBOX_FILE_PLAN_H

#include "sandbox/files/file_system.h"

/* The texts are copied. */
void file_plan_add(struct file_plan *p, const struct mount *m);

/* Is anything to be mounted at that very place? */
bool file_plan_has(const struct file_plan *p, const char *dest);

/* Takes out the mounts that `drop` picks, the order of the others kept. */
void file_plan_drop(struct file_plan *p, bool (*drop)(const struct mount *m, const void *ctx),
		    const void *ctx);

/* Over a file or a folder of that kind, if any: nothing of it is to be seen. */
void file_plan_cover(struct file_plan *p, const char *dest, enum path_kind kind,
		     enum mount_rank rank);

#endif
