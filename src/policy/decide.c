/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide: the steps of docs/policy.md, "Which rule decides", in their order.
 *
 * Theory of operation. Before the steps, the rules that fit the name and those
 * that fit the address are found and matched (`struct found`): among those that
 * match wholly the most specific wins, and at equal specificity deny. The steps
 * then only combine what was found; the first that has an answer gives it.
 *
 * A lookup has a name and nothing else. It is a message by itself, so it is
 * allowed only when some connection to the name could be: an allow rule whose
 * scope no equally or more specific deny takes away.
 *
 * Steps 4 (organisation) and 5 (permissions) have no source of rules yet.
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
	bool private_ok, raw;		 /* of any allow rule at the level that won */
	bool quic;			 /* allowed for TCP 443, and so for QUIC ... */
	bool written;			 /* ... or by a rule that covers the port itself */
};

struct judgement {
	const struct ruleset *rs;
	const struct policy *policy;
	const struct destination *d;
	struct found name, addr;
	struct special special; /* of the address */
	bool listed;		/* an allow rule lists the address or its network */
};

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

static void note_near(struct found *f, const struct rule *r, enum reason why)
{
	if (f->near && nearness(why) <= nearness(f->why))
		return;
	f->near = r;
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
 * An allow rule against a connection. QUIC carries the same name to the same server as TCP 443,
 * so the policy's `quic` decides for both; a rule that writes UDP says it itself.
 */
static void match_allow(const struct judgement *j, const struct rule *r, struct found *f)
{
	enum reason why = rule_match(r, j->d);
	bool as_quic = why == REASON_PORT_NOT_ALLOWED && is_quic(j->d) &&
		       r->kind != TARGET_PREFIX && rule_covers_port(r, PROTO_TCP, HTTPS_PORT);

	if (as_quic)
		why = j->policy->quic_allow ? REASON_NONE : REASON_QUIC_REFUSED;
	if (why == REASON_NONE && r->near_resolver && suffix_is_encrypted_dns(j->d->name))
		why = REASON_ENCRYPTED_DNS;
	if (why != REASON_NONE) {
		note_near(f, r, why);
		return;
	}
	take_allow(f, r);
	f->quic |= as_quic;
	f->written |= !as_quic;
}

/* One level of a connection: true when a rule there matches. Deny wins. */
static bool match_level(const struct judgement *j, const struct rule *first, struct found *f)
{
	for (const struct rule *r = first; r; r = ruleset_next(r)) {
		if (r->effect == EFFECT_ALLOW)
			match_allow(j, r, f);
		else if (!f->deny && rule_match(r, j->d) == REASON_NONE)
			f->deny = r;
	}
	if (f->deny)
		f->allow = NULL;
	return f->deny || f->allow;
}

static void match_levels(const struct judgement *j, const struct levels *levels, struct found *f)
{
	for (unsigned i = 0; i < levels->n; i++)
		if (match_level(j, levels->rule[i], f))
			return;
}

static bool lists_literally(const struct judgement *j, const struct levels *levels)
{
	for (unsigned i = 0; i < levels->n; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r)) {
			/* Metadata: by its exact address, never by a network that holds it. */
			if (j->special.kind == SPECIAL_METADATA && r->prefix.bits != 128)
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
	ruleset_find_prefix(j->rs, &judged, &levels);
	j->listed = lists_literally(j, &levels);
	match_levels(j, &levels, &j->addr);
}

/* ---- What the rules say about a lookup ---- */

/* Does a deny rule at the levels up to `last` take away all that the allow rule gives? */
static const struct rule *find_taker(const struct judgement *j, const struct levels *levels,
				     unsigned last, const struct rule *allow)
{
	for (unsigned i = 0; i <= last; i++)
		for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r))
			if (r->effect == EFFECT_DENY && rule_takes_all_of(r, allow))
				return r;
	return NULL;
}

static void lookup_level(const struct judgement *j, const struct levels *levels, unsigned i,
			 struct found *f)
{
	const struct rule *whole = NULL;

	for (const struct rule *r = levels->rule[i]; r; r = ruleset_next(r)) {
		const struct rule *taker;

		if (r->effect == EFFECT_DENY) {
			whole = rule_covers_everything(r) ? r : whole;
			continue;
		}
		taker = find_taker(j, levels, i, r);
		if (taker)
			note_near(f, taker, REASON_DENIED_BY_RULE);
		else if (r->near_resolver && suffix_is_encrypted_dns(j->d->name))
			note_near(f, r, REASON_ENCRYPTED_DNS);
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
static void find_lookup(struct judgement *j, const struct levels *levels)
{
	for (unsigned i = 0; i < levels->n && !j->name.deny; i++)
		lookup_level(j, levels, i, &j->name);
}

static void find_by_name(struct judgement *j, const struct name_question *q)
{
	struct levels levels;

	ruleset_find_name(q, &levels);
	if (j->d->kind == DEST_LOOKUP)
		find_lookup(j, &levels);
	else
		match_levels(j, &levels, &j->name);
}

/* ---- The steps ---- */

static bool refuse(struct verdict *v, enum reason reason, const struct rule *rule)
{
	v->allow = false;
	v->reason = reason;
	v->rule = rule;
	return true;
}

static bool admit(struct verdict *v, const struct rule *rule)
{
	v->allow = true;
	v->reason = REASON_NONE;
	v->rule = rule;
	return true;
}

static bool admit_by_default(const struct judgement *j, struct verdict *v, bool check_name)
{
	v->by_default = true;
	v->check_name = check_name && j->d->kind == DEST_CONNECT;
	return admit(v, NULL);
}

static const struct rule *denying_rule(const struct judgement *j)
{
	return j->name.deny ? j->name.deny : j->addr.deny;
}

/* The host's alias: its lookup is answered by the gate itself, its ports are those listed. */
static bool decide_host_alias(const struct judgement *j, struct verdict *v)
{
	const struct destination *d = j->d;

	v->step = 3;
	if (d->kind == DEST_LOOKUP)
		return admit(v, NULL);
	for (size_t i = 0; d->proto == PROTO_TCP && i < j->policy->n_host_ports; i++)
		if (j->policy->host_ports[i] == d->port) {
			v->by_literal_address = true;
			return admit(v, NULL);
		}
	return refuse(v, REASON_PORT_NOT_ALLOWED, NULL);
}

/* 1. `none` answers at once; `any` allows unless an explicit deny matches. */
static bool decide_base(const struct judgement *j, struct verdict *v)
{
	const struct destination *d = j->d;
	const struct rule *deny = denying_rule(j);

	if (j->policy->network == NET_NONE)
		return refuse(v, REASON_NETWORK_NONE, NULL);
	if (d->kind == DEST_LOOKUP && j->policy->dns_off)
		return refuse(v, REASON_DNS_OFF, NULL);
	if (d->name && d->name->n == sizeof(host_alias) - 1 && strcmp(d->name->s, host_alias) == 0)
		return decide_host_alias(j, v);
	if (j->policy->network != NET_ANY)
		return false;
	if (deny)
		return refuse(v, REASON_DENIED_BY_RULE, deny);
	/* A denied name is found inside a connection; without one nothing is looked into. */
	return admit_by_default(j, v, is_web(d) && j->rs->denies_names);
}

/* 2. A special address that is not listed literally is denied. */
static bool decide_special(const struct judgement *j, struct verdict *v)
{
	if (!j->d->addr || j->special.kind == SPECIAL_PUBLIC || j->listed)
		return false;
	if (j->special.kind == SPECIAL_PRIVATE && j->name.allow && j->name.private_ok)
		return false;
	return refuse(v, REASON_SPECIAL_ADDRESS, NULL);
}

/* A name rule reaches a special address only when it is marked private, and then a private one. */
static bool name_may_admit(const struct judgement *j)
{
	if (!j->name.allow)
		return false;
	return !j->d->addr || j->special.kind == SPECIAL_PUBLIC ||
	       (j->special.kind == SPECIAL_PRIVATE && j->name.private_ok);
}

/* 3. Own rules: a deny of the name or of the address denies, then an allow of either allows. */
static bool decide_own_rules(const struct judgement *j, struct verdict *v)
{
	const struct rule *deny = denying_rule(j);
	bool by_name = name_may_admit(j), by_address = j->addr.allow != NULL;

	if (deny)
		return refuse(v, REASON_DENIED_BY_RULE, deny);
	if (!by_name && !by_address)
		return j->name.why == REASON_DENIED_BY_RULE && j->policy->network != NET_OPEN &&
		       refuse(v, REASON_DENIED_BY_RULE, j->name.near);
	v->by_literal_address = by_address;
	v->private_ok = by_name && j->name.private_ok;
	v->by_wildcard = !by_address && j->name.allow->kind == TARGET_WILDCARD;
	v->check_name = !by_address && j->d->kind == DEST_CONNECT &&
			((is_web(j->d) && !j->name.raw) || (j->name.quic && !j->name.written));
	return admit(v, by_name ? j->name.allow : j->addr.allow);
}

/* `open`: the public internet, but not around the gate. */
static bool decide_open(const struct judgement *j, struct verdict *v)
{
	const struct destination *d = j->d;

	if (d->name && suffix_is_encrypted_dns(d->name))
		return refuse(v, REASON_ENCRYPTED_DNS, NULL);
	if (d->kind != DEST_LOOKUP && d->port == DNS_TLS_PORT)
		return refuse(v, REASON_ENCRYPTED_DNS, NULL);
	if (d->kind != DEST_LOOKUP && is_quic(d) && !j->policy->quic_allow)
		return refuse(v, REASON_QUIC_REFUSED, NULL);
	return admit_by_default(j, v, is_web(d) || is_quic(d));
}

/* 6. The default of the base. A rule that nearly matched says more than that none did. */
static bool decide_default(const struct judgement *j, struct verdict *v)
{
	if (j->policy->network == NET_OPEN)
		return decide_open(j, v);
	if (j->name.near)
		return refuse(v, j->name.why, j->name.near);
	if (j->addr.near)
		return refuse(v, j->addr.why, j->addr.near);
	return refuse(v, REASON_NOT_IN_POLICY, NULL);
}

static const struct {
	uint8_t step;
	bool (*decide)(const struct judgement *j, struct verdict *v);
} steps[] = {
	{1, decide_base},
	{2, decide_special},
	{3, decide_own_rules},
	{6, decide_default},
};

void decide(const struct ruleset *rs, const struct host_prefixes *host, const struct destination *d,
	    struct verdict *v)
{
	struct judgement j = {.rs = rs, .policy = &rs->policy, .d = d};
	struct name_question q;

	j.name.why = j.addr.why = REASON_NOT_IN_POLICY;
	if (d->name)
		ruleset_ask_name(rs, d->name, &q);
	if (d->addr && d->kind != DEST_LOOKUP)
		find_by_address(&j, host);
	if (d->name)
		find_by_name(&j, &q);
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
	struct judgement j = {.rs = rs, .policy = &rs->policy};
	struct addr judged = address_unwrap(a);
	struct levels levels;

	if (rs->policy.network == NET_ANY)
		return true;
	j.special = address_classify_for(host, &judged);
	if (j.special.kind == SPECIAL_PUBLIC)
		return true;
	if (j.special.kind == SPECIAL_PRIVATE && name_verdict->private_ok)
		return true;
	ruleset_find_prefix(rs, &judged, &levels);
	return lists_literally(&j, &levels);
}
