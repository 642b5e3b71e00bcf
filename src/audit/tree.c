/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/tree.h"

#include <errno.h>

static const uint8_t leaf_prefix[] = {0}, node_prefix[] = {1};

struct digest tree_leaf(struct span entry)
{
	const struct span parts[] = {span_of(leaf_prefix, 1), entry};

	return digest_of(parts, 2);
}

static struct digest node(const struct digest *left, const struct digest *right)
{
	const struct span parts[] = {span_of(node_prefix, 1), span_of(left->b, DIGEST_OCTETS),
				     span_of(right->b, DIGEST_OCTETS)};

	return digest_of(parts, 3);
}

void tree_append(struct tree *t, const struct digest *leaf)
{
	struct digest d = *leaf;
	unsigned k = 0;

	for (; t->size >> k & 1; k++)
		d = node(&t->peaks[k], &d);
	t->peaks[k] = d;
	t->size++;
}

struct digest tree_root(const struct tree *t)
{
	struct digest root = digest_of(NULL, 0);
	bool any = false;

	for (unsigned k = 0; k < TREE_LEVELS; k++) {
		if (!(t->size >> k & 1))
			continue;
		root = any ? node(&t->peaks[k], &root) : t->peaks[k];
		any = true;
	}
	return root;
}

/* The root of leaves [from, to). */
static int subtree_root(tree_leaf_fn *leaf, void *ctx, uint64_t from, uint64_t to,
			struct digest *out)
{
	struct tree t = {.size = 0};

	for (uint64_t i = from; i < to; i++) {
		struct digest d;
		int r = leaf(ctx, i, &d);

		if (r < 0)
			return r;
		tree_append(&t, &d);
	}
	*out = tree_root(&t);
	return 0;
}

/* The largest power of two below n, n > 1. */
static uint64_t split(uint64_t n)
{
	return 1ull << (63 - __builtin_clzll(n - 1));
}

int tree_find_path(tree_leaf_fn *leaf, void *ctx, uint64_t index, uint64_t size,
		   struct tree_path *out)
{
	struct digest down[TREE_LEVELS];
	uint64_t from = 0, to = size;
	size_t n = 0;

	if (index >= size)
		return -ERANGE;
	while (to - from > 1) {
		uint64_t middle = from + split(to - from);
		bool left = index < middle;
		int r = subtree_root(leaf, ctx, left ? middle : from, left ? to : middle, &down[n]);

		if (r < 0)
			return r;
		n++;
		if (left)
			to = middle;
		else
			from = middle;
	}
	for (size_t i = 0; i < n; i++)
		out->at[i] = down[n - 1 - i];
	out->n = n;
	return 0;
}

bool tree_path_holds(const struct digest *leaf, uint64_t index, uint64_t size,
		     const struct tree_path *path, const struct digest *root)
{
	uint64_t fn = index, sn = size - 1;
	struct digest r = *leaf;

	if (index >= size)
		return false;
	for (size_t i = 0; i < path->n; i++) {
		if (sn == 0)
			return false;
		if (fn & 1 || fn == sn) {
			r = node(&path->at[i], &r);
			while (!(fn & 1) && fn) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			r = node(&r, &path->at[i]);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && digest_equal(&r, root);
}
