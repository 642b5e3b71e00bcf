/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn_cover: the greedy answer to "which few permissions cover these": each is resolved and
 * compiled alone, beside nothing, and asked about every item once.
 */
#include "policy/learn_cover.h"

#include <stdlib.h>
#include <string.h>

#include "policy/change.h"

struct candidate {
	const struct permission *permission;
	int rank;     /* lower ones are taken first */
	size_t hosts; /* rules it stands for */
	bool *covers; /* one for each item; NULL: cannot be had */
};

static bool is_switched_on(const struct policy *p, const char *id)
{
	for (char *const *s = p->permissions; s && *s; s++)
		if (strcmp(*s, id) == 0)
			return true;
	return false;
}

bool learn_may_propose(const struct learn_state *l, const struct permission *p)
{
	if (p->web || p->asks || p->host_port)
		return false;
	return (!p->personal && !permission_writes(p)) || is_switched_on(l->in_force, p->id);
}

static bool is_standard(const struct catalogue *c, const char *id)
{
	const struct preset *standard = catalogue_preset(c, "standard");

	return standard && catalogue_preset_has(c, standard, id);
}

/*
 * What a person switched on with a credential of theirs goes on being used; then what is on already
 * or is everybody's, before what few have.
 */
static int rank_of(const struct learn_state *l, const struct permission *p)
{
	if (p->personal)
		return 0;
	return is_switched_on(l->in_force, p->id) || is_standard(l->sources->catalogue, p->id) ? 1
											       : 2;
}

/*
 * The permission alone, `id` NULL for none at all; or NULL: the organisation has taken it away, it
 * stands for nothing here, or no memory.
 */
static struct ruleset *compile_alone(const struct learn_state *l, const char *id, size_t *hosts)
{
	struct ruleset *rs = NULL;
	struct policy alone;
	struct err e;

	policy_init(&alone);
	alone.network = NET_DENY;
	if ((!id || policy_add_item(&alone, l->sources->catalogue, EFFECT_ALLOW, id, &e) == 0) &&
	    policy_resolve(&alone, l->sources, &e) == 0 && (!id || alone.resolved.permissions.n)) {
		*hosts = alone.resolved.permissions.n;
		rs = ruleset_compile(&alone, 1, &e);
	}
	policy_free(&alone);
	return rs;
}

/* A request is let through by the permission that is for it, or where no permission is asked. */
static bool has_request(const struct learn_state *l, const char *id, const struct seen *s)
{
	return !id || !s->permission[0] ||
	       catalogue_includes(l->sources->catalogue, id, s->permission);
}

static void ask_candidate(const struct learn_state *l, const char *id, struct candidate *c)
{
	struct ruleset *rs = compile_alone(l, id, &c->hosts);

	c->covers = rs ? calloc(l->n_todo + 1, sizeof(*c->covers)) : NULL;
	for (size_t i = 0; c->covers && i < l->n_todo; i++) {
		struct destination d = seen_destination(&l->todo[i].seen);
		struct verdict v;

		decide(rs, NULL, &d, &v);
		/* The host's alias resolves everywhere. */
		c->covers[i] = v.allow && v.rule && has_request(l, id, &l->todo[i].seen);
	}
	ruleset_free(rs);
}

/* What the organisation's own rules admit needs nobody's permission. */
static void cover_by_default(struct learn_state *l)
{
	struct candidate none = {.covers = NULL};

	ask_candidate(l, NULL, &none);
	for (size_t i = 0; i < l->n_todo; i++)
		l->todo[i].covered = none.covers && none.covers[i];
	free(none.covers);
}

static size_t count_new(const struct learn_state *l, const struct candidate *c)
{
	size_t n = 0;

	for (size_t i = 0; c->covers && i < l->n_todo; i++)
		n += c->covers[i] && !l->todo[i].covered && !l->todo[i].dropped;
	return n;
}

/* By rank; then fewer hosts for each item; then fewer hosts; then the order of the catalogue. */
static bool is_better(const struct candidate *a, size_t a_n, const struct candidate *b, size_t b_n)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->hosts * b_n != b->hosts * a_n)
		return a->hosts * b_n < b->hosts * a_n;
	return a->hosts < b->hosts;
}

static struct candidate *find_best(const struct learn_state *l, struct candidate *v, size_t n)
{
	struct candidate *best = NULL;
	size_t best_n = 0;

	for (size_t i = 0; i < n; i++) {
		size_t here = count_new(l, &v[i]);

		if (here && (!best || is_better(&v[i], here, best, best_n))) {
			best = &v[i];
			best_n = here;
		}
	}
	return best;
}

static int take(struct learn_state *l, const struct candidate *c, struct policy *p, struct err *e)
{
	for (size_t i = 0; i < l->n_todo; i++)
		l->todo[i].covered |= c->covers[i];
	return policy_add_item(p, l->sources->catalogue, EFFECT_ALLOW, c->permission->id, e);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_permissions(struct policy *p)
{
	size_t n = 0;

	while (p->permissions && p->permissions[n])
		n++;
	if (n)
		qsort(p->permissions, n, sizeof(*p->permissions), by_text);
}

int learn_cover(struct learn_state *l, struct policy *p, struct err *e)
{
	const struct catalogue *c = l->sources->catalogue;
	struct candidate *v = calloc(c->n_permissions + 1, sizeof(*v)), *best;
	size_t n = 0;
	int rc = v ? 0 : err_set(e, "out of memory");

	cover_by_default(l);
	for (size_t i = 0; v && i < c->n_permissions; i++) {
		if (!learn_may_propose(l, &c->permissions[i]))
			continue;
		v[n].permission = &c->permissions[i];
		v[n].rank = rank_of(l, v[n].permission);
		ask_candidate(l, c->permissions[i].id, &v[n++]);
	}
	while (rc == 0 && (best = find_best(l, v, n)))
		rc = take(l, best, p, e);
	sort_permissions(p);
	for (size_t i = 0; i < n; i++)
		free(v[i].covers);
	free(v);
	return rc;
}
