/* SPDX-License-Identifier: Apache-2.0 */
/* in_root: paths within a root that somebody else has made, whose links lead nowhere but into it. */
#ifndef SG_SANDBOX_IN_ROOT_H
#define SG_SANDBOX_IN_ROOT_H

#include <stdint.h>

/*
 * openat2(2) with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS, close-on-exec; `resolve` are further
 * RESOLVE_ flags. What is opened without O_PATH may be a device or a FIFO. -1 with errno.
 */
int in_root_open(int root, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

#endif
