/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change: from a policy and a change of it to the policy that follows.
 *
 * Theory of operation. The change is made to a copy, piece by piece: what is removed, the preset,
 * what is denied, what is allowed. The copy is resolved before each permission, to see what is on
 * without it, and at the end; only then it is given out. So a change is made whole or not at all.
 */
#include "policy/change.h"

#include <stdio.h>

#include "base/nearest.h"
#include "policy/match.h"
#include "policy/quote.h"
#include "policy/rule.h"

struct making {
	const struct policy_sources *s;
	struct policy *to;
	struct err *e;
};

static int no_memory(const struct making *m)
{
	return err_set(m->e, "out of memory");
}

/* ---- The preset ---- */

/* A credential of a person's is not a preset's to take: what was switched on by name stays. */
static int keep_personal(struct making *m)
{
	char **before = m->to->permissions;
	int rc = 0;

	m->to->permissions = NULL;
	for (char **id = before; id && *id && rc == 0; id++) {
		const struct permission *p = catalogue_permission(m->s->catalogue, *id);

		if (p && p->personal)
			rc = policy_add_permission(m->to, *id, m->e);
	}
	string_list_free(before);
	return rc;
}

static int choose_preset(struct making *m, const char *name)
{
	return policy_set_network(m->to, name, m->e) || keep_personal(m) ? -1 : 0;
}

/* ---- Permissions ---- */

/* Resolves what there is so far, to see whether an id is on. 0, 1, or -1. */
static int is_on(struct making *m, const char *id)
{
	if (policy_resolve(m->to, m->s, m->e))
		return -1;
	return string_list_has(m->to->resolved.on, id);
}

static int forget_permission(struct making *m, const char *id)
{
	_cleanup_free_ char *off = NULL;

	if (asprintf(&off, "-%s", id) < 0) {
		off = NULL;
		return no_memory(m);
	}
	string_list_remove(&m->to->permissions, id);
	string_list_remove(&m->to->permissions, off);
	return 0;
}

/*
 * "id" or "-id". It is written down, at the end of the list, where what is there would decide
 * otherwise. A personal permission is always written down: it is on because it was named.
 */
static int set_permission(struct making *m, const char *word)
{
	bool on = word[0] != '-';
	const char *id = on ? word : word + 1;
	const struct permission *p = catalogue_permission(m->s->catalogue, id);
	bool by_name = p && p->personal && on;
	int now = is_on(m, id);

	if (now >= 0 && (now == 1) == on && string_list_has(m->to->permissions, word))
		return 0;
	if (now < 0 || forget_permission(m, id))
		return -1;
	now = is_on(m, id);
	if (now < 0)
		return -1;
	return (now == 1) == on && !by_name ? 0 : policy_add_permission(m->to, word, m->e);
}

/* ---- Rules ---- */

static void take_out(struct policy *p, size_t i)
{
	rule_clear(&p->rules[i]);
	p->n_rules--;
	memmove(&p->rules[i], &p->rules[i + 1], (p->n_rules - i) * sizeof(*p->rules));
}

/*
 * Of two rules for one target deny wins, so what is allowed now cannot stand beside a deny that it
 * meets; a deny takes out what it takes all of. A more specific exception is another rule, and
 * stays.
 */
static bool yields(const struct rule *old, const struct rule *new)
{
	if (old->effect == new->effect || !rule_has_same_target(old, new))
		return false;
	return new->effect == EFFECT_ALLOW ? rule_scopes_meet(old, new)
					   : rule_takes_all_of(new, old);
}

/* Does the organisation itself except some of it from a deny of theirs? */
static bool is_excepted(const struct organisation *o, const struct rule *deny, const struct rule *r)
{
	for (size_t i = 0; i < o->rules.n; i++) {
		const struct rule *allow = &o->rules.v[i];

		if (allow->effect == EFFECT_ALLOW && !rule_has_same_target(allow, deny) &&
		    rule_target_holds(deny, allow) && rule_target_holds(allow, r) &&
		    rule_scopes_meet(allow, r))
			return true;
	}
	return false;
}

static int refuse_organisation(struct making *m, const struct rule *r)
{
	const struct organisation *o = m->s->organisation;
	char text[RULE_TEXT_MAX], denied[RULE_TEXT_MAX];

	if (!o || !o->present || r->effect == EFFECT_DENY)
		return 0;
	for (size_t i = 0; i < o->rules.n; i++) {
		const struct rule *deny = &o->rules.v[i];

		if (deny->effect == EFFECT_DENY && rule_target_holds(deny, r) &&
		    rule_takes_all_of(deny, r) && !is_excepted(o, deny, r))
			return err_set(m->e,
				       "`%s` cannot be allowed: the organisation's policy denies "
				       "`%s`, which nobody below can change",
				       rule_format(r, text), rule_format(deny, denied));
	}
	return 0;
}

static int set_rule(struct making *m, struct rule *r)
{
	struct policy *p = m->to;

	if (refuse_organisation(m, r))
		return -1;
	for (size_t i = p->n_rules; i > 0; i--)
		if (yields(&p->rules[i - 1], r))
			take_out(p, i - 1);
	for (size_t i = 0; i < p->n_rules; i++)
		if (rule_says_same(&p->rules[i], r))
			return 0;
	return policy_take_rule(p, r, m->e);
}

/* ---- Items ---- */

/* What an item says stands alone in `one`; a base of NET_BASES is none. */
static int set_one(struct making *m, struct policy *one)
{
	if (one->network != NET_BASES) {
		m->to->network = one->network;
		if (keep_personal(m))
			return -1;
	}
	for (char **word = one->permissions; word && *word; word++)
		if (set_permission(m, *word))
			return -1;
	for (size_t i = 0; i < one->n_rules; i++)
		if (set_rule(m, &one->rules[i]))
			return -1;
	return 0;
}

static int set_item(struct making *m, enum effect effect, const char *item)
{
	struct policy one;
	int rc;

	policy_init(&one);
	one.network = NET_BASES;
	rc = policy_add_item(&one, m->s->catalogue, effect, item, m->e);
	if (rc == 0)
		rc = set_one(m, &one);
	policy_free(&one);
	return rc;
}

static int set_items(struct making *m, enum effect effect, const char *const *items)
{
	for (; items && *items; items++)
		if (set_item(m, effect, *items))
			return -1;
	return 0;
}

/* ---- Removing ---- */

static bool is_printed_as(const struct rule *r, const char *text)
{
	char printed[RULE_TEXT_MAX];

	return strcmp(rule_format(r, printed), text) == 0;
}

static bool remove_printed(struct policy *p, const char *text)
{
	size_t before = p->n_rules;

	for (size_t i = before; i > 0; i--)
		if (is_printed_as(&p->rules[i - 1], text))
			take_out(p, i - 1);
	return p->n_rules != before;
}

/* As it is printed, or spelt in another way. */
static bool remove_rule(struct policy *p, const char *text)
{
	char printed[RULE_TEXT_MAX];
	struct rule r;
	struct err ignored;

	if (remove_printed(p, text))
		return true;
	for (int effect = EFFECT_DENY; effect <= EFFECT_ALLOW; effect++) {
		if (rule_parse_short(span_of_string(text), (enum effect)effect, &r, &ignored))
			continue;
		rule_format(&r, printed);
		rule_clear(&r);
		return remove_printed(p, printed);
	}
	return false;
}

static int refuse_absent(struct making *m, const char *item)
{
	struct nearest near = nearest_to(item);
	struct err ignored;
	char shown[QUOTE_MAX], printed[RULE_TEXT_MAX], word[RULE_TEXT_MAX] = "";

	quote_string(item, shown);
	if (is_on(&(struct making){m->s, m->to, &ignored}, item) == 1)
		return err_set(m->e, "%s is on by the base `%s`; deny it to take it away", shown,
			       network_base_name(m->to->network));
	for (char **id = m->to->permissions; id && *id; id++)
		nearest_offer(&near, *id);
	for (size_t i = 0; i < m->to->n_rules; i++) {
		nearest_offer(&near, rule_format(&m->to->rules[i], printed));
		if (near.word == printed)
			near.word = strcpy(word, printed);
	}
	if (near.word)
		return err_set(m->e, "%s is not in the policy; did you mean `%s`?", shown,
			       near.word);
	return err_set(m->e, "%s is not in the policy, so it cannot be taken out", shown);
}

static int remove_items(struct making *m, const char *const *items)
{
	for (; items && *items; items++)
		if (!string_list_remove(&m->to->permissions, *items) && !remove_rule(m->to, *items))
			return refuse_absent(m, *items);
	return 0;
}

/* ---- All of it ---- */

static int refuse_both(const struct policy_change *c, struct err *e)
{
	for (const char *const *a = c->allow; a && *a; a++)
		for (const char *const *d = c->deny; d && *d; d++)
			if (strcmp(*a, *d) == 0)
				return err_set(e, "`%s` is to be allowed and denied; leave one out",
					       *a);
	return 0;
}

static int make(struct making *m, const struct policy_change *c)
{
	if (refuse_both(c, m->e))
		return -1;
	/* A preset lets go of permissions as well: those that are named as removed are still there.
	 */
	if (remove_items(m, c->remove) || (c->preset && choose_preset(m, c->preset)))
		return -1;
	if (set_items(m, EFFECT_DENY, c->deny) || set_items(m, EFFECT_ALLOW, c->allow))
		return -1;
	return policy_validate(m->to, m->e) || policy_resolve(m->to, m->s, m->e) ? -1 : 0;
}

static bool is_same(const struct policy *a, const struct policy *b)
{
	if (a->network != b->network || !string_list_equal(a->permissions, b->permissions) ||
	    a->n_rules != b->n_rules)
		return false;
	for (size_t i = 0; i < a->n_rules; i++)
		if (!rule_says_same(&a->rules[i], &b->rules[i]))
			return false;
	return true;
}

int policy_apply_change(const struct policy *from, const struct policy_change *change,
			const struct policy_sources *s, struct policy *to, bool *changed,
			struct err *e)
{
	struct making m = {.s = s, .to = to, .e = e};

	*changed = false;
	policy_init(to);
	if (policy_copy(from, to, e))
		return -1;
	if (make(&m, change)) {
		policy_free(to);
		return -1;
	}
	*changed = !is_same(from, to);
	return 0;
}
