/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match.h"

#include "policy/path.h"
#include "policy/rule.h"

enum { HTTP_PORT = 80 };

bool rule_covers_port(const struct rule *r, enum proto proto, uint16_t port)
{
	struct rule_scope s = rule_scope_of(r);

	if (!(s.protos & proto))
		return false;
	if (proto == PROTO_ICMP)
		return true;
	for (size_t i = 0; i < s.n; i++)
		if (port >= s.ports[i].lo && port <= s.ports[i].hi)
			return true;
	return false;
}

static bool has_method(char *const *methods, const char *method)
{
	for (; *methods; methods++)
		if (strcmp(*methods, method) == 0)
			return true;
	return false;
}

static bool matches_path(const struct rule *r, const char *path)
{
	return r->effect == EFFECT_ALLOW ? path_matches_every_reading(r->detail->paths, path)
					 : path_matches_some_reading(r->detail->paths, path);
}

/*
 * When a connection begins, its request is to come; so is that inside TLS, once its server name has
 * been read: a name that a rule about requests is for is opened (inspects.h).
 */
static bool is_to_come(const struct destination *d)
{
	return d->kind != DEST_SERVER_NAME || (d->proto == PROTO_TCP && d->port != HTTP_PORT);
}

/*
 * What was not seen counts against the sandbox: such a deny matches, such an allow does not.
 * Before the request has come, an allow stands until it has.
 */
static enum reason match_request(const struct rule *r, const struct destination *d)
{
	bool unseen = r->effect == (is_to_come(d) ? EFFECT_ALLOW : EFFECT_DENY);

	if (r->detail->methods && !(d->method ? has_method(r->detail->methods, d->method) : unseen))
		return REASON_METHOD_NOT_ALLOWED;
	if (r->detail->paths && !(d->path ? matches_path(r, d->path) : unseen))
		return REASON_PATH_NOT_ALLOWED;
	return REASON_NONE;
}

enum reason rule_match(const struct rule *r, const struct destination *d)
{
	if (!rule_covers_port(r, d->proto, d->port))
		return REASON_PORT_NOT_ALLOWED;
	return rule_is_about_requests(r) ? match_request(r, d) : REASON_NONE;
}

static bool some_range_holds(const struct rule_scope *s, const struct port_range *inner)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->ports[i].lo <= inner->lo && s->ports[i].hi >= inner->hi)
			return true;
	return false;
}

bool rule_takes_all_of(const struct rule *deny, const struct rule *allow)
{
	struct rule_scope taken = rule_scope_of(deny), given = rule_scope_of(allow);

	if (rule_is_about_requests(deny) || (given.protos & ~taken.protos))
		return false;
	if (!(given.protos & (PROTO_TCP | PROTO_UDP)))
		return true;
	for (size_t i = 0; i < given.n; i++)
		if (!some_range_holds(&taken, &given.ports[i]))
			return false;
	return true;
}

static bool ranges_meet(const struct rule_scope *a, const struct rule_scope *b)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (a->ports[i].lo <= b->ports[k].hi && b->ports[k].lo <= a->ports[i].hi)
				return true;
	return false;
}

bool rule_scopes_meet(const struct rule *a, const struct rule *b)
{
	struct rule_scope sa = rule_scope_of(a), sb = rule_scope_of(b);
	unsigned both = sa.protos & sb.protos;

	return (both & PROTO_ICMP) || (both && ranges_meet(&sa, &sb));
}

static bool is_below(const struct rule *r, const struct rule *parent)
{
	size_t n = parent->name_n;

	return r->name_n > n && rule_name(r)[r->name_n - n - 1] == '.' &&
	       memcmp(rule_name(r) + r->name_n - n, rule_name(parent), n) == 0;
}

bool rule_target_holds(const struct rule *wide, const struct rule *narrow)
{
	if (rule_has_same_target(wide, narrow))
		return true;
	if (wide->kind == TARGET_PREFIX)
		return narrow->kind == TARGET_PREFIX && wide->prefix.bits < narrow->prefix.bits &&
		       addr_is_v4(&wide->prefix.addr) == addr_is_v4(&narrow->prefix.addr) &&
		       prefix_contains(&wide->prefix, &narrow->prefix.addr);
	return wide->kind == TARGET_WILDCARD && narrow->kind != TARGET_PREFIX &&
	       is_below(narrow, wide);
}

bool rule_admits_all_of(const struct rule *wide, const struct rule *narrow)
{
	return rule_target_holds(wide, narrow) && rule_takes_all_of(wide, narrow) &&
	       (wide->raw || !narrow->raw) && (wide->private_ok || !narrow->private_ok);
}

bool rule_covers_everything(const struct rule *r)
{
	static const struct port_range all = {1, UINT16_MAX};
	struct rule_scope s = rule_scope_of(r);

	return !rule_is_about_requests(r) && s.protos == PROTO_ANY && some_range_holds(&s, &all);
}
