/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/judgement.h"

#include "policy/match.h"
#include "policy/suffix.h"

/* ---- Connections ---- */

unsigned judgement_nearness(enum reason r)
{
	/* The nearest last. */
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
	if (f->near && judgement_nearness(why) <= judgement_nearness(f->why))
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

bool judgement_lists(const struct special *special, const struct levels *levels)
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
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1]) {
		ruleset_find_prefix(&j->rs->layers[l], &judged, &levels);
		j->listed |= judgement_lists(&j->special, &levels);
		match_levels(j, l, &levels, &j->addr[l]);
	}
}

/* ---- Lookups ---- */

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
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1])
		for (unsigned i = 0; i < all->of[l].n && !j->name[l].deny; i++)
			lookup_level(j, all, l, i);
}

static void find_by_name(struct judgement *j, const struct name_question *q)
{
	struct levels levels;

	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1]) {
		ruleset_find_name(&q[l], &levels);
		match_levels(j, l, &levels, &j->name[l]);
	}
}

static void find_for_lookup(struct judgement *j, const struct name_question *q)
{
	struct asked_layers all;

	for (enum layer l = 0; l < LAYERS; l++)
		all.of[l].n = 0;
	for (enum layer l = j->rs->next[0]; l < LAYERS; l = j->rs->next[l + 1])
		ruleset_find_name(&q[l], &all.of[l]);
	find_lookup(j, &all);
}

/* Asks for the slots of all layers before any of them is read. */
static void ask_by_name(const struct ruleset *rs, const struct name *name, struct name_question *q)
{
	for (enum layer l = rs->next[0]; l < LAYERS; l = rs->next[l + 1])
		ruleset_ask_name(&rs->layers[l], name, &q[l]);
}

/* ---- Both ---- */

void judgement_make(struct judgement *j, const struct ruleset *rs, const struct host_prefixes *host,
		    const struct destination *d)
{
	static const struct found nothing = {.why = REASON_NOT_IN_POLICY};
	struct name_question q[LAYERS];

	j->rs = rs;
	j->policy = &rs->policy;
	j->d = d;
	j->special = (struct special){.kind = SPECIAL_PUBLIC};
	j->listed = false;
	for (enum layer l = rs->next[0]; l < LAYERS; l = rs->next[l + 1])
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
