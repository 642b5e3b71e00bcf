/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalogue_check: what a catalogue must hold as a whole, after an administrator's file.
 *
 * The same as tools/permissions.py checks of what is compiled in.
 */
#include "policy/catalogue_read.h"
#include "policy/quote.h"

/* Of permissions that include each other; with the bound on one list it bounds every walk. */
enum { INCLUDES_DEPTH_MAX = 3, INCLUDES_MAX = 32 };

/* Where the file names an entry of a part; the file's begin for one that it leaves as it was. */
static const struct node *place_of(const struct catalogue_reading *r, const char *part,
				   const char *name)
{
	const struct node *root = &r->v.d->root, *map = NULL;

	for (size_t i = 0; i < root->n; i += 2)
		if (strcmp(root->items[i].text, part) == 0)
			map = &root->items[i + 1];
	for (size_t i = 0; map && i < map->n; i += 2)
		if (strcmp(map->items[i].text, name) == 0)
			return &map->items[i];
	return root;
}

static int check_known(const struct catalogue_reading *r, const struct node *at, const char *who,
		       const char *const *ids)
{
	char shown[QUOTE_MAX];

	for (; ids && *ids; ids++) {
		const char *near;

		if (catalogue_permission(r->c, *ids))
			continue;
		near = catalogue_nearest(r->c, *ids);
		quote_string(*ids, shown);
		if (near)
			return node_error(r->v.d, at, r->v.e,
					  "`%s`: permission %s is not known; did you mean `%s`?",
					  who, shown, near);
		return node_error(r->v.d, at, r->v.e, "`%s`: permission %s is not known", who,
				  shown);
	}
	return 0;
}

/* ---- Permissions ---- */

static int check_depth(const struct catalogue_reading *r, const struct node *at, const char *who,
		       const struct permission *p, unsigned depth)
{
	if (depth > INCLUDES_DEPTH_MAX)
		return node_error(r->v.d, at, r->v.e,
				  "`%s` includes itself, or more than %d permissions deep", who,
				  INCLUDES_DEPTH_MAX);
	for (size_t i = 0; p->includes && p->includes[i]; i++) {
		if (i == INCLUDES_MAX)
			return node_error(r->v.d, at, r->v.e, "`%s` includes more than %d", p->id,
					  INCLUDES_MAX);
		if (check_depth(r, at, who, catalogue_permission(r->c, p->includes[i]), depth + 1))
			return -1;
	}
	return 0;
}

static bool includes_personal(const struct catalogue *c, const struct permission *p)
{
	for (const char *const *id = p->includes; id && *id; id++) {
		const struct permission *in = catalogue_permission(c, *id);

		if (in->personal || includes_personal(c, in))
			return true;
	}
	return false;
}

/* The rule's host, without ports and protocol, is `host`. */
static bool is_at(const char *rule, const char *host)
{
	size_t n = strlen(host);

	return strncmp(rule, host, n) == 0 && (!rule[n] || rule[n] == ':' || rule[n] == '/');
}

static bool has_host(const struct catalogue *c, const struct permission *p, const char *host)
{
	for (const char *const *rule = p->rules; *rule; rule++)
		if (is_at(*rule, host))
			return true;
	for (const char *const *id = p->includes; id && *id; id++)
		if (has_host(c, catalogue_permission(c, *id), host))
			return true;
	return false;
}

static int check_operations(const struct catalogue_reading *r, const struct node *at,
			    const struct permission *p)
{
	char shown[QUOTE_MAX];

	for (size_t i = 0; i < p->n_operations; i++) {
		const char *host = p->operations[i].host;

		if (host && !has_host(r->c, p, host))
			return node_error(r->v.d, at, r->v.e,
					  "`%s`: an operation is for %s, which is no host of it",
					  p->id, quote_string(host, shown));
	}
	return 0;
}

static int check_permissions(const struct catalogue_reading *r)
{
	for (size_t i = 0; i < r->c->n_permissions; i++) {
		const struct permission *p = &r->c->permissions[i];

		if (check_known(r, place_of(r, "permissions", p->id), p->id, p->includes))
			return -1;
	}
	for (size_t i = 0; i < r->c->n_permissions; i++) {
		const struct permission *p = &r->c->permissions[i];
		const struct node *at = place_of(r, "permissions", p->id);

		if (check_depth(r, at, p->id, p, 0))
			return -1;
		if (!p->personal && includes_personal(r->c, p))
			return node_error(r->v.d, at, r->v.e,
					  "`%s` includes a permission that is personal; write "
					  "`personal: true`",
					  p->id);
		/* One that is as it was may have lost a host with what it includes. */
		if (at != &r->v.d->root && check_operations(r, at, p))
			return -1;
	}
	return 0;
}

/* ---- Presets ---- */

static int check_held(const struct catalogue_reading *r, const struct preset *preset)
{
	for (size_t i = 0; i < r->c->n_permissions; i++) {
		const struct permission *p = &r->c->permissions[i];

		if ((p->personal || p->asks || permission_writes(p)) &&
		    catalogue_preset_has(r->c, preset, p->id))
			return node_error(
				r->v.d, place_of(r, "presets", preset->name), r->v.e,
				"the preset `%s` would hold `%s`, which is personal, asks "
				"first or is for writing: a person switches it on by name",
				preset->name, p->id);
	}
	return 0;
}

static int check_presets(const struct catalogue_reading *r)
{
	for (size_t i = 0; i < r->c->n_presets; i++) {
		const struct preset *preset = &r->c->presets[i];
		const struct node *at = place_of(r, "presets", preset->name);

		for (const char *const *id = preset->permissions; *id; id++) {
			const char *one[] = {*id, NULL};

			if (strcmp(*id, "languages") != 0 && check_known(r, at, preset->name, one))
				return -1;
		}
		if (check_held(r, preset))
			return -1;
	}
	return 0;
}

/* ---- Agents ---- */

static const struct agent *agent_with(const struct catalogue *c, const char *command,
				      const struct agent *beside)
{
	for (size_t i = 0; i < c->n_agents; i++)
		for (const char *const *own = c->agents[i].commands; *own; own++)
			if (&c->agents[i] != beside && strcmp(*own, command) == 0)
				return &c->agents[i];
	return NULL;
}

static int check_agents(const struct catalogue_reading *r)
{
	for (size_t i = 0; i < r->c->n_agents; i++) {
		const struct agent *a = &r->c->agents[i], *other;
		const struct node *at = place_of(r, "agents", a->name);

		if (check_known(r, at, a->name, a->model))
			return -1;
		for (const char *const *command = a->commands; *command; command++) {
			other = agent_with(r->c, *command, a);
			if (other)
				return node_error(r->v.d, at, r->v.e,
						  "the command `%s` is of `%s` and of `%s`",
						  *command, a->name, other->name);
		}
	}
	return 0;
}

int catalogue_check(const struct catalogue_reading *r)
{
	return check_permissions(r) || check_presets(r) || check_agents(r) ? -1 : 0;
}
