/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade: from the format that listed hosts to the one that has permissions. */
#include "policy/match.h"
#include "policy/permission.h"
#include "policy/rule.h"

struct upgrade {
	struct policy *p;
	struct rule_list covers; /* the rules of the permissions that are taken */
	struct err *e;
};

/* What the agent or a person's answer would add to is wider than its own rules say. */
static bool may_be_taken(const struct permission *p)
{
	return p->rules && *p->rules && !p->web && !p->asks && !p->personal && !p->host_port &&
	       !p->includes && !permission_writes(p) && strcmp(p->id, "update") != 0 &&
	       strcmp(p->id, "sign-in") != 0;
}

static bool is_admitted(const struct rule *rules, size_t n, const struct rule *r)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].effect == EFFECT_ALLOW && rule_admits_all_of(&rules[i], r))
			return true;
	return false;
}

/* A deny wins over a permission however specific a rule was, so such rules stay as they are. */
static bool is_denied_in_part(const struct policy *p, const struct rule *r)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *deny = &p->rules[i];

		if (deny->effect == EFFECT_DENY &&
		    (rule_target_holds(deny, r) || rule_target_holds(r, deny)))
			return true;
	}
	return false;
}

/* Parses the rules of a permission; all of them are listed, or none is kept. 1, 0 or -1. */
static int is_listed_whole(struct upgrade *u, const struct permission *p, struct rule_list *rules)
{
	struct rule r;

	for (const char *const *text = p->rules; *text; text++) {
		bool listed;

		if (rule_parse_short(span_of_string(*text), EFFECT_ALLOW, &r, u->e))
			return err_prefix(u->e, "permission %s: `%s`", p->id, *text);
		listed =
			is_admitted(u->p->rules, u->p->n_rules, &r) && !is_denied_in_part(u->p, &r);
		if (rule_list_take(rules, &r, u->e))
			return -1;
		if (!listed)
			return 0;
	}
	return 1;
}

static int take_permission(struct upgrade *u, const struct permission *p)
{
	struct rule_list rules = {0};
	int listed = is_listed_whole(u, p, &rules);

	for (size_t i = 0; listed == 1 && i < rules.n; i++)
		if (rule_list_take(&u->covers, &rules.v[i], u->e))
			listed = -1;
	rule_list_free(&rules);
	if (listed == 1 && policy_add_permission(u->p, p->id, u->e))
		return -1;
	return listed < 0 ? -1 : 0;
}

static void drop_covered(struct upgrade *u)
{
	struct policy *p = u->p;
	size_t kept = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].effect == EFFECT_ALLOW &&
		    is_admitted(u->covers.v, u->covers.n, &p->rules[i]))
			rule_clear(&p->rules[i]);
		else
			p->rules[kept++] = p->rules[i];
	}
	p->n_rules = kept;
}

int policy_upgrade(struct policy *p, const struct catalogue *c, struct err *e)
{
	struct upgrade u = {.p = p, .e = e};
	int rc = 0;

	if (p->format == POLICY_FORMAT_VERSION)
		return 0;
	for (size_t i = 0; i < c->n_permissions && rc == 0; i++)
		if (may_be_taken(&c->permissions[i]))
			rc = take_permission(&u, &c->permissions[i]);
	if (rc == 0) {
		drop_covered(&u);
		p->format = POLICY_FORMAT_VERSION;
	}
	rule_list_free(&u.covers);
	return rc;
}
