/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealed_memory: what another process handed over in a memory file that nobody can change any more
 * (memfd_create(2)).
 */
#ifndef SG_IO_SEALED_MEMORY_H
#define SG_IO_SEALED_MEMORY_H

#include "base/err.h"
#include "base/span.h"

/*
 * The whole of it, 1 to `most` octets, until sealed_memory_unmap(). `what` is its name in the
 * message: "policy". The descriptor stays the caller's. 0 or -1: it is no memory file, not sealed
 * against writing, growing and shrinking, or of another size.
 */
int sealed_memory_map(int fd, size_t most, const char *what, struct span *out,
		      struct err *e) sg_must_check;
void sealed_memory_unmap(struct span octets);

extern const int sealed_memory_syscalls[]; /* mmap and fcntl(F_GET_SEALS) go by their arguments */

#endif
