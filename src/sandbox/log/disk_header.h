/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_header: what the first octets of a disk image say of it: its format, and the image that it
 * stands on. Pure. A guest may have written them: they are never followed, only compared with what
 * the person said.
 */
#ifndef SG_SANDBOX_DISK_HEADER_H
#define SG_SANDBOX_DISK_HEADER_H

#include <stdbool.h>

#include "base/span.h"

enum {
	DISK_HEADER = 4096,	 /* octets that are enough */
	DISK_BACKING_MAX = 1023, /* of a name (QEMU, docs/interop/qcow2.txt) */
};

struct disk_header {
	bool qcow2;
	char backing[DISK_BACKING_MAX + 1]; /* as written in it; empty: it stands on none */
};

/* A name that is not whole within the octets, or has a NUL in it, is none. */
void disk_header_read(struct span octets, struct disk_header *out);

#endif
