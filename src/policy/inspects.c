/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/inspects.h"

#include <stdio.h>
#include <stdlib.h>

#include "policy/host_list.h"
#include "policy/judgement.h"
#include "policy/match.h"
#include "policy/operation_host.h"
#include "policy/rule.h"

static bool some_restricts(const struct levels *levels, const struct destination *d)
{
	for (unsigned i = 0; i < levels->n; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r))
			if (rule_is_about_requests(r) && rule_covers_port(r, d->proto, d->port))
				return true;
	return false;
}

bool rules_restrict(const struct ruleset *rs, const struct destination *d)
{
	for (enum layer l = rs->next[0]; l < LAYERS; l = rs->next[l + 1]) {
		struct name_question q;
		struct levels levels;

		if (d->name) {
			ruleset_ask_name(&rs->layers[l], d->name, &q);
			ruleset_find_name(&q, &levels);
			if (some_restricts(&levels, d))
				return true;
		}
		if (d->addr) {
			ruleset_find_prefix(&rs->layers[l], d->addr, &levels);
			if (some_restricts(&levels, d))
				return true;
		}
	}
	return false;
}

static bool is_bound(const struct policy *p, const struct name *name, uint16_t port)
{
	const struct credential_list *list = policy_credentials(p);

	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].port == port && strcmp(list->v[i].host, name->s) == 0)
			return true;
	/* A client that refreshes by itself does it with placeholders, which the broker answers. */
	return credential_list_refreshes_at(list, name, port);
}

bool verdict_is_by_permission(const struct verdict *v)
{
	enum { STEP_PERMISSIONS = 5 };

	return v->allow && v->step == STEP_PERMISSIONS;
}

/*
 * Where a rule that is about some requests admits the connection, the others come to what
 * permissions say.
 */
static bool is_narrowed(const struct ruleset *rs, const struct catalogue *c,
			const struct host_prefixes *host, const struct destination *d)
{
	struct verdict v;

	decide(rs, host, d, &v);
	if (!verdict_is_by_permission(&v) && !(v.allow && v.rule && rule_is_about_requests(v.rule)))
		return false;
	return permissions_narrow(rs, c, d);
}

enum inspects_why policy_inspects(const struct ruleset *rs, const struct catalogue *c,
				  const struct host_prefixes *host, const struct name *name,
				  const struct addr *addr, uint16_t port)
{
	const struct policy *p = ruleset_policy(rs);
	struct destination d = {.kind = DEST_CONNECT,
				.name = name,
				.addr = addr,
				.port = port,
				.proto = PROTO_TCP,
				.by_proxy = true};

	if (!name || host_list_has(&p->splice, name, port))
		return INSPECTS_NOT;
	if (is_bound(p, name, port))
		return INSPECTS_CREDENTIALS;
	if (host_list_has(&p->inspect, name, port) || (p->inspect_all && port == HTTPS_PORT))
		return INSPECTS_LISTED;
	if (!is_web(&d))
		return INSPECTS_NOT;
	/* In plain HTTP the gate itself holds what rules say. */
	if (port == HTTPS_PORT && rules_restrict(rs, &d))
		return INSPECTS_RULES;
	return is_narrowed(rs, c, host, &d) ? INSPECTS_OPERATIONS : INSPECTS_NOT;
}

/* ---- Of a whole policy ---- */

static bool some_is_about_requests(const struct rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rule_is_about_requests(&rules[i]) &&
		    rule_covers_port(&rules[i], PROTO_TCP, HTTPS_PORT))
			return true;
	return false;
}

static bool some_has_operations(char *const *on, const struct catalogue *c)
{
	for (; on && *on; on++) {
		const struct permission *p = catalogue_permission(c, *on);

		if (p && p->n_operations)
			return true;
	}
	return false;
}

bool policy_needs_broker(const struct policy *p, const struct catalogue *c)
{
	const struct rule_list *organisation = &p->resolved.organisation;

	if (p->network == NET_NONE)
		return false;
	return p->network == NET_BROKERED || p->inspect_all || p->inspect.n ||
	       policy_credentials(p)->n || some_has_operations(p->resolved.on, c) ||
	       some_is_about_requests(p->rules, p->n_rules) ||
	       some_is_about_requests(organisation->v, organisation->n);
}

/* ---- The names ---- */

struct names {
	char **list;
	bool failed;
};

static void add_name(struct names *n, const char *name, bool below)
{
	char text[NAME_MAX_OCTETS + 3];

	snprintf(text, sizeof(text), "%s%s", below ? "*." : "", name);
	n->failed = (!string_list_has(n->list, text) && string_list_add(&n->list, text) != 0) ||
		    n->failed;
}

static void add_rule(struct names *n, const struct rule *r)
{
	if (r->kind != TARGET_PREFIX)
		add_name(n, rule_name(r), r->kind == TARGET_WILDCARD);
}

/* A wildcard may hold the host of any operation. */
static bool has_operation(const struct permission *p, const struct rule *r)
{
	for (size_t i = 0; i < p->n_operations; i++) {
		const char *host = p->operations[i].host;

		if (!host || r->kind == TARGET_WILDCARD || strcmp(host, rule_name(r)) == 0)
			return true;
	}
	return false;
}

/* A rule of the catalogue; what is one there has been read before. */
static void add_text(struct names *n, const struct permission *p, const char *text)
{
	struct rule r;
	struct err e;

	if (rule_parse_short(span_of_string(text), EFFECT_ALLOW, &r, &e)) {
		n->failed = true;
		return;
	}
	if (r.kind != TARGET_PREFIX && has_operation(p, &r))
		add_rule(n, &r);
	rule_clear(&r);
}

static void add_permission(struct names *n, const struct permission *p)
{
	for (const char *const *rule = p->rules; *rule; rule++)
		add_text(n, p, *rule);
}

/* Rules of the person's and the organisation's by what they say, those of permissions by theirs. */
static void add_compiled(struct names *n, const struct rule *r, const struct catalogue *c)
{
	const char *id = r->detail ? r->detail->permission : NULL;
	const struct permission *p = id ? catalogue_permission(c, id) : NULL;

	if (p ? has_operation(p, r) : rule_is_about_requests(r))
		add_rule(n, r);
}

static void add_table(struct names *n, const struct table *t, const struct catalogue *c)
{
	for (size_t i = 0; i < t->n_slots; i++)
		if (t->slots[i].used)
			add_compiled(n, &t->slots[i], c);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_credential(struct names *n, const struct credential *c)
{
	struct name server;

	add_name(n, c->host, false);
	if (c->refresh && credential_refresh_server(c->refresh, &server))
		add_name(n, server.s, false);
}

static void add_all(struct names *n, const struct ruleset *rs, const struct catalogue *c)
{
	const struct policy *p = ruleset_policy(rs);
	const struct credential_list *credentials = policy_credentials(p);

	for (size_t i = 0; i < c->n_permissions; i++)
		add_permission(n, &c->permissions[i]);
	for (enum layer l = rs->next[0]; l < LAYERS; l = rs->next[l + 1]) {
		add_table(n, &rs->layers[l].exact, c);
		add_table(n, &rs->layers[l].below, c);
	}
	for (size_t i = 0; i < credentials->n; i++)
		add_credential(n, &credentials->v[i]);
	for (size_t i = 0; i < p->inspect.n; i++)
		add_name(n, p->inspect.v[i].name, p->inspect.v[i].below);
}

char **policy_inspected_names(const struct ruleset *rs, const struct catalogue *c, bool *any)
{
	struct names n = {0};

	*any = ruleset_policy(rs)->inspect_all;
	if (*any)
		return NULL;
	add_all(&n, rs, c);
	if (n.failed || !n.list) {
		string_list_free(n.list);
		return NULL;
	}
	qsort(n.list, string_list_length(n.list), sizeof(*n.list), by_text);
	return n.list;
}
