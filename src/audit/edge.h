/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge: what a log's writer knows of the entries that are on the disk: all that it needs to go on.
 *
 *	sandgate-audit-edge/v1
 *	size 5
 *	time 2026-01-31T23:59:59.999Z		of the last entry; "-" when there is none
 *	segment 0 1893				the first entry of the last segment, and its octets
 *	first 0					entries before it may be gone: they were pruned
 *	peak BASE64				the tree's edge (tree.h), largest subtree first
 *	sum BASE64				SHA-256 of the lines above
 */
#ifndef SG_AUDIT_EDGE_H
#define SG_AUDIT_EDGE_H

#include "audit/entry.h"
#include "audit/tree.h"

enum { EDGE_MAX = 64 * (DIGEST_TEXT + 8) + 512 /* octets of its text */ };

struct edge {
	struct tree tree;
	char time[ENTRY_TIME + 1]; /* empty when there is no entry */
	uint64_t segment;	   /* its first entry; not yet a file when that is the size */
	uint64_t octets;	   /* of the segment, that are entries of the tree */
	uint64_t first;
};

/* Returns the octets written to `out`, without the NUL. */
size_t edge_print(const struct edge *edge, char out[EDGE_MAX]);
/* False when it is not, octet by octet, what edge_print() makes. */
bool edge_parse(struct span text, struct edge *out);

#endif
