/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/operation_host.h"

#include "policy/match.h"
#include "policy/ruleset.h"

/* The rules of permissions that fit the name, or the address where there is no name. */
static void find_rules(const struct ruleset *rs, const struct destination *d, struct levels *levels)
{
	const struct layer_rules *layer = &rs->layers[LAYER_PERMISSIONS];
	struct name_question q;

	levels->n = 0;
	if (!ruleset_has_layer(rs, LAYER_PERMISSIONS))
		return;
	if (d->name) {
		ruleset_ask_name(layer, d->name, &q);
		ruleset_find_name(&q, levels);
	} else if (d->addr) {
		ruleset_find_prefix(layer, d->addr, levels);
	}
}

static bool is_of_permission(const struct rule *r, const struct destination *d)
{
	return r->effect == EFFECT_ALLOW && r->detail && r->detail->permission &&
	       rule_covers_port(r, d->proto, d->port);
}

/* Some hosts that a permission has depend on the agent, and stand in the ruleset only. */
static bool has_rule(const struct ruleset *rs, const struct permission *p,
		     const struct destination *d)
{
	struct levels levels;

	find_rules(rs, d, &levels);
	for (unsigned i = 0; i < levels.n; i++)
		for (const struct rule *r = levels.rule[i]; r; r = ruleset_next(r))
			if (is_of_permission(r, d) && strcmp(r->detail->permission, p->id) == 0)
				return true;
	return false;
}

bool permission_has_host(const struct ruleset *rs, const struct permission *p,
			 const struct destination *d)
{
	return permission_covers(p, d) || has_rule(rs, p, d);
}

static bool names_host(const struct operation *o, const struct destination *d)
{
	return d->name && strcmp(o->host, d->name->s) == 0;
}

bool operation_is_about(const struct ruleset *rs, const struct permission *p,
			const struct operation *o, const struct destination *d)
{
	return o->host ? names_host(o, d) : permission_has_host(rs, p, d);
}

bool permission_has_operation(const struct ruleset *rs, const struct permission *p,
			      const struct destination *d)
{
	for (size_t i = 0; i < p->n_operations; i++)
		if (operation_is_about(rs, p, &p->operations[i], d))
			return true;
	return false;
}

/* The same of a permission that is known to have the host. */
static bool has_operation_there(const struct permission *p, const struct destination *d)
{
	for (size_t i = 0; i < p->n_operations; i++)
		if (!p->operations[i].host || names_host(&p->operations[i], d))
			return true;
	return false;
}

bool permissions_narrow(const struct ruleset *rs, const struct catalogue *c,
			const struct destination *d)
{
	struct levels levels;
	bool narrow = false;

	find_rules(rs, d, &levels);
	for (unsigned i = 0; i < levels.n; i++)
		for (const struct rule *r = levels.rule[i]; r; r = ruleset_next(r)) {
			const struct permission *p;

			if (!is_of_permission(r, d))
				continue;
			p = catalogue_permission(c, r->detail->permission);
			if (p && !has_operation_there(p, d))
				return false;
			narrow = narrow || p;
		}
	return narrow;
}
