/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaves: the file "hashes": the leaf hash of every entry there ever was, 32 octets each, in order.
 * It outlives the entries: what was pruned still counts in the tree.
 */
#ifndef SG_AUDIT_LEAVES_H
#define SG_AUDIT_LEAVES_H

#include "audit/digest.h"
#include "base/compiler.h"

enum { LEAVES_AHEAD = 1024 };

struct leaves {
	int fd;
	uint64_t at; /* the first that is read ahead */
	size_t n;
	struct digest ahead[LEAVES_AHEAD];
};

/* 0 or -errno; leaves_close() in any case. */
int leaves_open(struct leaves *l, int dir) sg_must_check;
void leaves_close(struct leaves *l);

/* A tree_leaf_fn, of a struct leaves. -ENODATA when the file is too short. */
int leaves_get(void *leaves, uint64_t i, struct digest *out) sg_must_check;

#endif
