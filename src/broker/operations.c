/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/operations.h"

#include "broker/request_check.h"
#include "policy/operation_host.h"
#include "policy/path.h"
#include "policy/strings.h"

static const struct resolved *resolved_of(const struct request_judge *j)
{
	return &ruleset_policy(j->rules)->resolved;
}

static bool is_about(const struct asked *a, const struct permission *p, const struct operation *o)
{
	return operation_is_about(a->judge->rules, p, o, a->destination);
}

/* ---- Whether a request is an operation ---- */

static bool has_word(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* A WebSocket carries anything in either direction, so it is admitted where GET and POST are. */
static bool is_of_method(const struct operation *o, const struct asked *a)
{
	if (!o->methods)
		return true;
	if (a->request->protocol.n && !has_word(o->methods, "POST"))
		return false;
	return has_word(o->methods, a->destination->method);
}

/* The functions of path.h do not change the patterns. */
static bool is_of_path_surely(const struct operation *o, const struct asked *a)
{
	return !o->paths ||
	       path_matches_every_reading((char *const *)o->paths, a->destination->path);
}

static bool is_of_path_perhaps(const struct operation *o, const struct asked *a)
{
	return !o->paths ||
	       path_matches_some_reading((char *const *)o->paths, a->destination->path);
}

/* Does some permission name the path in an operation for writing? */
static bool is_known_write(const struct asked *a)
{
	const struct catalogue *c = a->judge->catalogue;

	for (size_t i = 0; i < c->n_permissions; i++) {
		const struct permission *p = &c->permissions[i];

		for (size_t k = 0; k < p->n_operations; k++) {
			const struct operation *o = &p->operations[k];

			if (o->write && o->paths && is_of_method(o, a) && is_about(a, p, o) &&
			    is_of_path_perhaps(o, a))
				return true;
		}
	}
	return false;
}

struct evaluation {
	const struct asked *a;
	bool known_write;
	struct admission best;
};

static bool is_of_check_perhaps(const struct evaluation *e, const struct permission *p)
{
	for (size_t i = 0; i < p->n_operations; i++) {
		const struct operation *o = &p->operations[i];

		if (o->check && is_about(e->a, p, o) && is_of_path_perhaps(o, e->a))
			return true;
	}
	return false;
}

static enum admits match_operation(const struct evaluation *e, const struct operation *o,
				   bool checked, const char **why)
{
	*why = NULL;
	if (!is_of_method(o, e->a) || !is_of_path_surely(o, e->a))
		return ADMITS_NOT;
	if (o->check)
		return request_check(o->check, e->a, why);
	return checked || (e->known_write && !o->paths) ? ADMITS_NOT : ADMITS;
}

static void offer(struct admission *best, const struct admission *other)
{
	const char *why = best->why ? best->why : other->why;

	if (other->what > best->what)
		*best = *other;
	best->why = why;
}

static void evaluate_operations(struct evaluation *e, const struct permission *p)
{
	bool checked = is_of_check_perhaps(e, p);

	for (size_t i = 0; i < p->n_operations && e->best.what != ADMITS; i++) {
		struct admission one = {.permission = p, .operation = &p->operations[i]};

		if (!is_about(e->a, p, one.operation))
			continue;
		one.what = match_operation(e, one.operation, checked, &one.why);
		offer(&e->best, &one);
	}
}

static void evaluate(struct evaluation *e, const struct permission *p)
{
	const struct admission all = {.what = ADMITS, .permission = p};

	if (permission_has_operation(e->a->judge->rules, p, e->a->destination))
		evaluate_operations(e, p);
	else if (permission_has_host(e->a->judge->rules, p, e->a->destination))
		offer(&e->best, &all);
}

struct admission operations_admit(const struct asked *a)
{
	struct evaluation e = {.a = a, .known_write = is_known_write(a)};

	for (char *const *id = resolved_of(a->judge)->on; id && *id && e.best.what != ADMITS;
	     id++) {
		const struct permission *p = catalogue_permission(a->judge->catalogue, *id);

		if (p)
			evaluate(&e, p);
	}
	return e.best;
}

/* ---- What would admit it ---- */

static bool is_read(const struct admission *x)
{
	return !x->permission->personal && !permission_writes(x->permission);
}

/* One that only reads, rather than one that writes or is a person's own; then that with less. */
static bool is_better(const struct admission *x, const struct admission *than)
{
	if (!than->permission || is_read(x) != is_read(than))
		return !than->permission || is_read(x);
	return x->permission->n_operations < than->permission->n_operations;
}

struct admission operations_covering(const struct asked *a)
{
	const struct catalogue *c = a->judge->catalogue;
	bool known_write = is_known_write(a);
	struct admission best = {0};

	for (size_t i = 0; i < c->n_permissions; i++) {
		const struct permission *p = &c->permissions[i];
		struct evaluation e = {.a = a, .known_write = known_write};

		if (p->asks || string_list_has(resolved_of(a->judge)->on, p->id))
			continue;
		evaluate(&e, p);
		if (e.best.what == ADMITS && is_better(&e.best, &best))
			best = e.best;
	}
	return best;
}
