/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide: the steps of docs/policy.md, "Which rule decides", in their order. They only combine what
 * the rules of each layer say (judgement.h); the first that has an answer gives it.
 */
#include "policy/decide.h"

#include "policy/judgement.h"
#include "policy/suffix.h"

enum { DNS_TLS_PORT = 853 };

static bool is_name(const struct name *name, const char *text)
{
	size_t n = strlen(text);

	return name->n == n && memcmp(name->s, text, n) == 0;
}

bool name_is_host_alias(const struct name *name)
{
	return is_name(name, "host.sandgate.internal");
}

bool name_is_gateway(const struct name *name)
{
	return is_name(name, "gateway.sandgate.internal");
}

static bool refuse(struct verdict *v, enum reason reason)
{
	v->allow = false;
	v->reason = reason;
	return true;
}

static bool refuse_by(struct verdict *v, enum reason reason, enum layer layer,
		      const struct rule *rule)
{
	v->layer = layer;
	v->rule = rule;
	v->permission = rule->detail ? rule->detail->permission : NULL;
	return refuse(v, reason);
}

static bool admit(struct verdict *v)
{
	v->allow = true;
	v->reason = REASON_NONE;
	return true;
}

static bool admit_by_default(const struct judgement *j, struct verdict *v, bool check_name)
{
	v->by_default = true;
	v->check_name = check_name && j->d->kind == DEST_CONNECT;
	return admit(v);
}

static const struct rule *denying_rule(const struct judgement *j, enum layer layer)
{
	if (!ruleset_has_layer(j->rs, layer))
		return NULL;
	return j->name[layer].deny ? j->name[layer].deny : j->addr[layer].deny;
}

static bool has_port(const uint16_t *ports, size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (ports[i] == port)
			return true;
	return false;
}

static bool refuse_denied(const struct judgement *j, struct verdict *v, enum layer layer)
{
	const struct rule *deny = denying_rule(j, layer);

	return deny && refuse_by(v, REASON_DENIED_BY_RULE, layer, deny);
}

/* The same as the organisation's step, wherever its denies are asked. */
static bool refuse_organised(const struct judgement *j, struct verdict *v)
{
	if (!refuse_denied(j, v, LAYER_ORGANISATION))
		return false;
	v->step = 4;
	return true;
}

/* A listed port is as specific as its name: a wildcard's deny takes those of permissions alone. */
static bool refuse_host_alias(const struct judgement *j, struct verdict *v, bool own)
{
	const struct rule *deny = denying_rule(j, LAYER_OWN);

	if (deny && (deny->kind == TARGET_NAME || !own))
		return refuse_by(v, REASON_DENIED_BY_RULE, LAYER_OWN, deny);
	return refuse_organised(j, v);
}

/* The host's alias: its lookup is answered by the gate itself, its ports are those listed. */
static bool decide_host_alias(const struct judgement *j, struct verdict *v)
{
	const struct policy *p = j->policy;
	const struct destination *d = j->d;
	bool lookup = d->kind == DEST_LOOKUP;
	bool own = lookup ? p->n_host_ports > 0 : has_port(p->host_ports, p->n_host_ports, d->port);

	v->step = 3;
	if (refuse_host_alias(j, v, own))
		return true;
	if (lookup)
		return admit(v);
	/* One address has both names: where the proxy port is the only way, it is not given up. */
	if (p->network == NET_BROKERED && proxy_port_is(d->port))
		return refuse(v, REASON_PORT_NOT_ALLOWED);
	if (d->proto != PROTO_TCP ||
	    !(own || has_port(p->resolved.host_ports, p->resolved.n_host_ports, d->port)))
		return refuse(v, REASON_PORT_NOT_ALLOWED);
	v->step = own ? 3 : 5;
	v->by_literal_address = true;
	return admit(v);
}

/* The proxy port, and nothing else of the gate. */
static bool decide_gateway(const struct judgement *j, struct verdict *v)
{
	const struct destination *d = j->d;

	if (refuse_host_alias(j, v, true))
		return true;
	if (d->kind == DEST_LOOKUP)
		return admit(v);
	if (d->proto != PROTO_TCP || !proxy_port_is(d->port) || d->by_proxy)
		return refuse(v, REASON_PORT_NOT_ALLOWED);
	v->by_literal_address = true;
	return admit(v);
}

/* `any` allows unless a deny matches, whoever wrote it. */
static bool decide_any(const struct judgement *j, struct verdict *v)
{
	if (refuse_denied(j, v, LAYER_OWN) || refuse_organised(j, v))
		return true;
	/* A denied name is found inside a connection; without one nothing is looked into. */
	return admit_by_default(j, v, is_web(j->d) && j->rs->denies_names);
}

/* 1. `none` answers at once, and `any` leaves only what is denied. */
static bool decide_base(const struct judgement *j, struct verdict *v)
{
	const struct destination *d = j->d;

	if (j->policy->network == NET_NONE)
		return refuse(v, REASON_NETWORK_NONE);
	if (d->kind == DEST_LOOKUP && j->policy->dns_off)
		return refuse(v, REASON_DNS_OFF);
	if (d->name && name_is_host_alias(d->name))
		return decide_host_alias(j, v);
	if (d->name && name_is_gateway(d->name))
		return decide_gateway(j, v);
	return j->policy->network == NET_ANY && decide_any(j, v);
}

/* 2. A special address that is not listed literally is denied. */
static bool decide_special(const struct judgement *j, struct verdict *v)
{
	if (!j->d->addr || j->special.kind == SPECIAL_PUBLIC || j->listed)
		return false;
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1])
		if (j->special.kind == SPECIAL_PRIVATE && j->name[l].allow && j->name[l].private_ok)
			return false;
	return refuse(v, REASON_SPECIAL_ADDRESS);
}

/* A name rule reaches a special address only when it is marked private, and then a private one. */
static bool name_may_admit(const struct judgement *j, const struct found *name)
{
	if (!name->allow)
		return false;
	return !j->d->addr || j->special.kind == SPECIAL_PUBLIC ||
	       (j->special.kind == SPECIAL_PRIVATE && name->private_ok);
}

/* A lookup is for the connections of all layers: what one of them may reach may be handed out. */
static bool some_private_ok(const struct judgement *j)
{
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1])
		if (j->name[l].allow && j->name[l].private_ok)
			return true;
	return false;
}

/* What an address admits by itself, by whatever layer, is carried as it is. */
static bool is_admitted_literally(const struct judgement *j)
{
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1])
		if (j->addr[l].allow)
			return true;
	return false;
}

/* A deny of some requests is held wherever requests can be seen, whatever admits the connection. */
static bool denies_requests(const struct judgement *j)
{
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1])
		if (j->name[l].denies_requests)
			return true;
	return false;
}

/* The server name or the Host is looked at where a name admits, unless its rule says `raw`. */
static bool looks_inside(const struct judgement *j, const struct found *name, bool literally)
{
	if (j->d->kind != DEST_CONNECT)
		return false;
	if (is_web(j->d))
		return (!literally && !name->raw) || denies_requests(j);
	return !literally && name->quic && !name->written;
}

/* An allow of the name or of the address, in one layer; no deny that counts matches. */
static bool admit_by_layer(const struct judgement *j, struct verdict *v, enum layer layer)
{
	const struct found *name = &j->name[layer], *addr = &j->addr[layer];
	bool lookup = j->d->kind == DEST_LOOKUP, by_name;

	if (!ruleset_has_layer(j->rs, layer))
		return false;
	by_name = name_may_admit(j, name);
	if (!by_name && !addr->allow)
		return false;
	v->layer = layer;
	v->rule = by_name ? name->allow : addr->allow;
	v->permission = v->rule->detail ? v->rule->detail->permission : NULL;
	v->by_literal_address = is_admitted_literally(j);
	v->private_ok = by_name && (lookup ? some_private_ok(j) : name->private_ok);
	v->by_wildcard = !v->by_literal_address && name->allow->kind == TARGET_WILDCARD;
	v->check_name = looks_inside(j, name, v->by_literal_address);
	return admit(v);
}

/* 3. Own rules: a deny denies; an allow allows what the organisation does not deny. */
static bool decide_own_rules(const struct judgement *j, struct verdict *v)
{
	if (refuse_denied(j, v, LAYER_OWN))
		return true;
	return !denying_rule(j, LAYER_ORGANISATION) && admit_by_layer(j, v, LAYER_OWN);
}

/* 4. The organisation: its denies hold for everybody, its allows are defaults. */
static bool decide_organisation(const struct judgement *j, struct verdict *v)
{
	return refuse_organised(j, v) || admit_by_layer(j, v, LAYER_ORGANISATION);
}

/* 5. The hosts of the permissions that are on. */
static bool decide_permissions(const struct judgement *j, struct verdict *v)
{
	return admit_by_layer(j, v, LAYER_PERMISSIONS);
}

/* The rule that nearly matched: of the name before the address, the nearest, own rules first. */
static const struct found *nearest_rule(const struct judgement *j)
{
	const struct found *halves[] = {j->name, j->addr}, *best = NULL;

	for (size_t half = 0; half < sg_array_len(halves) && !best; half++)
		for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1]) {
			const struct found *f = &halves[half][l];

			if (f->near &&
			    (!best || judgement_nearness(f->why) > judgement_nearness(best->why)))
				best = f;
		}
	return best;
}

/* A rule that nearly matched says more than that none did. */
static bool refuse_by_default(const struct judgement *j, struct verdict *v, enum reason otherwise)
{
	const struct found *near = nearest_rule(j);

	if (!near)
		return refuse(v, otherwise);
	/* All that a rule gave to a lookup was taken: the deny decided, in its own step. */
	if (near->why == REASON_DENIED_BY_RULE)
		v->step = near->near_layer == LAYER_OWN ? 3 : 4;
	return refuse_by(v, near->why, near->near_layer, near->near);
}

static bool goes_around(const struct destination *d)
{
	return (d->name && suffix_is_encrypted_dns(d->name)) ||
	       (d->kind != DEST_LOOKUP && d->port == DNS_TLS_PORT);
}

/* `open`: the public internet, but not around the gate. `web`: only what a browser would ask for.
 */
static bool decide_open(const struct judgement *j, struct verdict *v, bool every_port)
{
	const struct destination *d = j->d;

	if (goes_around(d))
		return refuse(v, REASON_ENCRYPTED_DNS);
	if (d->kind == DEST_LOOKUP)
		return admit_by_default(j, v, false);
	if (is_quic(d) && !j->policy->quic_allow)
		return refuse(v, REASON_QUIC_REFUSED);
	if (!every_port && !is_web(d) && !is_quic(d))
		return refuse_by_default(j, v, REASON_PORT_NOT_ALLOWED);
	return admit_by_default(j, v, is_web(d) || is_quic(d));
}

/* 6. The default of the base. That one port of a special address is listed opens no other. */
static bool decide_default(const struct judgement *j, struct verdict *v)
{
	bool open = j->policy->network == NET_OPEN;

	if ((open || j->policy->resolved.web) && (!j->d->addr || j->special.kind == SPECIAL_PUBLIC))
		return decide_open(j, v, open);
	return refuse_by_default(j, v, REASON_NOT_IN_POLICY);
}

static const struct {
	uint8_t step;
	bool (*decide)(const struct judgement *j, struct verdict *v);
} steps[] = {
	{1, decide_base},	  {2, decide_special},	   {3, decide_own_rules},
	{4, decide_organisation}, {5, decide_permissions}, {6, decide_default},
};

static bool is_own(const struct destination *d)
{
	return d->name && (name_is_host_alias(d->name) || name_is_gateway(d->name));
}

/* `brokered`: what is admitted is so by the proxy port only. The rule stays, to be shown. */
static void hold_to_proxy(const struct judgement *j, struct verdict *v)
{
	if (!v->allow || j->policy->network != NET_BROKERED || j->d->by_proxy || is_own(j->d))
		return;
	*v = (struct verdict){.step = 1,
			      .reason = REASON_PROXY_ONLY,
			      .layer = v->layer,
			      .rule = v->rule,
			      .permission = v->permission};
}

void decide(const struct ruleset *rs, const struct host_prefixes *host, const struct destination *d,
	    struct verdict *v)
{
	struct judgement j;

	judgement_make(&j, rs, host, d);
	*v = (struct verdict){0};
	for (size_t i = 0; i < sg_array_len(steps); i++) {
		v->step = steps[i].step;
		if (steps[i].decide(&j, v))
			break;
	}
	hold_to_proxy(&j, v);
}

bool address_admissible(const struct ruleset *rs, const struct host_prefixes *host,
			const struct verdict *name_verdict, const struct addr *a)
{
	struct addr judged = address_unwrap(a);
	struct special special;
	struct levels levels;

	if (rs->policy.network == NET_ANY)
		return true;
	special = address_classify_for(host, &judged);
	if (special.kind == SPECIAL_PUBLIC)
		return true;
	if (special.kind == SPECIAL_PRIVATE && name_verdict->private_ok)
		return true;
	for (enum layer l = rs->next[0]; l < LAYERS; l = rs->next[l + 1]) {
		ruleset_find_prefix(&rs->layers[l], &judged, &levels);
		if (judgement_lists(&special, &levels))
			return true;
	}
	return false;
}
