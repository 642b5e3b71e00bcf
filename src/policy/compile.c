/* SPDX-License-Identifier: Apache-2.0 */
/* compile: from the policy that a person wrote to the ruleset that decide() reads. */
#include <stdlib.h>
#include <sys/mman.h>

#include "policy/rule.h"
#include "policy/ruleset_index.h"
#include "policy/suffix.h"

/* A rule on its way to a table: the high half is the hash, the low half its index in the policy. */
typedef uint64_t keyed_rule;

/* From the process's random key, by the keyed hash of names. */
static void choose_key(struct hash_key *key)
{
	key->k[0] = name_hash("ruleset 0", 9) | 1;
	key->k[1] = name_hash("ruleset 1", 9) | 1;
}

/* ---- The levels ---- */

static bool is_near_resolver(const struct rule *r)
{
	struct name parent = {.n = r->name_n};

	memcpy(parent.s, rule_name(r), r->name_n + 1u);
	return suffix_holds_encrypted_dns(&parent);
}

static void note_wildcard(struct ruleset *rs, struct rule *r)
{
	unsigned labels = count_labels(rule_name(r), r->name_n);

	r->near_resolver = is_near_resolver(r);
	level_set_add(&rs->below_labels, labels);
	if (labels > rs->below_labels_max)
		rs->below_labels_max = labels;
}

static void note_level(struct ruleset *rs, struct rule *r)
{
	if (r->kind == TARGET_WILDCARD)
		note_wildcard(rs, r);
	if (r->kind == TARGET_PREFIX)
		level_set_add(addr_is_v4(&r->prefix.addr) && r->prefix.bits >= 96 ? &rs->v4_bits
										  : &rs->v6_bits,
			      r->prefix.bits);
	else if (r->effect == EFFECT_DENY)
		rs->denies_names = true;
}

/* ---- The tables ---- */

/*
 * Zeroed memory. A large table asks for huge pages: a look-up among a million rules would
 * otherwise spend much of its time on page tables.
 */
static void *allocate_slots(size_t n)
{
	enum { HUGE_PAGE = 2 << 20 };
	size_t size = n * sizeof(struct rule);
	void *slots = NULL;

	if (size < 2 * (size_t)HUGE_PAGE)
		return calloc(n, sizeof(struct rule));
	if (posix_memalign(&slots, HUGE_PAGE, size) != 0)
		return NULL;
	madvise(slots, size, MADV_HUGEPAGE);
	memset(slots, 0, size);
	return slots;
}

static uint32_t hash_rule(const struct ruleset *rs, const struct rule *r)
{
	return r->kind == TARGET_PREFIX ? hash_prefix(&rs->key, &r->prefix)
					: hash_octets(&rs->key, rule_name(r), r->name_n);
}

static int by_key(const void *a, const void *b)
{
	keyed_rule x = *(const keyed_rule *)a, y = *(const keyed_rule *)b;

	return x < y ? -1 : x > y;
}

/* The rules of one kind in ascending order of hash, those of one target as they were written. */
static size_t sort_rules(const struct ruleset *rs, const struct policy *p, enum target_kind kind,
			 keyed_rule *out)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].kind == kind)
			out[n++] = (uint64_t)hash_rule(rs, &p->rules[i]) << 32 | i;
	qsort(out, n, sizeof(*out), by_key);
	return n;
}

/* Four places in five are taken; what is pushed behind the last place needs some more slots. */
static int size_table(struct table *t, const keyed_rule *keys, size_t n)
{
	size_t next = 0;

	t->places = (uint32_t)(n + n / 4 + 1);
	for (size_t i = 0; i < n; i++) {
		size_t place = table_place(t, (uint32_t)(keys[i] >> 32));

		next = (place > next ? place : next) + 1;
	}
	next = (next > t->places ? next : t->places) + 1;
	t->slots = allocate_slots(next);
	if (!t->slots)
		return -1;
	t->n_slots = next;
	return 0;
}

static int refuse_chain(const struct rule *r, struct err *e)
{
	char text[RULE_TEXT_MAX];

	return err_set(e, "more than %d different rules for the target of `%s`; join their ports",
		       RULESET_CHAIN_MAX, rule_format(r, text));
}

/* Among the rules before `end` with its target: 1 when one says the same, -1 when they are many. */
static int look_back(const struct table *t, const struct rule *end, const struct rule *r,
		     uint32_t hash, struct err *e)
{
	unsigned chain = 0;

	for (const struct rule *before = end; before > t->slots; before--) {
		const struct rule *other = before - 1;

		if (!other->used || other->hash != hash)
			break;
		if (!rule_has_same_target(other, r))
			continue;
		if (rule_says_same(other, r))
			return 1;
		if (++chain == RULESET_CHAIN_MAX)
			return refuse_chain(r, e);
	}
	return 0;
}

static int place_rule(struct ruleset *rs, struct table *t, size_t *next, uint32_t hash,
		      const struct rule *r, struct err *e)
{
	size_t place = table_place(t, hash);
	struct rule *slot = &t->slots[place > *next ? place : *next];
	int found = look_back(t, &t->slots[*next], r, hash, e);

	if (found)
		return found > 0 ? 0 : -1;
	if (rule_copy(r, slot))
		return err_set(e, "out of memory");
	slot->used = true;
	slot->hash = hash;
	note_level(rs, slot);
	*next = (size_t)(slot - t->slots) + 1;
	return 0;
}

static int make_table(struct ruleset *rs, const struct policy *p, enum target_kind kind,
		      struct table *t, keyed_rule *keys, struct err *e)
{
	size_t n = sort_rules(rs, p, kind, keys), next = 0;

	if (n == 0)
		return 0;
	if (size_table(t, keys, n))
		return err_set(e, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (place_rule(rs, t, &next, (uint32_t)(keys[i] >> 32),
			       &p->rules[keys[i] & UINT32_MAX], e))
			return -1;
	return 0;
}

static int make_tables(struct ruleset *rs, const struct policy *p, struct err *e)
{
	_cleanup_free_ keyed_rule *keys = calloc(p->n_rules + 1, sizeof(*keys));

	if (!keys)
		return err_set(e, "out of memory");
	if (make_table(rs, p, TARGET_NAME, &rs->exact, keys, e) ||
	    make_table(rs, p, TARGET_WILDCARD, &rs->below, keys, e) ||
	    make_table(rs, p, TARGET_PREFIX, &rs->prefixes, keys, e))
		return -1;
	return 0;
}

struct ruleset *ruleset_compile(const struct policy *p, uint64_t generation, struct err *e)
{
	struct ruleset *rs;

	if (policy_validate(p, e))
		return NULL;
	if (p->n_rules > RULESET_RULES_MAX) {
		err_set(e, "more than %d rules", RULESET_RULES_MAX);
		return NULL;
	}
	rs = calloc(1, sizeof(*rs));
	if (!rs || policy_copy_settings(p, &rs->policy)) {
		err_set(e, "out of memory");
		ruleset_free(rs);
		return NULL;
	}
	rs->generation = generation;
	choose_key(&rs->key);
	if (make_tables(rs, p, e)) {
		ruleset_free(rs);
		return NULL;
	}
	return rs;
}

static void free_table(struct table *t)
{
	for (size_t i = 0; i < t->n_slots; i++)
		rule_clear(&t->slots[i]);
	free(t->slots);
}

void ruleset_free(struct ruleset *rs)
{
	if (!rs)
		return;
	free_table(&rs->exact);
	free_table(&rs->below);
	free_table(&rs->prefixes);
	policy_free(&rs->policy);
	free(rs);
}

uint64_t ruleset_generation(const struct ruleset *rs)
{
	return rs->generation;
}

const struct policy *ruleset_policy(const struct ruleset *rs)
{
	return &rs->policy;
}

static size_t table_size(const struct table *t, size_t *names)
{
	size_t size = t->n_slots * sizeof(*t->slots);

	for (size_t i = 0; i < t->n_slots; i++) {
		const struct rule *r = &t->slots[i];

		*names += r->name_n;
		size += r->name_n >= RULE_NAME_INLINE ? r->name_n + 1u : 0;
		size += r->detail ? sizeof(*r->detail) : 0;
	}
	return size;
}

size_t ruleset_size(const struct ruleset *rs, size_t *names)
{
	*names = 0;
	return sizeof(*rs) + table_size(&rs->exact, names) + table_size(&rs->below, names) +
	       table_size(&rs->prefixes, names);
}
