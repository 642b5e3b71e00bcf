/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_request.h"

#include <stdlib.h>

static bool is_below(const char *name, const char *domain)
{
	size_t n = strlen(name), m = strlen(domain);

	return n > m + 1 && name[n - m - 1] == '.' && strcmp(name + n - m, domain) == 0;
}

static bool is_listed(const struct host_list *list, const struct destination *d)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct host_pattern *p = &list->v[i];

		if (p->port == d->port &&
		    (p->below ? is_below(d->name->s, p->name) : strcmp(d->name->s, p->name) == 0))
			return true;
	}
	return false;
}

static bool is_for_name(const struct rule *r, const struct destination *d)
{
	if (r->kind == TARGET_WILDCARD)
		return is_below(d->name->s, rule_name(r));
	return r->kind == TARGET_NAME && strcmp(d->name->s, rule_name(r)) == 0;
}

/* As a person writes them: 80 and 443 where no port is written. */
static bool is_for_port(const struct rule *r, uint16_t port)
{
	if (r->protos && !(r->protos & PROTO_TCP))
		return false;
	if (r->any_port || (!r->ports_written && r->effect == EFFECT_DENY))
		return true;
	if (!r->ports_written)
		return port == 80 || port == 443;
	for (unsigned i = 0; i < r->detail->n_ports; i++)
		if (port >= r->detail->ports[i].lo && port <= r->detail->ports[i].hi)
			return true;
	return false;
}

static bool some_is_about_requests(const struct rule *rules, size_t n, const struct destination *d)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].detail && (rules[i].detail->methods || rules[i].detail->paths) &&
		    is_for_name(&rules[i], d) && is_for_port(&rules[i], d->port))
			return true;
	return false;
}

static bool is_about_requests(const struct world *w, const struct destination *d)
{
	const struct policy *p = &w->policy;

	return some_is_about_requests(p->rules, p->n_rules, d) ||
	       some_is_about_requests(p->resolved.organisation.v, p->resolved.organisation.n, d);
}

/* ---- Permissions ---- */

static bool has_host(const struct world *w, const char *id, const struct destination *d)
{
	const struct rule_list *list = &w->policy.resolved.permissions;

	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i].detail->permission, id) == 0 && is_for_name(&list->v[i], d) &&
		    is_for_port(&list->v[i], d->port))
			return true;
	return false;
}

static bool is_there(const struct operation *o, const struct destination *d)
{
	return !o->host || strcmp(o->host, d->name->s) == 0;
}

static unsigned operations_there(const struct permission *p, const struct destination *d)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n_operations; i++)
		n += is_there(&p->operations[i], d);
	return n;
}

/* Does each permission that is on and has the host say which requests it is for? */
static bool is_narrow(const struct world *w, const struct destination *d)
{
	bool narrow = false;

	for (unsigned i = 0; i < PERMISSIONS; i++) {
		const struct permission *p = &w->permissions[i];

		if (!has_host(w, p->id, d))
			continue;
		if (operations_there(p, d) == 0)
			return false;
		narrow = true;
	}
	return narrow;
}

static bool is_operation(const struct operation *o, const struct destination *d)
{
	if (o->methods && strcmp(o->methods[0], d->method) != 0)
		return false;
	return !o->paths || strncmp(d->path, "/a", 2) == 0;
}

static bool permission_admits(const struct world *w, const struct permission *p,
			      const struct destination *d)
{
	if (operations_there(p, d) == 0)
		return has_host(w, p->id, d);
	for (size_t i = 0; i < p->n_operations; i++)
		if (is_there(&p->operations[i], d) && is_operation(&p->operations[i], d) &&
		    (p->operations[i].host || has_host(w, p->id, d)))
			return true;
	return false;
}

static bool is_on(const struct world *w, const char *id)
{
	for (char **on = w->policy.resolved.on; on && *on; on++)
		if (strcmp(*on, id) == 0)
			return true;
	return false;
}

static bool some_permission_admits(const struct world *w, const struct destination *d)
{
	for (unsigned i = 0; i < PERMISSIONS; i++)
		if (is_on(w, w->permissions[i].id) && permission_admits(w, &w->permissions[i], d))
			return true;
	return false;
}

/* ---- The two questions ---- */

/* Where a rule for some requests admits, the permissions have the others; else they have all. */
static bool leaves_to_permissions(const struct world *w, const struct destination *d)
{
	struct destination asked = *d;
	struct answer a;

	asked.kind = DEST_CONNECT;
	asked.method = asked.path = NULL;
	asked.by_proxy = true;
	a = reference_decide(&w->policy, &w->host, &asked);
	return a.allow && (a.step == 5 || ((a.step == 3 || a.step == 4) && a.about_requests)) &&
	       is_narrow(w, d);
}

bool reference_inspects(const struct world *w, const struct destination *d, bool check_name)
{
	const struct policy *p = &w->policy;

	if (d->proto != PROTO_TCP || !d->name || is_listed(&p->splice, d))
		return false;
	if (is_listed(&p->inspect, d) || (p->inspect_all && d->port == 443))
		return true;
	if (!check_name || (d->port != 80 && d->port != 443))
		return false;
	return (d->port == 443 && is_about_requests(w, d)) || leaves_to_permissions(w, d);
}

bool reference_admits_request(const struct world *w, const struct destination *d)
{
	struct destination asked = *d;
	struct answer a;

	asked.kind = DEST_SERVER_NAME;
	asked.by_proxy = true;
	a = reference_decide(&w->policy, &w->host, &asked);
	return a.allow && (a.step != 5 || !is_narrow(w, d) || some_permission_admits(w, d));
}
