/* SPDX-License-Identifier: Apache-2.0 */
/* compile: from a policy that is resolved to the ruleset that decide() reads. */
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

static void note_wildcard(struct layer_rules *layer, struct rule *r)
{
	unsigned labels = count_labels(rule_name(r), r->name_n);

	r->near_resolver = is_near_resolver(r);
	level_set_add(&layer->below_labels, labels);
	if (labels > layer->below_labels_max)
		layer->below_labels_max = labels;
}

static void note_level(struct layer_rules *layer, struct rule *r)
{
	if (r->kind == TARGET_WILDCARD)
		note_wildcard(layer, r);
	if (r->kind == TARGET_PREFIX)
		level_set_add(addr_is_v4(&r->prefix.addr) && r->prefix.bits >= 96 ? &layer->v4_bits
										  : &layer->v6_bits,
			      r->prefix.bits);
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

static uint32_t hash_rule(const struct layer_rules *layer, const struct rule *r)
{
	return r->kind == TARGET_PREFIX ? hash_prefix(&layer->key, &r->prefix)
					: hash_octets(&layer->key, rule_name(r), r->name_n);
}

static int by_key(const void *a, const void *b)
{
	keyed_rule x = *(const keyed_rule *)a, y = *(const keyed_rule *)b;

	return x < y ? -1 : x > y;
}

/* The rules of one kind in ascending order of hash, those of one target as they were written. */
static size_t sort_rules(const struct layer_rules *layer, const struct rule *rules, size_t n_rules,
			 enum target_kind kind, keyed_rule *out)
{
	size_t n = 0;

	for (size_t i = 0; i < n_rules; i++)
		if (rules[i].kind == kind)
			out[n++] = (uint64_t)hash_rule(layer, &rules[i]) << 32 | i;
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

/* Of which permission it is counts as well: each has operations of its own. */
static bool is_repeated(const struct rule *a, const struct rule *b)
{
	const char *x = a->detail ? a->detail->permission : NULL;
	const char *y = b->detail ? b->detail->permission : NULL;

	return rule_says_same(a, b) && (x && y ? strcmp(x, y) == 0 : x == y);
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
		if (is_repeated(other, r))
			return 1;
		if (++chain == RULESET_CHAIN_MAX)
			return refuse_chain(r, e);
	}
	return 0;
}

static int place_rule(struct layer_rules *layer, struct table *t, size_t *next, uint32_t hash,
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
	note_level(layer, slot);
	*next = (size_t)(slot - t->slots) + 1;
	return 0;
}

/* The rules of one author, on their way into a layer. */
struct source {
	const struct rule *rules;
	size_t n;
	keyed_rule *keys; /* n of them */
};

static int make_table(struct layer_rules *layer, const struct source *from, enum target_kind kind,
		      struct table *t, struct err *e)
{
	size_t n = sort_rules(layer, from->rules, from->n, kind, from->keys), next = 0;

	if (n == 0)
		return 0;
	if (size_table(t, from->keys, n))
		return err_set(e, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (place_rule(layer, t, &next, (uint32_t)(from->keys[i] >> 32),
			       &from->rules[from->keys[i] & UINT32_MAX], e))
			return -1;
	return 0;
}

static int make_layer(struct layer_rules *layer, const struct rule *rules, size_t n, struct err *e)
{
	_cleanup_free_ keyed_rule *keys = calloc(n + 1, sizeof(*keys));
	struct source from = {.rules = rules, .n = n, .keys = keys};

	if (!keys)
		return err_set(e, "out of memory");
	if (n > RULESET_RULES_MAX)
		return err_set(e, "more than %d rules", RULESET_RULES_MAX);
	choose_key(&layer->key);
	if (make_table(layer, &from, TARGET_NAME, &layer->exact, e) ||
	    make_table(layer, &from, TARGET_WILDCARD, &layer->below, e) ||
	    make_table(layer, &from, TARGET_PREFIX, &layer->prefixes, e))
		return -1;
	return 0;
}

static bool denies_names(const struct rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].effect == EFFECT_DENY && rules[i].kind != TARGET_PREFIX)
			return true;
	return false;
}

static void note_layer(struct ruleset *rs, enum layer layer, size_t n)
{
	rs->next[layer] = n ? layer : rs->next[layer + 1];
}

static int make_layers(struct ruleset *rs, const struct policy *p, struct err *e)
{
	const struct rule_list *organisation = &p->resolved.organisation;
	const struct rule_list *permissions = &p->resolved.permissions;

	rs->next[LAYERS] = LAYERS;
	note_layer(rs, LAYER_PERMISSIONS, permissions->n);
	note_layer(rs, LAYER_ORGANISATION, organisation->n);
	note_layer(rs, LAYER_OWN, p->n_rules);
	rs->denies_names = denies_names(p->rules, p->n_rules) ||
			   denies_names(organisation->v, organisation->n);
	return make_layer(&rs->layers[LAYER_OWN], p->rules, p->n_rules, e) ||
			       make_layer(&rs->layers[LAYER_ORGANISATION], organisation->v,
					  organisation->n, e) ||
			       make_layer(&rs->layers[LAYER_PERMISSIONS], permissions->v,
					  permissions->n, e)
		       ? -1
		       : 0;
}

struct ruleset *ruleset_compile(const struct policy *p, uint64_t generation, struct err *e)
{
	struct ruleset *rs;

	if (policy_validate(p, e))
		return NULL;
	rs = calloc(1, sizeof(*rs));
	if (!rs || policy_copy_settings(p, &rs->policy)) {
		err_set(e, "out of memory");
		ruleset_free(rs);
		return NULL;
	}
	rs->generation = generation;
	if (make_layers(rs, p, e)) {
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

struct ruleset *ruleset_compile_wire(struct span wire, uint64_t generation, struct err *e)
{
	struct ruleset *rules;
	struct policy p;

	if (policy_parse_wire(wire, &p, e) != 0)
		return NULL;
	rules = ruleset_compile(&p, generation, e);
	policy_free(&p);
	return rules;
}

static int by_octet(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* glibc's qsort() asks how much memory there is, once, the first time it sorts more than 1 KiB. */
void ruleset_prepare(void)
{
	uint8_t octets[2048] = {0};

	qsort(octets, sizeof(octets), 1, by_octet);
}

void ruleset_free(struct ruleset *rs)
{
	if (!rs)
		return;
	for (unsigned i = 0; i < LAYERS; i++) {
		free_table(&rs->layers[i].exact);
		free_table(&rs->layers[i].below);
		free_table(&rs->layers[i].prefixes);
	}
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
	size_t size = sizeof(*rs);

	*names = 0;
	for (unsigned i = 0; i < LAYERS; i++)
		size += table_size(&rs->layers[i].exact, names) +
			table_size(&rs->layers[i].below, names) +
			table_size(&rs->layers[i].prefixes, names);
	return size;
}
