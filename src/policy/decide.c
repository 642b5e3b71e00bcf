/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide: the steps of docs/policy.md, "Which rule decides", in their order.
 *
 * Theory of operation. Before the steps, the rules of each layer that fit the name
 * and those that fit the address are found and matched (`struct found`): among those
 * of a layer that match wholly the most specific wins, and at equal specificity deny.
 * The steps then only combine what was found; the first that has an answer gives it.
 *
 * A lookup has a name and nothing else. It is a message by itself, so it is
 * allowed only when some connection to the name could be: an allow rule whose
 * scope neither an equally or more specific deny of its own layer takes away, nor
 * any deny of a layer that wins over it.
 */
#include "policy/decide.h"

#include "policy/address.h"
#include "policy/match.h"
#include "policy/ruleset.h"
#include "policy/suffix.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, DNS_TLS_PORT = 853 };

/* The name by which a sandbox reaches the listed ports of the host's loopback. */
static const char host_alias[] = "host.sandgate.internal";

/* What the rules say about one half of a destination, its name or its address. */
struct found {
	const struct rule *allow, *deny; /* the most specific match; at most one is set */
	const struct rule *near;	 /* an allow rule that fits but for what `why` says */
	enum reason why;		 /* REASON_NOT_IN_POLICY: nothing fits */
	enum layer near_layer;
	bool private_ok, raw; /* of any allow rule at the level that won */
	bool quic;	      /* allowed for TCP 443, and so for QUIC ... */
	bool written;	      /* ... or by a rule that covers the port itself */
	bool denies_requests; /* a deny is for some requests, and none was seen yet */
};

struct judgement {
	const struct ruleset *rs;
	const struct policy *policy;
	const struct destination *d;
	struct found name[LAYERS], addr[LAYERS]; /* of the layers that are present */
	struct special special;			 /* of the address */
	bool listed; /* an allow rule lists the address or its network */
};

static bool is_present(const struct judgement *j, enum layer layer)
{
	return j->rs->layers[layer].present;
}

static bool is_web(const struct destination *d)
{
	return d->proto == PROTO_TCP && (d->port == HTTP_PORT || d->port == HTTPS_PORT);
}

static bool is_quic(const struct destination *d)
{
	return d->proto == PROTO_UDP && d->port == HTTPS_PORT;
}

/* ---- What the rules say ---- */

/* Reasons for which a rule nearly matched, the nearest last. */
static unsigned nearness(enum reason r)
{
	static const enum reason order[] = {REASON_NOT_IN_POLICY,    REASON_PORT_NOT_ALLOWED,
					    REASON_QUIC_REFUSED,     REASON_METHOD_NOT_ALLOWED,
					    REASON_PATH_NOT_ALLOWED, REASON_ENCRYPTED_DNS};

	for (unsigned i = 0; i < sg_array_len(order); i++)
		if (order[i] == r)
			return i;
	return 0;
}

static void note_near(struct found *f, const struct rule *r, enum layer layer, enum reason why)
{
	if (f->near && nearness(why) <= nearness(f->why))
		return;
	f->near = r;
	f->near_layer = layer;
	f->why = why;
}

static void take_allow(struct found *f, const struct rule *r)
{
	if (!f->allow)
		f->allow = r;
	f->private_ok |= r->private_ok;
	f->raw |= r->raw;
}

/*
 * QUIC carries the same name to the same server as TCP 443, so a rule of a name for that port is
 * also about QUIC.
 */
static bool is_as_quic(const struct judgement *j, const struct rule *r)
{
	return is_quic(j->d) && r->kind != TARGET_PREFIX &&
	       rule_covers_port(r, PROTO_TCP, HTTPS_PORT);
}

/* Whether QUIC is allowed where TCP 443 is, `quic` says; a rule that writes UDP says it itself. */
static void match_allow(const struct judgement *j, enum layer layer, const struct rule *r,
			struct found *f)
{
	enum reason why = rule_match(r, j->d);
	bool as_quic = why == REASON_PORT_NOT_ALLOWED && is_as_quic(j, r);

	if (as_quic)
		why = j->policy->quic_allow ? REASON_NONE : REASON_QUIC_REFUSED;
	if (why == REASON_NONE && r->near_resolver && suffix_is_encrypted_dns(j->d->name))
		why = REASON_ENCRYPTED_DNS;
	if (why != REASON_NONE) {
		note_near(f, r, layer, why);
		return;
	}
	take_allow(f, r);
	f->quic |= as_quic;
	f->written |= !as_quic;
}

static void match_deny(const struct judgement *j, const struct rule *r, struct found *f)
{
	enum reason why = rule_match(r, j->d);

	if (why == REASON_PORT_NOT_ALLOWED && is_as_quic(j, r))
		why = REASON_NONE;
	if (why == REASON_NONE && !f->deny)
		f->deny = r;
	f->denies_requests |= why == REASON_METHOD_NOT_ALLOWED || why == REASON_PATH_NOT_ALLOWED;
}

/* One level of a connection: true when a rule there matches. Deny wins. */
static bool match_level(const struct judgement *j, enum layer layer, const struct rule *first,
			struct found *f)
{
	for (const struct rule *r = first; r; r = ruleset_next(r)) {
		if (r->effect == EFFECT_ALLOW)
			match_allow(j, layer, r, f);
		else
			match_deny(j, r, f);
	}
	if (f->deny)
		f->allow = NULL;
	return f->deny || f->allow;
}

static void match_levels(const struct judgement *j, enum layer layer, const struct levels *levels,
			 struct found *f)
{
	for (unsigned i = 0; i < levels->n; i++)
		if (match_level(j, layer, levels->rule[i], f))
			return;
}

static bool lists_literally(const struct special *special, const struct levels *levels)
{
	for (unsigned i = 0; i < levels->n; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r)) {
			/* Metadata: by its exact address, never by a network that holds it. */
			if (special->kind == SPECIAL_METADATA && r->prefix.bits != 128)
				continue;
			if (r->effect == EFFECT_ALLOW)
				return true;
		}
	return false;
}

static void find_by_address(struct judgement *j, const struct host_prefixes *host)
{
	struct addr judged = address_unwrap(j->d->addr);
	struct levels levels;

	j->special = address_classify_for(host, &judged);
	for (enum layer l = 0; l < LAYERS; l++) {
		if (!is_present(j, l))
			continue;
		ruleset_find_prefix(&j->rs->layers[l], &judged, &levels);
		j->listed |= lists_literally(&j->special, &levels);
		match_levels(j, l, &levels, &j->addr[l]);
	}
}

/* ---- What the rules say about a lookup ---- */

/* Does a deny rule at the levels up to `last` take away all that the allow rule gives? */
static const struct rule *find_taker(const struct levels *levels, unsigned last,
				     const struct rule *allow)
{
	for (unsigned i = 0; i <= last; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r))
			if (r->effect == EFFECT_DENY && rule_takes_all_of(r, allow))
				return r;
	return NULL;
}

/* Is there a more specific allow rule before a level, for some of what `allow` gives? */
static bool has_exception(const struct levels *levels, unsigned end, const struct rule *allow)
{
	for (unsigned i = 0; i < end; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r))
			if (r->effect == EFFECT_ALLOW && rule_scopes_meet(r, allow))
				return true;
	return false;
}

/* The same among the rules of another layer, however specific, where they win in their own. */
static const struct rule *find_taker_of_layer(const struct levels *levels, const struct rule *allow)
{
	for (unsigned i = 0; i < levels->n; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r))
			if (r->effect == EFFECT_DENY && rule_takes_all_of(r, allow))
				return has_exception(levels, i, allow) ? NULL : r;
	return NULL;
}

struct asked_layers {
	struct levels of[LAYERS];
};

/* The deny rule that takes an allow rule at a level of a layer, and the layer of the deny. */
static const struct rule *taker_of(const struct asked_layers *all, enum layer layer, unsigned level,
				   const struct rule *allow, enum layer *taker_layer)
{
	const struct rule *taker = find_taker(&all->of[layer], level, allow);

	*taker_layer = layer;
	for (enum layer l = LAYER_OWN; !taker && l < LAYER_PERMISSIONS; l++) {
		if (l == layer)
			continue;
		taker = find_taker_of_layer(&all->of[l], allow);
		*taker_layer = l;
	}
	return taker;
}

static void lookup_level(struct judgement *j, const struct asked_layers *all, enum layer layer,
			 unsigned i)
{
	struct found *f = &j->name[layer];
	const struct rule *whole = NULL;

	for (const struct rule *r = all->of[layer].rule[i]; r; r = ruleset_next(r)) {
		const struct rule *taker;
		enum layer by;

		if (r->effect == EFFECT_DENY) {
			whole = rule_covers_everything(r) ? r : whole;
			continue;
		}
		taker = taker_of(all, layer, i, r, &by);
		if (taker)
			note_near(f, taker, by, REASON_DENIED_BY_RULE);
		else if (r->near_resolver && suffix_is_encrypted_dns(j->d->name))
			note_near(f, r, layer, REASON_ENCRYPTED_DNS);
		else
			take_allow(f, r);
	}
	if (whole && !f->allow)
		f->deny = whole;
}

/*
 * Allow rules of all levels are seen, since connections may match any of them; whether an
 * address that is private may be handed out is the connection's to judge again.
 */
static void find_lookup(struct judgement *j, const struct asked_layers *all)
{
	for (enum layer l = 0; l < LAYERS; l++)
		for (unsigned i = 0; i < all->of[l].n && !j->name[l].deny; i++)
			lookup_level(j, all, l, i);
}

static void find_by_name(struct judgement *j, const struct name_question *q)
{
	struct levels levels;

	for (enum layer l = 0; l < LAYERS; l++) {
		if (!is_present(j, l))
			continue;
		ruleset_find_name(&q[l], &levels);
		match_levels(j, l, &levels, &j->name[l]);
	}
}

static void find_for_lookup(struct judgement *j, const struct name_question *q)
{
	struct asked_layers all;

	for (enum layer l = 0; l < LAYERS; l++) {
		all.of[l].n = 0;
		if (is_present(j, l))
			ruleset_find_name(&q[l], &all.of[l]);
	}
	find_lookup(j, &all);
}

/* Asks for the slots of all layers before any of them is read. */
static void ask_by_name(const struct ruleset *rs, const struct name *name, struct name_question *q)
{
	for (enum layer l = 0; l < LAYERS; l++)
		if (rs->layers[l].present)
			ruleset_ask_name(&rs->layers[l], name, &q[l]);
}

/* ---- The steps ---- */

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
	if (!is_present(j, layer))
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

/* The host's alias: its lookup is answered by the gate itself, its ports are those listed. */
static bool decide_host_alias(const struct judgement *j, struct verdict *v)
{
	const struct policy *p = j->policy;
	const struct destination *d = j->d;
	bool own = has_port(p->host_ports, p->n_host_ports, d->port);

	v->step = 3;
	if (d->kind == DEST_LOOKUP)
		return admit(v);
	if (d->proto != PROTO_TCP ||
	    !(own || has_port(p->resolved.host_ports, p->resolved.n_host_ports, d->port)))
		return refuse(v, REASON_PORT_NOT_ALLOWED);
	v->step = own ? 3 : 5;
	v->by_literal_address = true;
	return admit(v);
}

/* `any` allows unless a deny matches, whoever wrote it. */
static bool decide_any(const struct judgement *j, struct verdict *v)
{
	const struct rule *own = denying_rule(j, LAYER_OWN);
	const struct rule *organisation = denying_rule(j, LAYER_ORGANISATION);

	if (own)
		return refuse_by(v, REASON_DENIED_BY_RULE, LAYER_OWN, own);
	if (organisation) {
		v->step = 4;
		return refuse_by(v, REASON_DENIED_BY_RULE, LAYER_ORGANISATION, organisation);
	}
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
	if (d->name && d->name->n == sizeof(host_alias) - 1 && strcmp(d->name->s, host_alias) == 0)
		return decide_host_alias(j, v);
	return j->policy->network == NET_ANY && decide_any(j, v);
}

/* 2. A special address that is not listed literally is denied. */
static bool decide_special(const struct judgement *j, struct verdict *v)
{
	if (!j->d->addr || j->special.kind == SPECIAL_PUBLIC || j->listed)
		return false;
	for (enum layer l = 0; l < LAYERS; l++)
		if (j->special.kind == SPECIAL_PRIVATE && is_present(j, l) && j->name[l].allow &&
		    j->name[l].private_ok)
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
	for (enum layer l = 0; l < LAYERS; l++)
		if (is_present(j, l) && j->name[l].allow && j->name[l].private_ok)
			return true;
	return false;
}

/* What an address admits by itself, by whatever layer, is carried as it is. */
static bool is_admitted_literally(const struct judgement *j)
{
	for (enum layer l = 0; j->d->addr && l < LAYERS; l++)
		if (is_present(j, l) && j->addr[l].allow)
			return true;
	return false;
}

/* A deny of some requests is held wherever requests can be seen, whatever admits the connection. */
static bool denies_requests(const struct judgement *j)
{
	for (enum layer l = 0; l < LAYERS; l++)
		if (is_present(j, l) && j->name[l].denies_requests)
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

	if (!is_present(j, layer))
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
	const struct rule *deny = denying_rule(j, LAYER_OWN);

	if (deny)
		return refuse_by(v, REASON_DENIED_BY_RULE, LAYER_OWN, deny);
	return !denying_rule(j, LAYER_ORGANISATION) && admit_by_layer(j, v, LAYER_OWN);
}

/* 4. The organisation: its denies hold for everybody, its allows are defaults. */
static bool decide_organisation(const struct judgement *j, struct verdict *v)
{
	const struct rule *deny = denying_rule(j, LAYER_ORGANISATION);

	if (deny)
		return refuse_by(v, REASON_DENIED_BY_RULE, LAYER_ORGANISATION, deny);
	return admit_by_layer(j, v, LAYER_ORGANISATION);
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
		for (enum layer l = 0; l < LAYERS; l++) {
			const struct found *f = &halves[half][l];

			if (is_present(j, l) && f->near &&
			    (!best || nearness(f->why) > nearness(best->why)))
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

/* `open`: the public internet, but not around the gate. `web`: only what a browser would ask for. */
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

static void find(struct judgement *j, const struct host_prefixes *host)
{
	static const struct found nothing = {.why = REASON_NOT_IN_POLICY};
	struct name_question q[LAYERS];
	const struct destination *d = j->d;

	for (enum layer l = 0; l < LAYERS; l++)
		if (is_present(j, l))
			j->name[l] = j->addr[l] = nothing;
	if (d->name)
		ask_by_name(j->rs, d->name, q);
	if (d->kind == DEST_LOOKUP) {
		find_for_lookup(j, q);
		return;
	}
	if (d->addr)
		find_by_address(j, host);
	if (d->name)
		find_by_name(j, q);
}

void decide(const struct ruleset *rs, const struct host_prefixes *host, const struct destination *d,
	    struct verdict *v)
{
	struct judgement j;

	j.rs = rs;
	j.policy = &rs->policy;
	j.d = d;
	j.special = (struct special){.kind = SPECIAL_PUBLIC};
	j.listed = false;
	find(&j, host);
	*v = (struct verdict){0};
	for (size_t i = 0; i < sg_array_len(steps); i++) {
		v->step = steps[i].step;
		if (steps[i].decide(&j, v))
			return;
	}
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
	for (enum layer l = 0; l < LAYERS; l++) {
		if (!rs->layers[l].present)
			continue;
		ruleset_find_prefix(&rs->layers[l], &judged, &levels);
		if (lists_literally(&special, &levels))
			return true;
	}
	return false;
}
