/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve: from the names in a policy to the rules they stand for.
 *
 * Theory of operation. The permissions of a catalogue are numbered by their place in it, and a set
 * of them is an array of flags. The set that is on begins as the preset's; then each word of the
 * person's list, in order, switches on or off what it stands for; then what the organisation
 * removed goes, and with it whatever includes what is not on. Rules are made of the set at the
 * end, so that no order of words can leave a host behind.
 */
#include "policy/credential_personal.h"
#include "policy/host_conflict.h"
#include "policy/permission.h"
#include "policy/rule.h"

enum { INCLUDES_DEPTH_MAX = 8 };

struct resolving {
	const struct policy_sources *s;
	const struct catalogue *c;
	bool *on;   /* by the place in the catalogue */
	bool named; /* the word is the person's, not a preset's */
	struct err *e;
};

/* Words that stand for the agent's or the project's own permissions. */
static const char word_model[] = "model", word_languages[] = "languages";

static size_t place_of(const struct catalogue *c, const struct permission *p)
{
	return (size_t)(p - c->permissions);
}

bool catalogue_knows(const struct catalogue *c, const char *word)
{
	return catalogue_permission(c, word) || strcmp(word, word_model) == 0 ||
	       strcmp(word, word_languages) == 0;
}

/* ---- Switching ---- */

static int switch_id(struct resolving *r, const char *id, bool on, unsigned depth);

static int switch_permission(struct resolving *r, const struct permission *p, bool on,
			     unsigned depth)
{
	if (on && p->personal && !r->named)
		return 0;
	if (depth > INCLUDES_DEPTH_MAX)
		return err_set(r->e, "permission `%s` includes itself; mend the catalogue", p->id);
	r->on[place_of(r->c, p)] = on;
	for (const char *const *id = p->includes; id && *id; id++)
		if (switch_id(r, *id, on, depth + 1))
			return -1;
	return 0;
}

static int switch_list(struct resolving *r, const char *const *ids, bool on, unsigned depth)
{
	for (; ids && *ids; ids++)
		if (switch_id(r, *ids, on, depth + 1))
			return -1;
	return 0;
}

/* What was found in a project earlier may not be in this catalogue any more; nobody named it. */
static int switch_languages(struct resolving *r, bool on, unsigned depth)
{
	for (char *const *id = r->s->languages; id && *id; id++)
		if (catalogue_permission(r->c, *id) && switch_id(r, *id, on, depth + 1))
			return -1;
	return 0;
}

/* Without an agent that is known, `model` stands for nothing; so do `languages` without any. */
static int switch_id(struct resolving *r, const char *id, bool on, unsigned depth)
{
	const struct permission *p = catalogue_permission(r->c, id);
	bool model = strcmp(id, word_model) == 0;

	if (strcmp(id, word_languages) == 0)
		return switch_languages(r, on, depth);
	if (model && r->s->agent && switch_list(r, r->s->agent->model, on, depth))
		return -1;
	if (p)
		return switch_permission(r, p, on, depth);
	return model ? 0 : catalogue_refuse_unknown(r->c, id, r->e);
}

static int switch_word(struct resolving *r, const char *word)
{
	bool on = word[0] != '-';
	const struct permission *p = on ? catalogue_permission(r->c, word) : NULL;

	if (p && p->instead)
		return err_set(r->e, "permission `%s` has no host by itself: %s", word, p->instead);
	return switch_id(r, on ? word : word + 1, on, 0);
}

static bool has_all(const struct resolving *r, const char *const *ids)
{
	for (; ids && *ids; ids++) {
		const struct permission *p = catalogue_permission(r->c, *ids);

		if (p && !r->on[place_of(r->c, p)])
			return false;
	}
	return true;
}

static bool has_some(const struct resolving *r, const char *const *ids)
{
	for (; ids && *ids; ids++) {
		const struct permission *p = catalogue_permission(r->c, *ids);

		if (p && r->on[place_of(r->c, p)])
			return true;
	}
	return false;
}

/* ---- Preset and organisation ---- */

static bool is_preset(enum network_base base)
{
	return base == NET_LOCKED || base == NET_STANDARD || base == NET_OPEN || base == NET_BAKE;
}

static int switch_preset(struct resolving *r, enum network_base base)
{
	const char *name = network_base_name(base);
	const struct preset *preset = is_preset(base) ? catalogue_preset(r->c, name) : NULL;

	if (!preset)
		return base == NET_OPEN || !is_preset(base)
			       ? 0
			       : err_set(r->e, "network `%s`: the catalogue has no such preset",
					 name);
	if (preset->open != (base == NET_OPEN))
		return err_set(r->e,
			       "network `%s`: the catalogue says `open: %s`, which the name "
			       "contradicts; mend the catalogue",
			       name, preset->open ? "true" : "false");
	r->named = false;
	return switch_list(r, preset->permissions, true, 0);
}

static int refuse_removed(const struct resolving *r, const char *id)
{
	return err_set(r->e,
		       "permission `%s` is taken away by the organisation's policy, which nobody "
		       "below can change; leave it out",
		       id);
}

/*
 * Of a group the rest stays when the organisation removes a part; a permission that is built on
 * what is removed cannot be had.
 */
static bool cannot_be_named(const struct resolving *gone, const struct permission *p)
{
	if (!p)
		return false;
	if (gone->on[place_of(gone->c, p)])
		return true;
	return (p->personal || (p->rules && *p->rules)) && has_some(gone, p->includes);
}

/* What the organisation removed goes, whatever switched it on; naming it is an error. */
static int switch_removed(struct resolving *r, const struct policy *p)
{
	const struct organisation *o = r->s->organisation;
	char **removed = o && o->present ? o->permissions_removed : NULL;
	_cleanup_free_ bool *gone = calloc(r->c->n_permissions + 1, sizeof(*gone));
	struct resolving all = {.s = r->s, .c = r->c, .on = gone, .named = true, .e = r->e};

	if (!gone)
		return err_set(r->e, "out of memory");
	for (; removed && *removed; removed++)
		if (switch_id(&all, *removed, true, 0))
			return -1;
	for (char **word = p->permissions; word && *word; word++)
		if (cannot_be_named(&all, catalogue_permission(r->c, *word)))
			return refuse_removed(r, *word);
	for (size_t i = 0; i < r->c->n_permissions; i++)
		r->on[i] = r->on[i] && !gone[i];
	return 0;
}

/* `model` is on while some permission is that it stands for. */
static bool is_whole(const struct resolving *r, const struct permission *p)
{
	if (strcmp(p->id, word_model) == 0)
		return r->s->agent && has_some(r, r->s->agent->model);
	return has_all(r, p->includes);
}

/* A permission is on only with all that it includes: taking one away takes those built on it. */
static void drop_partial(struct resolving *r)
{
	bool again;

	do {
		again = false;
		for (size_t i = 0; i < r->c->n_permissions; i++)
			if (r->on[i] && !is_whole(r, &r->c->permissions[i])) {
				r->on[i] = false;
				again = true;
			}
	} while (again);
}

static int switch_all(struct resolving *r, const struct policy *p, enum network_base base)
{
	if (switch_preset(r, base))
		return -1;
	r->named = true;
	for (char **word = p->permissions; word && *word; word++)
		if (switch_word(r, *word))
			return -1;
	if (switch_removed(r, p))
		return -1;
	drop_partial(r);
	return 0;
}

/* ---- A locked organisation ---- */

#define LOCKED "the organisation's policy is locked: "

static int check_locked_base(const struct policy *p, enum network_base most, struct err *e)
{
	bool wider = (p->network == NET_ANY && most != NET_ANY) ||
		     (p->network == NET_OPEN && most != NET_OPEN && most != NET_ANY);

	if (!wider)
		return 0;
	return err_set(e, LOCKED "network `%s` is wider than its `%s`; leave it out",
		       network_base_name(p->network), network_base_name(most));
}

static int check_locked_words(const struct policy *p, enum network_base most, struct err *e)
{
	char text[RULE_TEXT_MAX];

	if (check_locked_base(p, most, e))
		return -1;
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].effect == EFFECT_ALLOW)
			return err_set(e, LOCKED "`%s` cannot be allowed beside it; leave it out",
				       rule_format(&p->rules[i], text));
	if (p->n_host_ports)
		return err_set(
			e, LOCKED "port %u of the host cannot be opened; leave `host_ports` out",
			p->host_ports[0]);
	if (p->splice.n)
		return err_set(e,
			       LOCKED "`splice` would keep requests to %s from being judged; leave "
				      "it out",
			       p->splice.v[0].name);
	return 0;
}

/* A person may narrow what the organisation's default switches on, and add nothing to it. */
static int check_locked(const struct resolving *r, const struct policy *p)
{
	const struct organisation *o = r->s->organisation;
	enum network_base most = o->has_default_network ? o->default_network : NET_STANDARD;
	_cleanup_free_ bool *usual = calloc(r->c->n_permissions + 1, sizeof(*usual));
	struct resolving most_on = {.s = r->s, .c = r->c, .on = usual, .e = r->e};
	struct policy nothing = {.network = most};

	if (!usual)
		return err_set(r->e, "out of memory");
	if (check_locked_words(p, most, r->e) || switch_all(&most_on, &nothing, most))
		return -1;
	for (size_t i = 0; i < r->c->n_permissions && most != NET_ANY; i++)
		if (r->on[i] && !usual[i])
			return err_set(r->e,
				       LOCKED "permission `%s` is not among those of its `%s`; "
					      "leave it out",
				       r->c->permissions[i].id, network_base_name(most));
	return 0;
}

/* ---- Rules ---- */

static int add_rules(struct resolving *r, const struct permission *p, const char *const *rules,
		     struct resolved *out)
{
	struct rule rule;

	for (; rules && *rules; rules++) {
		if (rule_parse_short(span_of_string(*rules), EFFECT_ALLOW, &rule, r->e))
			return err_prefix(r->e, "permission %s: `%s`", p->id, *rules);
		if (!rule_need_detail(&rule, r->e) || !(rule.detail->permission = strdup(p->id))) {
			rule_clear(&rule);
			return err_set(r->e, "out of memory");
		}
		if (rule_list_take(&out->permissions, &rule, r->e))
			return -1;
	}
	return 0;
}

/* The rules that two permissions have for this agent, beyond their own. */
static const char *const *rules_of_agent(const struct resolving *r, const struct permission *p)
{
	if (r->s->agent && strcmp(p->id, "update") == 0)
		return r->s->agent->update;
	if (r->s->agent && strcmp(p->id, "sign-in") == 0)
		return r->s->agent->sign_in;
	return NULL;
}

static int add_host_port(struct resolved *out, uint16_t port, struct err *e)
{
	uint16_t *more;

	for (size_t i = 0; i < out->n_host_ports; i++)
		if (out->host_ports[i] == port)
			return 0;
	more = reallocarray(out->host_ports, out->n_host_ports + 1, sizeof(*more));
	if (!more)
		return err_set(e, "out of memory");
	out->host_ports = more;
	out->host_ports[out->n_host_ports++] = port;
	return 0;
}

static int add_permission(struct resolving *r, const struct permission *p, struct resolved *out)
{
	if (string_list_add(&out->on, p->id))
		return err_set(r->e, "out of memory");
	out->web |= p->web;
	if (p->host_port && add_host_port(out, p->host_port, r->e))
		return -1;
	return add_rules(r, p, p->rules, out) || add_rules(r, p, rules_of_agent(r, p), out) ? -1
											    : 0;
}

/* The catalogue is sorted by id, and so is `on`. */
static int fill(struct resolving *r, struct resolved *out)
{
	const struct organisation *o = r->s->organisation;

	for (size_t i = 0; i < r->c->n_permissions; i++)
		if (r->on[i] && add_permission(r, &r->c->permissions[i], out))
			return -1;
	if (o && o->present && rule_list_copy(o->rules.v, o->rules.n, &out->organisation))
		return err_set(r->e, "out of memory");
	out->done = true;
	return 0;
}

int policy_resolve(struct policy *p, const struct policy_sources *s, struct err *e)
{
	_cleanup_free_ bool *on = calloc(s->catalogue->n_permissions + 1, sizeof(*on));
	struct resolving r = {.s = s, .c = s->catalogue, .on = on, .e = e};
	const struct organisation *o = s->organisation;
	struct resolved made = {0};
	struct host_conflict unplaced;

	if (!on)
		return err_set(e, "out of memory");
	if (switch_all(&r, p, p->network) || (o && o->present && o->locked && check_locked(&r, p)))
		return -1;
	if (fill(&r, &made)) {
		resolved_free(&made);
		return -1;
	}
	resolved_free(&p->resolved);
	p->resolved = made;
	if (credentials_resolve(p))
		return err_set(e, "out of memory");
	/* Credentials of permissions, and the organisation's rules, are known only now. */
	return host_conflict_find(p, &unplaced, e);
}
