/* SPDX-License-Identifier: Apache-2.0 */
/* ruleset_index: the hash and the level sets that compile and look-up share. */
#ifndef SG_POLICY_RULESET_INDEX_H
#define SG_POLICY_RULESET_INDEX_H

#include "policy/ruleset.h"

static inline bool level_set_has(const struct level_set *s, unsigned level)
{
	return s->bits[level / 64] >> (level % 64) & 1;
}

static inline void level_set_add(struct level_set *s, unsigned level)
{
	s->bits[level / 64] |= UINT64_C(1) << (level % 64);
}

/* Keyed as the names are: the sandbox chooses the addresses that it asks for. */
static inline uint64_t prefix_hash(const struct prefix *p)
{
	char key[17];

	memcpy(key, p->addr.b, 16);
	key[16] = (char)p->bits;
	return name_hash(key, sizeof(key));
}

/* The number of labels of a canonical name. */
static inline unsigned count_labels(const char *s, size_t n)
{
	unsigned labels = 1;

	for (size_t i = 0; i < n; i++)
		labels += s[i] == '.';
	return labels;
}

#endif
