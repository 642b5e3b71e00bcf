/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ruleset_find: the look-ups. With a million rules each access misses the caches, so all slots
 * of a name are asked for before the first is read.
 */
#include <endian.h>

#include "policy/ruleset_index.h"

_Static_assert((int)PREFIX_LEVELS_MAX >= (int)NAME_LEVELS_MAX, "levels hold both");

struct candidate {
	const struct table *table;
	const char *s;
	uint8_t n;
	uint64_t hash;
};

static void add_candidate(struct candidate *c, const struct table *t, const char *s, size_t n)
{
	*c = (struct candidate){.table = t, .s = s, .n = (uint8_t)n, .hash = name_hash(s, n)};
	__builtin_prefetch(&t->slots[c->hash & t->mask]);
}

/* The name itself and those of its parents that have as many labels as some wildcard. */
static unsigned find_candidates(const struct ruleset *rs, const struct name *name,
				struct candidate out[NAME_LEVELS_MAX])
{
	uint8_t parents[NAME_LEVELS_MAX];
	unsigned dots = 0, n = 0;

	for (unsigned i = 0; i < name->n; i++)
		if (name->s[i] == '.')
			parents[dots++] = (uint8_t)(i + 1);
	if (rs->exact.slots)
		add_candidate(&out[n++], &rs->exact, name->s, name->n);
	for (unsigned i = 0; i < dots; i++)
		if (level_set_has(&rs->below_labels, dots - i))
			add_candidate(&out[n++], &rs->below, name->s + parents[i],
				      name->n - parents[i]);
	return n;
}

static const struct rule *find_name_rule(const struct ruleset *rs, const struct candidate *c)
{
	const struct table *t = c->table;

	for (uint32_t at = (uint32_t)c->hash;; at++) {
		const struct slot *slot = &t->slots[at & t->mask];
		const struct rule *r;

		if (slot->rule == 0)
			return NULL;
		if (slot->tag != (uint32_t)(c->hash >> 32))
			continue;
		r = &rs->policy.rules[slot->rule - 1];
		if (r->name_n == c->n && memcmp(r->name, c->s, c->n) == 0)
			return r;
	}
}

void ruleset_find_name(const struct ruleset *rs, const struct name *name, struct levels *out)
{
	struct candidate candidates[NAME_LEVELS_MAX];
	unsigned n = find_candidates(rs, name, candidates);

	out->n = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct rule *r = find_name_rule(rs, &candidates[i]);

		if (r)
			out->rule[out->n++] = r;
	}
}

static const struct rule *find_prefix_rule(const struct ruleset *rs, const struct prefix *p)
{
	const struct table *t = &rs->prefixes;
	uint64_t hash = prefix_hash(p);

	for (uint32_t at = (uint32_t)hash;; at++) {
		const struct slot *slot = &t->slots[at & t->mask];
		const struct rule *r;

		if (slot->rule == 0)
			return NULL;
		if (slot->tag != (uint32_t)(hash >> 32))
			continue;
		r = &rs->policy.rules[slot->rule - 1];
		if (r->prefix.bits == p->bits && addr_equal(&r->prefix.addr, &p->addr))
			return r;
	}
}

/* The address with all but its first `bits` cleared, without a loop over octets. */
static struct addr masked(const struct addr *a, unsigned bits)
{
	uint64_t half[2];
	struct addr out;

	memcpy(half, a->b, sizeof(half));
	half[0] &= bits >= 64 ? UINT64_MAX : bits == 0 ? 0 : htobe64(UINT64_MAX << (64 - bits));
	half[1] &= bits >= 128 ? UINT64_MAX : bits <= 64 ? 0 : htobe64(UINT64_MAX << (128 - bits));
	memcpy(out.b, half, sizeof(half));
	return out;
}

void ruleset_find_prefix(const struct ruleset *rs, const struct addr *a, struct levels *out)
{
	/* IPv4 and IPv6 never share a level: `::/0` does not hold 192.0.2.1. */
	const struct level_set *present = addr_is_v4(a) ? &rs->v4_bits : &rs->v6_bits;

	out->n = 0;
	for (int word = 2; word >= 0; word--) {
		uint64_t left = present->bits[word];

		while (left) {
			unsigned top = 63 - (unsigned)__builtin_clzll(left);
			unsigned bits = (unsigned)word * 64 + top;
			struct prefix p = {.addr = masked(a, bits), .bits = (uint8_t)bits};
			const struct rule *r = find_prefix_rule(rs, &p);

			if (r)
				out->rule[out->n++] = r;
			left &= ~(UINT64_C(1) << top);
		}
	}
}
