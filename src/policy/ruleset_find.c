/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ruleset_find: the look-ups.
 *
 * A name is looked up in two parts: first its slots are asked for, then, after
 * whatever can be done while they come from memory, they are read.
 */
#include <endian.h>

#include "policy/rule.h"
#include "policy/ruleset_index.h"

_Static_assert((int)PREFIX_LEVELS_MAX >= (int)NAME_LEVELS_MAX, "levels hold both");

enum { CACHE_LINE = 64, LINES_AHEAD = 4 };

static void ask(const struct layer_rules *layer, struct name_question *q, const struct table *t,
		const struct name *name, unsigned from)
{
	uint32_t hash = hash_octets(&layer->key, name->s + from, name->n - from);
	const char *slot = (const char *)&t->slots[table_place(t, hash)];

	q->asked[q->n++] = (struct name_asked){.table = t, .hash = hash, .from = (uint8_t)from};
	for (unsigned i = 0; i < LINES_AHEAD; i++)
		__builtin_prefetch(slot + (size_t)i * CACHE_LINE);
}

/*
 * The name itself and those of its parents that have as many labels as some wildcard. The parents
 * are found from the right, up to the longest wildcard, and asked for from the left.
 */
void ruleset_ask_name(const struct layer_rules *layer, const struct name *name,
		      struct name_question *q)
{
	uint8_t parents[NAME_LEVELS_MAX];
	unsigned labels = 0;

	q->name = name;
	q->n = 0;
	if (layer->exact.slots)
		ask(layer, q, &layer->exact, name, 0);
	for (unsigned i = name->n; i > 0 && labels < layer->below_labels_max; i--)
		if (name->s[i - 1] == '.')
			parents[++labels] = (uint8_t)i;
	for (; labels > 0; labels--)
		if (level_set_has(&layer->below_labels, labels))
			ask(layer, q, &layer->below, name, parents[labels]);
}

/* The first rule at or behind the place of the hash that has it; a slot with another: none has. */
static const struct rule *first_with_hash(const struct table *t, uint32_t hash)
{
	const struct rule *r = &t->slots[table_place(t, hash)];

	while (r->used && r->hash < hash)
		r++;
	return r;
}

static const struct rule *find_name_rule(const struct name_asked *a, const char *name, size_t n)
{
	const struct rule *r = first_with_hash(a->table, a->hash);

	for (; r->used && r->hash == a->hash; r++)
		if (r->name_n == n && memcmp(rule_name(r), name, n) == 0)
			return r;
	return NULL;
}

void ruleset_find_name(const struct name_question *q, struct levels *out)
{
	out->n = 0;
	for (unsigned i = 0; i < q->n; i++) {
		const struct name_asked *a = &q->asked[i];
		const struct rule *r =
			find_name_rule(a, q->name->s + a->from, q->name->n - a->from);

		if (r)
			out->rule[out->n++] = r;
	}
}

const struct rule *ruleset_next(const struct rule *r)
{
	for (const struct rule *next = r + 1; next->used && next->hash == r->hash; next++)
		if (rule_has_same_target(next, r))
			return next;
	return NULL;
}

static const struct rule *find_prefix_rule(const struct layer_rules *layer, const struct prefix *p)
{
	uint32_t hash = hash_prefix(&layer->key, p);
	const struct rule *r = first_with_hash(&layer->prefixes, hash);

	for (; r->used && r->hash == hash; r++)
		if (r->prefix.bits == p->bits && addr_equal(&r->prefix.addr, &p->addr))
			return r;
	return NULL;
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

void ruleset_find_prefix(const struct layer_rules *layer, const struct addr *a, struct levels *out)
{
	/* IPv4 and IPv6 never share a level: `::/0` does not hold 192.0.2.1. */
	const struct level_set *present = addr_is_v4(a) ? &layer->v4_bits : &layer->v6_bits;

	out->n = 0;
	for (int word = 2; word >= 0; word--) {
		uint64_t left = present->bits[word];

		while (left) {
			unsigned top = 63 - (unsigned)__builtin_clzll(left);
			unsigned bits = (unsigned)word * 64 + top;
			struct prefix p = {.addr = masked(a, bits), .bits = (uint8_t)bits};
			const struct rule *r = find_prefix_rule(layer, &p);

			if (r)
				out->rule[out->n++] = r;
			left &= ~(UINT64_C(1) << top);
		}
	}
}
