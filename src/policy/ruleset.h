/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ruleset: the compiled form of a policy, and the look-ups that decide() makes in it.
 *
 * Theory of operation. A ruleset is made whole by ruleset_compile() and never
 * changed; it may be read until ruleset_free(). Its rules stand in layers, by who
 * wrote them (decide.h), and those of a layer in three tables: for exact names, for
 * wildcards and for prefixes. A layer is looked up alone, since how specific a rule is
 * counts among the rules of one author only; a layer without rules costs nothing.
 *
 * A table is an array of
 * rules in ascending order of the hash of their target, with gaps: a rule stands
 * where its hash points to or, when that place is taken, as near behind as
 * possible. So a look-up begins at that place and reads on for a few rules, all
 * in one run of memory: with a million rules, when every access misses the
 * caches, a decision waits for memory once.
 *
 * Rules with the same target have the same hash and thus follow one another; at
 * most RULESET_CHAIN_MAX of them differ, which with the bound on labels (127) and
 * on prefix lengths (129) bounds every decision. What is repeated is left out.
 *
 * A look-up walks the levels that can match, the most specific first: the exact
 * name, then each parent for which a wildcard with so many labels exists; or
 * each prefix length that exists, the longest first. So its cost does not grow
 * with the number of rules.
 */
#ifndef SG_POLICY_RULESET_H
#define SG_POLICY_RULESET_H

#include "policy/decide.h"

enum {
	RULESET_CHAIN_MAX = 64,
	RULESET_RULES_MAX = 1 << 24,
	NAME_LEVELS_MAX = 128, /* the name, and a parent for each dot of at most 126 */
	PREFIX_LEVELS_MAX = 129,
};

/* A bit for each of 0..128. */
struct level_set {
	uint64_t bits[3];
};

struct table {
	struct rule *slots; /* NULL: empty; ends with a slot that is not used */
	size_t n_slots;
	uint32_t places; /* hashes point to 0..places-1 */
};

struct hash_key {
	uint64_t k[2]; /* odd */
};

struct layer_rules {
	struct hash_key key; /* that of the ruleset */
	struct table exact, below, prefixes;
	struct level_set below_labels; /* numbers of labels that wildcards have */
	unsigned below_labels_max;     /* the largest of them */
	struct level_set v4_bits, v6_bits;
};

struct ruleset {
	struct policy policy; /* the settings; its lists of rules are empty */
	uint64_t generation;
	struct layer_rules layers[LAYERS];
	enum layer next[LAYERS +
			1]; /* by layer: it or the first after it that has a rule, or LAYERS */
	bool denies_names;  /* some deny rule is by name */
};

static inline bool ruleset_has_layer(const struct ruleset *rs, enum layer layer)
{
	return rs->next[layer] == layer;
}

/* The first rule of each level that has one, the most specific level first. */
struct levels {
	unsigned n;
	const struct rule *rule[PREFIX_LEVELS_MAX];
};

/* A name whose slots are on their way from memory. */
struct name_asked {
	const struct table *table;
	uint32_t hash;
	uint8_t from; /* the octet of the name at which this level begins */
};
struct name_question {
	const struct name *name; /* borrowed */
	unsigned n;
	struct name_asked asked[NAME_LEVELS_MAX];
};

void ruleset_ask_name(const struct layer_rules *layer, const struct name *name,
		      struct name_question *q);
void ruleset_find_name(const struct name_question *q, struct levels *out);
void ruleset_find_prefix(const struct layer_rules *layer, const struct addr *a, struct levels *out);

/* The next rule of the layer with the same target as r, or NULL. */
const struct rule *ruleset_next(const struct rule *r);

/* Octets that the ruleset takes, all of it, and those of its names. */
size_t ruleset_size(const struct ruleset *rs, size_t *names);

#endif
