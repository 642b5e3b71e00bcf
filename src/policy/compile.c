/* SPDX-License-Identifier: Apache-2.0 */
/* compile: from the policy that a person wrote to the ruleset that decide() reads. */
#include <stdlib.h>

#include "policy/rule.h"
#include "policy/ruleset_index.h"

/* ---- The copy of the policy ---- */

static bool copy_array(void *out, const void *from, size_t n, size_t size)
{
	void *copy = NULL;

	if (n) {
		copy = malloc(n * size);
		if (!copy)
			return false;
		memcpy(copy, from, n * size);
	}
	memcpy(out, &copy, sizeof(copy));
	return true;
}

static bool copy_detail(const struct rule_detail *from, struct rule_detail **out)
{
	struct rule_detail *d = malloc(sizeof(*d));

	*out = d;
	if (!d)
		return false;
	*d = *from;
	d->methods = from->methods ? string_list_copy(from->methods) : NULL;
	d->paths = from->paths ? string_list_copy(from->paths) : NULL;
	d->note = from->note ? strdup(from->note) : NULL;
	return !d->methods == !from->methods && !d->paths == !from->paths &&
	       !d->note == !from->note;
}

static size_t size_of_names(const struct policy *p)
{
	size_t size = 0;

	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].name)
			size += p->rules[i].name_n + 1u;
	return size;
}

static bool copy_rules(struct ruleset *rs, const struct policy *p)
{
	char *name;

	rs->names_size = size_of_names(p);
	rs->names = name = malloc(rs->names_size ? rs->names_size : 1);
	rs->policy.rules = calloc(p->n_rules ? p->n_rules : 1, sizeof(*p->rules));
	if (!rs->names || !rs->policy.rules)
		return false;
	rs->policy.n_rules = rs->policy.cap_rules = p->n_rules;
	for (size_t i = 0; i < p->n_rules; i++) {
		struct rule *r = &rs->policy.rules[i];

		*r = p->rules[i];
		r->detail = NULL;
		if (r->name) {
			memcpy(name, r->name, r->name_n + 1u);
			r->name = name;
			name += r->name_n + 1u;
		}
	}
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].detail &&
		    !copy_detail(p->rules[i].detail, &rs->policy.rules[i].detail))
			return false;
	return true;
}

static bool copy_policy(struct ruleset *rs, const struct policy *p)
{
	struct policy *to = &rs->policy;

	*to = *p;
	to->rules = NULL;
	to->n_rules = to->cap_rules = 0;
	to->permissions = NULL;
	to->host_ports = NULL;
	to->publish = NULL;
	if (p->permissions) {
		to->permissions = string_list_copy(p->permissions);
		if (!to->permissions)
			return false;
	}
	return copy_array(&to->host_ports, p->host_ports, p->n_host_ports,
			  sizeof(*p->host_ports)) &&
	       copy_array(&to->publish, p->publish, p->n_publish, sizeof(*p->publish)) &&
	       copy_rules(rs, p);
}

/* ---- The tables ---- */

static struct table *table_of(struct ruleset *rs, const struct rule *r)
{
	return r->kind == TARGET_NAME	    ? &rs->exact
	       : r->kind == TARGET_WILDCARD ? &rs->below
					    : &rs->prefixes;
}

static uint64_t hash_of(const struct rule *r)
{
	return r->kind == TARGET_PREFIX ? prefix_hash(&r->prefix) : name_hash(r->name, r->name_n);
}

static bool has_same_target(const struct rule *a, const struct rule *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == TARGET_PREFIX)
		return a->prefix.bits == b->prefix.bits &&
		       addr_equal(&a->prefix.addr, &b->prefix.addr);
	return a->name_n == b->name_n && memcmp(a->name, b->name, a->name_n) == 0;
}

static bool make_table(struct table *t, size_t rules)
{
	size_t slots = 4;

	if (rules == 0)
		return true;
	while (slots < 2 * rules)
		slots *= 2;
	t->mask = (uint32_t)(slots - 1);
	t->slots = calloc(slots, sizeof(*t->slots));
	return t->slots != NULL;
}

static bool make_tables(struct ruleset *rs)
{
	size_t n[3] = {0};

	for (size_t i = 0; i < rs->policy.n_rules; i++)
		n[rs->policy.rules[i].kind]++;
	return make_table(&rs->exact, n[TARGET_NAME]) &&
	       make_table(&rs->below, n[TARGET_WILDCARD]) &&
	       make_table(&rs->prefixes, n[TARGET_PREFIX]);
}

static bool is_same_list(char *const *a, char *const *b)
{
	if (!a || !b)
		return a == b;
	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return *a == *b; /* both ended */
}

/* True when a second rule says what the first says, whatever its note. */
static bool is_repetition(const struct rule *a, const struct rule *b)
{
	struct rule_scope sa = rule_scope_of(a), sb = rule_scope_of(b);
	const struct rule_detail *da = a->detail, *db = b->detail;

	return a->effect == b->effect && a->raw == b->raw && a->private_ok == b->private_ok &&
	       sa.protos == sb.protos && sa.n == sb.n &&
	       memcmp(sa.ports, sb.ports, sa.n * sizeof(*sa.ports)) == 0 &&
	       is_same_list(da ? da->methods : NULL, db ? db->methods : NULL) &&
	       is_same_list(da ? da->paths : NULL, db ? db->paths : NULL);
}

static int refuse_chain(const struct rule *r, struct err *e)
{
	char text[RULE_TEXT_MAX];

	return err_set(e, "more than %d different rules for the target of `%s`; join their ports",
		       RULESET_CHAIN_MAX, rule_format(r, text));
}

/* Links the rule behind those with its target, unless one of them says the same. */
static int chain_rule(struct ruleset *rs, uint32_t first, uint32_t rule, struct err *e)
{
	struct rule *rules = rs->policy.rules;
	unsigned length = 1;

	if (!rs->next)
		rs->next = calloc(rs->policy.n_rules, sizeof(*rs->next));
	if (!rs->next)
		return err_set(e, "out of memory");
	for (;; first = rs->next[first] - 1, length++) {
		if (is_repetition(&rules[first], &rules[rule]))
			return 0;
		if (!rs->next[first])
			break;
	}
	if (length >= RULESET_CHAIN_MAX)
		return refuse_chain(&rules[rule], e);
	rs->next[first] = rule + 1;
	return 0;
}

static int insert_rule(struct ruleset *rs, uint32_t rule, struct err *e)
{
	const struct rule *r = &rs->policy.rules[rule];
	struct table *t = table_of(rs, r);
	uint64_t hash = hash_of(r);
	uint32_t tag = (uint32_t)(hash >> 32);

	for (uint32_t at = (uint32_t)hash;; at++) {
		struct slot *slot = &t->slots[at & t->mask];

		if (slot->rule == 0) {
			*slot = (struct slot){.tag = tag, .rule = rule + 1};
			return 0;
		}
		if (slot->tag == tag && has_same_target(&rs->policy.rules[slot->rule - 1], r))
			return chain_rule(rs, slot->rule - 1, rule, e);
	}
}

static void note_level(struct ruleset *rs, const struct rule *r)
{
	if (r->kind == TARGET_WILDCARD)
		level_set_add(&rs->below_labels, count_labels(r->name, r->name_n));
	if (r->kind == TARGET_PREFIX)
		level_set_add(addr_is_v4(&r->prefix.addr) && r->prefix.bits >= 96 ? &rs->v4_bits
										  : &rs->v6_bits,
			      r->prefix.bits);
	if (r->kind != TARGET_PREFIX && r->effect == EFFECT_DENY)
		rs->denies_names = true;
}

static int index_rules(struct ruleset *rs, struct err *e)
{
	if (!make_tables(rs))
		return err_set(e, "out of memory");
	for (size_t i = 0; i < rs->policy.n_rules; i++) {
		if (insert_rule(rs, (uint32_t)i, e))
			return -1;
		note_level(rs, &rs->policy.rules[i]);
	}
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
	if (!rs || !copy_policy(rs, p)) {
		err_set(e, "out of memory");
		ruleset_free(rs);
		return NULL;
	}
	rs->generation = generation;
	if (index_rules(rs, e)) {
		ruleset_free(rs);
		return NULL;
	}
	return rs;
}

void ruleset_free(struct ruleset *rs)
{
	if (!rs)
		return;
	/* The names stand in one block, so a rule does not own its own here. */
	for (size_t i = 0; i < rs->policy.n_rules; i++)
		rs->policy.rules[i].name = NULL;
	policy_free(&rs->policy);
	free(rs->names);
	free(rs->next);
	free(rs->exact.slots);
	free(rs->below.slots);
	free(rs->prefixes.slots);
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

static size_t table_size(const struct table *t)
{
	return t->slots ? ((size_t)t->mask + 1) * sizeof(*t->slots) : 0;
}

size_t ruleset_overhead(const struct ruleset *rs)
{
	size_t size = sizeof(*rs) + rs->policy.n_rules * sizeof(*rs->policy.rules);

	for (size_t i = 0; i < rs->policy.n_rules; i++)
		if (rs->policy.rules[i].detail)
			size += sizeof(*rs->policy.rules[i].detail);
	if (rs->next)
		size += rs->policy.n_rules * sizeof(*rs->next);
	return size + table_size(&rs->exact) + table_size(&rs->below) + table_size(&rs->prefixes);
}
