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

/*
 * Keyed, since the sandbox chooses what is looked up; but it cannot put anything into a ruleset,
 * so this hash only has to scatter what a policy holds, not to withstand a chosen set. It costs a
 * fifth of name_hash().
 */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t hash_octets(const struct hash_key *key, const char *s, size_t n)
{
	uint64_t h = key->k[0] ^ n, word;

	for (; n > 8; s += 8, n -= 8) {
		memcpy(&word, s, 8);
		h = hash_fold(h ^ word, key->k[1]);
	}
	word = 0;
	for (size_t i = 0; i < n; i++)
		word = word << 8 | (uint8_t)s[i];
	h = hash_fold(h ^ word, key->k[1]);
	return (uint32_t)hash_fold(h, key->k[0]);
}

static inline uint32_t hash_prefix(const struct hash_key *key, const struct prefix *p)
{
	uint64_t half[2];

	memcpy(half, p->addr.b, sizeof(half));
	half[0] = hash_fold(half[0] ^ key->k[0] ^ p->bits, key->k[1]);
	return (uint32_t)hash_fold(half[0] ^ half[1], key->k[0]);
}

/* The place that a hash points to: ascending with it. */
static inline size_t table_place(const struct table *t, uint32_t hash)
{
	return (size_t)((uint64_t)hash * t->places >> 32);
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
