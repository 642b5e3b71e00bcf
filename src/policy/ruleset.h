/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ruleset: the compiled form of a policy, and the look-ups that decide() makes in it.
 *
 * Theory of operation. A ruleset is made whole by ruleset_compile() and never
 * changed; it may be read until ruleset_free(). The rules stand in one array in
 * the order of the policy, the names in one block. Three open-addressing tables
 * lead from a target to the first rule that has it: exact names, wildcards (by
 * the name without "*.") and prefixes. Rules with the same target are chained
 * through `next`; a chain has at most RULESET_CHAIN_MAX rules, which with the
 * bound on labels (127) and on prefix lengths (129) bounds every decision.
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
	RULESET_RULES_MAX = 1 << 26,
	NAME_LEVELS_MAX = 128, /* the name, and a parent for each dot of at most 126 */
	PREFIX_LEVELS_MAX = 129,
};

/* A bit for each of 0..128. */
struct level_set {
	uint64_t bits[3];
};

struct slot {
	uint32_t tag;  /* the high half of the hash */
	uint32_t rule; /* index + 1; 0: free */
};

/* Linear probing, at most half full. */
struct table {
	struct slot *slots; /* NULL: empty */
	uint32_t mask;
};

struct ruleset {
	struct policy policy; /* its rules and their names belong to this ruleset */
	uint64_t generation;
	char *names;	   /* the block in which the rules' names stand */
	size_t names_size; /* octets */
	uint32_t *next;	   /* by rule: index + 1 of the next with its target; NULL: no chains */
	struct table exact, below, prefixes;
	struct level_set below_labels; /* numbers of labels that wildcards have */
	struct level_set v4_bits, v6_bits;
	bool denies_names; /* some deny rule is by name */
};

/* The first rule of each level that has one, the most specific level first. */
struct levels {
	unsigned n;
	const struct rule *rule[PREFIX_LEVELS_MAX];
};

void ruleset_find_name(const struct ruleset *rs, const struct name *name, struct levels *out);
void ruleset_find_prefix(const struct ruleset *rs, const struct addr *a, struct levels *out);

/* The next rule with the same target, or NULL. */
static inline const struct rule *ruleset_next(const struct ruleset *rs, const struct rule *r)
{
	uint32_t next = rs->next ? rs->next[r - rs->policy.rules] : 0;

	return next ? &rs->policy.rules[next - 1] : NULL;
}

/* Octets that the ruleset takes, its names left out. */
size_t ruleset_overhead(const struct ruleset *rs);

#endif
