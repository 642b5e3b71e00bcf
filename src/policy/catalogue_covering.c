/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalogue_covering: the permission that a person would switch on for a destination.
 *
 * The gate asks for every refusal that it tells of, so the hosts are compared as text first: rules
 * of the catalogue are canonical, as names are. Only a rule whose host fits is parsed, for its
 * ports to be matched as decide() matches them.
 */
#include "policy/match.h"
#include "policy/permission.h"
#include "policy/rule.h"

/* Does the rule's host end there: at its ports, its protocol, or its end? */
static bool ends_host(const char *s)
{
	return *s == 0 || *s == ':' || *s == '/';
}

static bool name_fits(const char *rule, const struct name *name)
{
	size_t n;

	if (rule[0] != '*')
		return rule[0] == name->s[0] && strncmp(rule, name->s, name->n) == 0 &&
		       ends_host(rule + name->n);
	/* The dot is compared as well, and something stands before it. */
	n = strcspn(rule, ":/");
	return name->n >= n && memcmp(rule + 1, name->s + name->n - (n - 1), n - 1) == 0;
}

/* Whether the first octets could be those of an address: no rule by name is parsed for one. */
static bool is_by_address(const char *rule)
{
	return rule[0] == '[' || strchr(rule, '/') || (rule[0] >= '0' && rule[0] <= '9');
}

static bool parsed_fits(const char *text, const struct destination *d)
{
	struct rule rule;
	struct err e;
	bool fits;

	if (rule_parse_short(span_of_string(text), EFFECT_ALLOW, &rule, &e))
		return false;
	fits = d->kind == DEST_LOOKUP || rule_covers_port(&rule, d->proto, d->port);
	if (!d->name)
		fits = fits && rule.kind == TARGET_PREFIX && prefix_contains(&rule.prefix, d->addr);
	rule_clear(&rule);
	return fits;
}

static bool rule_fits(const char *rule, const struct destination *d)
{
	if (d->name ? !name_fits(rule, d->name) : !is_by_address(rule))
		return false;
	return parsed_fits(rule, d);
}

bool permission_covers(const struct permission *p, const struct destination *d)
{
	for (const char *const *rule = p->rules; *rule; rule++)
		if (rule_fits(*rule, d))
			return true;
	return false;
}

static bool admits(const struct catalogue *c, const struct permission *p,
		   const struct destination *d)
{
	if (permission_covers(p, d))
		return true;
	for (const char *const *in = p->includes; in && *in; in++)
		if (admits(c, catalogue_permission(c, *in), d))
			return true;
	return false;
}

/* With those of what it includes. */
static size_t count_rules(const struct catalogue *c, const struct permission *p)
{
	size_t n = 0;

	while (p->rules[n])
		n++;
	for (const char *const *in = p->includes; in && *in; in++)
		n += count_rules(c, catalogue_permission(c, *in));
	return n;
}

/* What a command that nobody weighed may switch on, by itself and by what it includes. */
static bool is_harmless(const struct catalogue *c, const struct permission *p)
{
	if (p->asks || p->web || p->personal || permission_writes(p))
		return false;
	for (const char *const *in = p->includes; in && *in; in++)
		if (!is_harmless(c, catalogue_permission(c, *in)))
			return false;
	return true;
}

static bool is_on(const char *id, char *const *on)
{
	for (; on && *on; on++)
		if (strcmp(id, *on) == 0)
			return true;
	return false;
}

static bool is_standard(const struct catalogue *c, const struct permission *p)
{
	const struct preset *standard = catalogue_preset(c, "standard");

	return standard && catalogue_preset_has(c, standard, p->id);
}

static bool is_better(const struct catalogue *c, const struct permission *a,
		      const struct permission *b)
{
	bool first = is_standard(c, a), second = is_standard(c, b);

	return first != second ? first : count_rules(c, a) < count_rules(c, b);
}

const struct permission *catalogue_covering(const struct catalogue *c, const struct destination *d,
					    char *const *on)
{
	const struct permission *best = NULL;

	if (!d->name && !d->addr)
		return NULL;
	for (size_t i = 0; i < c->n_permissions; i++) {
		const struct permission *p = &c->permissions[i];

		if (admits(c, p, d) && !is_on(p->id, on) && is_harmless(c, p) &&
		    (!best || is_better(c, p, best)))
			best = p;
	}
	return best;
}
