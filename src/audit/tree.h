/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: the Merkle tree of RFC 6962, section 2.1 (RFC 9162 has the same), over SHA-256.
 *
 * A leaf is SHA-256(0x00 || entry), a node SHA-256(0x01 || left || right), the root of no leaves
 * the SHA-256 of nothing. What a growing tree needs to be kept of it is its edge: the roots of the
 * complete subtrees that its size is the sum of, one for each bit that is set in the size.
 */
#ifndef SG_AUDIT_TREE_H
#define SG_AUDIT_TREE_H

#include "audit/digest.h"
#include "base/compiler.h"

enum { TREE_LEVELS = 64 };

struct tree {
	uint64_t size; /* leaves */
	struct digest
		peaks[TREE_LEVELS]; /* [k]: the subtree of 2^k leaves; when bit k of size is set */
};

struct digest tree_leaf(struct span entry);
void tree_append(struct tree *t, const struct digest *leaf);
struct digest tree_root(const struct tree *t);

/* Gives leaf i. 0 or -errno. */
typedef int tree_leaf_fn(void *ctx, uint64_t i, struct digest *out);

struct tree_path {
	size_t n;
	struct digest at[TREE_LEVELS]; /* from the leaf's sibling up to a child of the root */
};

/*
 * The inclusion path of leaf `index` in the tree of the first `size` leaves (RFC 6962, section
 * 2.1.1). Asks for each other leaf once. 0 or what `leaf` failed with; -ERANGE when index >= size.
 */
int tree_find_path(tree_leaf_fn *leaf, void *ctx, uint64_t index, uint64_t size,
		   struct tree_path *out) sg_must_check;

/* Does the path lead from the leaf to this root? RFC 9162, section 2.1.3.2. */
bool tree_path_holds(const struct digest *leaf, uint64_t index, uint64_t size,
		     const struct tree_path *path, const struct digest *root);

#endif
