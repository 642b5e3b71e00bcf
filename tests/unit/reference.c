/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

/* ---- Addresses (policy.md 5; protocols.md, Addresses) ---- */

enum kind { PUBLIC, PRIVATE, METADATA, OTHER };

static bool holds(const char *prefix, const struct addr *a)
{
	struct prefix p;

	if (!prefix_parse(prefix, strlen(prefix), &p))
		return false;
	if ((addr_is_v4(&p.addr) && p.bits >= 96) != addr_is_v4(a))
		return false;
	for (unsigned bit = 0; bit < p.bits; bit++)
		if ((p.addr.b[bit / 8] ^ a->b[bit / 8]) & (0x80 >> bit % 8))
			return false;
	return true;
}

static bool some_holds(const char *const *prefixes, const struct addr *a)
{
	for (; *prefixes; prefixes++)
		if (holds(*prefixes, a))
			return true;
	return false;
}

static struct addr unwrap(const struct addr *a)
{
	static const char *const embedding[] = {"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", NULL};

	if (addr_is_v4(a) || holds("::/128", a) || holds("::1/128", a) || !some_holds(embedding, a))
		return *a;
	return addr_from_v4(a->b + 12);
}

static bool is_isatap(const struct addr *a)
{
	return !addr_is_v4(a) && (a->b[8] & 0xfd) == 0 && a->b[9] == 0 && a->b[10] == 0x5e &&
	       a->b[11] == 0xfe;
}

static enum kind kind_of(const struct host_prefixes *host, const struct addr *a)
{
	static const char *const metadata[] = {"169.254.169.254/32",
					       "169.254.170.2/32",
					       "100.100.100.200/32",
					       "168.63.129.16/32",
					       "fd00:ec2::254/128",
					       "fd20:ce::254/128",
					       NULL};
	static const char *const private[] = {"10.0.0.0/8",    "172.16.0.0/12", "192.168.0.0/16",
					      "100.64.0.0/10", "fc00::/7",	NULL};
	static const char *const other[] = {
		"0.0.0.0/8",	   "127.0.0.0/8",     "169.254.0.0/16",	   "192.0.0.0/24",
		"192.0.2.0/24",	   "192.31.196.0/24", "192.52.193.0/24",   "192.88.99.0/24",
		"192.175.48.0/24", "198.18.0.0/15",   "198.51.100.0/24",   "203.0.113.0/24",
		"224.0.0.0/4",	   "240.0.0.0/4",     "2001::/23",	   "2001:db8::/32",
		"2002::/16",	   "3fff::/20",	      "2620:4f:8000::/48", NULL};
	char text[PREFIX_TEXT_MAX];
	bool connected = false;

	if (some_holds(metadata, a))
		return METADATA;
	for (size_t i = 0; host && i < host->n; i++) {
		prefix_format(&host->prefix[i], text);
		if (!holds(text, a))
			continue;
		if (host->prefix[i].bits == 128)
			return OTHER;
		connected = true;
	}
	if (some_holds(private, a))
		return is_isatap(a) ? OTHER : PRIVATE;
	if (some_holds(other, a) || is_isatap(a) || (!addr_is_v4(a) && !holds("2000::/3", a)))
		return OTHER;
	return connected ? PRIVATE : PUBLIC;
}

/* ---- Rules ---- */

/* The rules of one author. */
struct author {
	const struct rule *rules;
	size_t n;
};

static struct author author_of(const struct policy *p, enum layer layer)
{
	const struct rule_list *list =
		layer == LAYER_ORGANISATION ? &p->resolved.organisation : &p->resolved.permissions;

	if (layer == LAYER_OWN)
		return (struct author){p->rules, p->n_rules};
	return (struct author){list->v, list->n};
}

static const unsigned step_of[LAYERS] = {
	[LAYER_OWN] = 3, [LAYER_ORGANISATION] = 4, [LAYER_PERMISSIONS] = 5};

static bool fits_target(const struct rule *r, const struct name *name, const struct addr *a)
{
	char text[PREFIX_TEXT_MAX];
	size_t n;

	if (r->kind == TARGET_PREFIX)
		return a && holds(prefix_format(&r->prefix, text), a);
	if (!name)
		return false;
	if (r->kind == TARGET_NAME)
		return strcmp(name->s, rule_name(r)) == 0;
	n = strlen(rule_name(r));
	return name->n > n && name->s[name->n - n - 1] == '.' &&
	       strcmp(name->s + name->n - n, rule_name(r)) == 0;
}

/* exact name > longer wildcard > shorter; longer prefix > shorter */
static unsigned specificity(const struct rule *r)
{
	if (r->kind == TARGET_PREFIX)
		return r->prefix.bits;
	return r->kind == TARGET_NAME ? 1000 : (unsigned)strlen(rule_name(r));
}

/* A rule's ports and protocols written out (policy.md 2; a deny without ports is everything). */
struct span_of_ports {
	enum proto proto;
	unsigned lo, hi;
};

static unsigned write_out(const struct rule *r, struct span_of_ports out[3 * RULE_PORTS_MAX])
{
	static const enum proto protos[] = {PROTO_TCP, PROTO_UDP, PROTO_ICMP};
	bool every = r->any_port ||
		     (!r->ports_written && (r->kind == TARGET_PREFIX || r->effect == EFFECT_DENY));
	unsigned bits = r->protos ? r->protos : every ? PROTO_ANY : PROTO_TCP, n = 0;

	for (unsigned p = 0; p < 3; p++) {
		if (!(bits & protos[p]))
			continue;
		if (every || protos[p] == PROTO_ICMP) {
			out[n++] = (struct span_of_ports){protos[p], 1, 65535};
		} else if (!r->ports_written) {
			out[n++] = (struct span_of_ports){protos[p], 80, 80};
			out[n++] = (struct span_of_ports){protos[p], 443, 443};
		} else {
			for (unsigned i = 0; i < r->detail->n_ports; i++)
				out[n++] = (struct span_of_ports){protos[p], r->detail->ports[i].lo,
								  r->detail->ports[i].hi};
		}
	}
	return n;
}

static bool fits_port(const struct rule *r, enum proto proto, unsigned port)
{
	struct span_of_ports ports[3 * RULE_PORTS_MAX];
	unsigned n = write_out(r, ports);

	for (unsigned i = 0; i < n; i++)
		if (ports[i].proto == proto &&
		    (proto == PROTO_ICMP || (port >= ports[i].lo && port <= ports[i].hi)))
			return true;
	return false;
}

static bool has_methods(const struct rule *r)
{
	return r->detail && r->detail->methods;
}

static bool fits_method(const struct rule *r, const struct destination *d)
{
	if (!has_methods(r))
		return true;
	/* Of port 80 a name comes with its request; else that is still to come. */
	if (!d->method)
		return (d->kind == DEST_SERVER_NAME && d->port == 80) == (r->effect == EFFECT_DENY);
	for (char **m = r->detail->methods; *m; m++)
		if (strcmp(*m, d->method) == 0)
			return true;
	return false;
}

static bool is_doh(const struct name *name)
{
	static const char *const names[] = {"dns.quad9.net", "dns9.quad9.net", "dns10.quad9.net",
					    "dns11.quad9.net", "dns.google"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (name->n >= n && strcmp(name->s + name->n - n, names[i]) == 0 &&
		    (name->n == n || name->s[name->n - n - 1] == '.'))
			return true;
	}
	return false;
}

static bool is_quic(const struct destination *d)
{
	return d->proto == PROTO_UDP && d->port == 443;
}

/* Why an allow rule whose target fits does not match; REASON_NONE when it does. */
static enum reason misfit(const struct policy *p, const struct rule *r, const struct destination *d)
{
	bool by_port = fits_port(r, d->proto, d->port);

	if (!by_port && r->kind != TARGET_PREFIX && is_quic(d) && fits_port(r, PROTO_TCP, 443)) {
		if (!p->quic_allow)
			return REASON_QUIC_REFUSED;
		by_port = true;
	} else if (by_port && !fits_method(r, d)) {
		return REASON_METHOD_NOT_ALLOWED;
	}
	if (!by_port)
		return REASON_PORT_NOT_ALLOWED;
	if (r->kind == TARGET_WILDCARD && is_doh(d->name))
		return REASON_ENCRYPTED_DNS;
	return REASON_NONE;
}

static bool matches(const struct policy *p, const struct rule *r, const struct destination *d)
{
	if (r->effect == EFFECT_ALLOW)
		return misfit(p, r, d) == REASON_NONE;
	if (is_quic(d) && r->kind != TARGET_PREFIX && fits_port(r, PROTO_TCP, 443))
		return true;
	return fits_port(r, d->proto, d->port) && fits_method(r, d);
}

/* ---- Connections ---- */

struct half {
	const struct rule *winner; /* deny wins among the most specific */
	unsigned level;
	bool private_ok, raw, only_quic, denies_requests;
	enum reason near;
};

static unsigned rank(enum reason r)
{
	return r == REASON_PORT_NOT_ALLOWED	? 1
	       : r == REASON_QUIC_REFUSED	? 2
	       : r == REASON_METHOD_NOT_ALLOWED ? 3
	       : r == REASON_ENCRYPTED_DNS	? 5
						: 0;
}

static struct half weigh(const struct policy *p, struct author who, const struct destination *d,
			 const struct name *name, const struct addr *a)
{
	struct half h = {.only_quic = true, .near = REASON_NOT_IN_POLICY};

	for (size_t i = 0; i < who.n; i++) {
		const struct rule *r = &who.rules[i];

		if (!fits_target(r, name, a) || !matches(p, r, d))
			continue;
		if (!h.winner || specificity(r) > h.level ||
		    (specificity(r) == h.level && r->effect == EFFECT_DENY)) {
			h.winner = r;
			h.level = specificity(r);
		}
	}
	for (size_t i = 0; i < who.n; i++) {
		const struct rule *r = &who.rules[i];

		if (!fits_target(r, name, a) || (h.winner && specificity(r) < h.level))
			continue;
		if (r->effect == EFFECT_DENY) {
			h.denies_requests |= fits_port(r, d->proto, d->port) && has_methods(r);
			continue;
		}
		if (!matches(p, r, d)) {
			if (rank(misfit(p, r, d)) > rank(h.near))
				h.near = misfit(p, r, d);
			continue;
		}
		h.private_ok |= r->private_ok;
		h.raw |= r->raw;
		h.only_quic &= !fits_port(r, d->proto, d->port);
	}
	return h;
}

static bool denies(const struct half *h)
{
	return h->winner && h->winner->effect == EFFECT_DENY;
}

static bool allows(const struct half *h)
{
	return h->winner && h->winner->effect == EFFECT_ALLOW;
}

static bool is_listed(const struct policy *p, enum kind kind, const struct addr *a)
{
	for (enum layer l = 0; l < LAYERS; l++) {
		struct author who = author_of(p, l);

		for (size_t i = 0; i < who.n; i++)
			if (who.rules[i].effect == EFFECT_ALLOW &&
			    fits_target(&who.rules[i], NULL, a) &&
			    (kind != METADATA || who.rules[i].prefix.bits == 128))
				return true;
	}
	return false;
}

static struct answer no(unsigned step, enum reason reason)
{
	return (struct answer){.step = step, .reason = reason};
}

static bool is_web(const struct destination *d)
{
	return d->proto == PROTO_TCP && (d->port == 80 || d->port == 443);
}

static bool denies_names(const struct policy *p)
{
	for (enum layer l = 0; l < LAYERS; l++) {
		struct author who = author_of(p, l);

		for (size_t i = 0; i < who.n; i++)
			if (who.rules[i].effect == EFFECT_DENY &&
			    who.rules[i].kind != TARGET_PREFIX)
				return true;
	}
	return false;
}

/* What every author says of a connection. */
struct views {
	enum kind kind;
	struct half name[LAYERS], addr[LAYERS];
};

static bool denied(const struct views *w, enum layer l)
{
	return denies(&w->name[l]) || denies(&w->addr[l]);
}

static bool by_name(const struct views *w, enum layer l)
{
	return allows(&w->name[l]) &&
	       (w->kind == PUBLIC || (w->kind == PRIVATE && w->name[l].private_ok));
}

static struct answer near(const struct views *w, enum reason otherwise)
{
	enum reason name = REASON_NOT_IN_POLICY, addr = REASON_NOT_IN_POLICY;

	for (enum layer l = 0; l < LAYERS; l++) {
		name = rank(w->name[l].near) > rank(name) ? w->name[l].near : name;
		addr = rank(w->addr[l].near) > rank(addr) ? w->addr[l].near : addr;
	}
	if (rank(name))
		return no(6, name);
	return no(6, rank(addr) ? addr : otherwise);
}

static struct answer connect_default(const struct policy *p, const struct destination *d,
				     const struct views *w)
{
	bool web = is_web(d) || is_quic(d), open = p->network == NET_OPEN;

	if ((!open && !p->resolved.web) || w->kind != PUBLIC)
		return near(w, REASON_NOT_IN_POLICY);
	if (is_doh(d->name) || d->port == 853)
		return no(6, REASON_ENCRYPTED_DNS);
	if (is_quic(d) && !p->quic_allow)
		return no(6, REASON_QUIC_REFUSED);
	if (!open && !web)
		return near(w, REASON_PORT_NOT_ALLOWED);
	return (struct answer){.allow = true,
			       .step = 6,
			       .by_default = true,
			       .check_name = web && d->kind == DEST_CONNECT};
}

static struct answer connect_any(const struct policy *p, const struct destination *d,
				 const struct views *w)
{
	if (denied(w, LAYER_OWN))
		return no(1, REASON_DENIED_BY_RULE);
	if (denied(w, LAYER_ORGANISATION))
		return no(4, REASON_DENIED_BY_RULE);
	return (struct answer){
		.allow = true,
		.step = 1,
		.by_default = true,
		.check_name = is_web(d) && denies_names(p) && d->kind == DEST_CONNECT,
	};
}

static struct answer connect_by(const struct destination *d, const struct views *w, enum layer l)
{
	const struct half *name = &w->name[l];
	bool literal = false, requests = false;

	for (enum layer k = 0; k < LAYERS; k++) {
		literal |= allows(&w->addr[k]);
		requests |= w->name[k].denies_requests;
	}
	return (struct answer){
		.allow = true,
		.step = step_of[l],
		.literal = literal,
		.private_ok = by_name(w, l) && name->private_ok,
		.about_requests = by_name(w, l) && has_methods(name->winner),
		.wildcard = !literal && name->winner->kind == TARGET_WILDCARD,
		.check_name = d->kind == DEST_CONNECT &&
			      ((is_web(d) && !literal && !name->raw) || (is_web(d) && requests) ||
			       (is_quic(d) && !literal && name->only_quic)),
	};
}

static bool reaches_private(const struct views *w)
{
	for (enum layer l = 0; l < LAYERS; l++)
		if (w->kind == PRIVATE && allows(&w->name[l]) && w->name[l].private_ok)
			return true;
	return false;
}

/* The authors in the order of the steps; what the organisation denies is not own rules' to allow.
 */
static struct answer judge_connection(const struct policy *p, const struct host_prefixes *host,
				      const struct destination *d)
{
	struct addr a = d->addr ? unwrap(d->addr) : (struct addr){{0}};
	const struct addr *judged = d->addr ? &a : NULL;
	struct views w = {.kind = judged ? kind_of(host, judged) : PUBLIC};

	for (enum layer l = 0; l < LAYERS; l++) {
		w.name[l] = weigh(p, author_of(p, l), d, d->name, NULL);
		w.addr[l] = weigh(p, author_of(p, l), d, NULL, judged);
	}
	if (p->network == NET_ANY)
		return connect_any(p, d, &w);
	if (w.kind != PUBLIC && !is_listed(p, w.kind, judged) && !reaches_private(&w))
		return no(2, REASON_SPECIAL_ADDRESS);
	for (enum layer l = 0; l < LAYERS; l++) {
		if (denied(&w, l))
			return no(step_of[l], REASON_DENIED_BY_RULE);
		if (l == LAYER_OWN && denied(&w, LAYER_ORGANISATION))
			continue;
		if (by_name(&w, l) || allows(&w.addr[l]))
			return connect_by(d, &w, l);
	}
	return connect_default(p, d, &w);
}

/* ---- Lookups ---- */

static bool takes_all(const struct rule *deny, const struct rule *allow)
{
	struct span_of_ports taken[3 * RULE_PORTS_MAX], given[3 * RULE_PORTS_MAX];
	unsigned n_taken = write_out(deny, taken), n_given = write_out(allow, given);

	if (has_methods(deny))
		return false;
	for (unsigned g = 0; g < n_given; g++) {
		bool gone = false;

		for (unsigned t = 0; t < n_taken; t++)
			gone |= taken[t].proto == given[g].proto && taken[t].lo <= given[g].lo &&
				taken[t].hi >= given[g].hi;
		if (!gone)
			return false;
	}
	return true;
}

/* Does an author with a more specific allow keep a deny of theirs from some of what `given` is? */
static bool is_excepted(struct author who, const struct name *name, const struct rule *deny,
			const struct rule *given)
{
	struct span_of_ports a[3 * RULE_PORTS_MAX], b[3 * RULE_PORTS_MAX];
	unsigned n_a, n_b = write_out(given, b);

	for (size_t i = 0; i < who.n; i++) {
		const struct rule *r = &who.rules[i];

		if (r->effect == EFFECT_DENY || !fits_target(r, name, NULL) ||
		    specificity(r) <= specificity(deny))
			continue;
		n_a = write_out(r, a);
		for (unsigned x = 0; x < n_a; x++)
			for (unsigned y = 0; y < n_b; y++)
				if (a[x].proto == b[y].proto && a[x].lo <= b[y].hi &&
				    b[y].lo <= a[x].hi)
					return true;
	}
	return false;
}

/* The most specific deny of an author that takes all; one of the same layer is specific enough. */
static bool takes(struct author who, const struct name *name, const struct rule *allow, bool same)
{
	const struct rule *first = NULL;

	for (size_t i = 0; i < who.n; i++) {
		const struct rule *r = &who.rules[i];

		if (r->effect == EFFECT_ALLOW || !fits_target(r, name, NULL) ||
		    (same && specificity(r) < specificity(allow)) || !takes_all(r, allow))
			continue;
		if (!first || specificity(r) > specificity(first))
			first = r;
	}
	return first && (same || !is_excepted(who, name, first, allow));
}

/* Whose deny takes all that an allow rule of a layer gives to a lookup; LAYERS: nobody's. */
static enum layer taker(const struct policy *p, enum layer layer, const struct name *name,
			const struct rule *allow)
{
	if (takes(author_of(p, layer), name, allow, true))
		return layer;
	for (enum layer l = LAYER_OWN; l <= LAYER_ORGANISATION; l++)
		if (l != layer && takes(author_of(p, l), name, allow, false))
			return l;
	return LAYERS;
}

/* What one author says of a lookup. */
struct asked {
	const struct rule *best;  /* the most specific allow that stands */
	const struct rule *taken; /* the most specific allow that does not */
	enum layer taken_by;
	bool whole, doh, private_ok;
};

static bool is_denied_whole(struct author who, const struct name *name, const struct rule *best)
{
	static const struct rule everything = {.kind = TARGET_PREFIX, .effect = EFFECT_DENY};

	for (size_t i = 0; i < who.n; i++)
		if (who.rules[i].effect == EFFECT_DENY && fits_target(&who.rules[i], name, NULL) &&
		    (!best || specificity(best) < specificity(&who.rules[i])) &&
		    takes_all(&who.rules[i], &everything))
			return true;
	return false;
}

static struct asked ask(const struct policy *p, enum layer layer, const struct name *name)
{
	struct author who = author_of(p, layer);
	struct asked a = {.taken_by = LAYERS};

	for (size_t i = 0; i < who.n; i++) {
		const struct rule *r = &who.rules[i];
		enum layer by;

		if (r->effect == EFFECT_DENY || !fits_target(r, name, NULL))
			continue;
		by = taker(p, layer, name, r);
		if (by != LAYERS) {
			if (!a.taken || specificity(r) > specificity(a.taken)) {
				a.taken = r;
				a.taken_by = by;
			}
		} else if (r->kind == TARGET_WILDCARD && is_doh(name)) {
			a.doh = true;
		} else {
			a.private_ok |= r->private_ok;
			if (!a.best || specificity(r) > specificity(a.best))
				a.best = r;
		}
	}
	a.whole = is_denied_whole(who, name, a.best);
	return a;
}

static struct answer lookup_default(const struct policy *p, const struct name *name,
				    const struct asked *all)
{
	if (p->network == NET_OPEN || p->resolved.web)
		return is_doh(name) ? no(6, REASON_ENCRYPTED_DNS)
				    : (struct answer){.allow = true, .step = 6, .by_default = true};
	for (enum layer l = 0; l < LAYERS; l++)
		if (all[l].doh)
			return no(6, REASON_ENCRYPTED_DNS);
	for (enum layer l = 0; l < LAYERS; l++)
		if (all[l].taken)
			return no(step_of[all[l].taken_by], REASON_DENIED_BY_RULE);
	return no(6, REASON_NOT_IN_POLICY);
}

static struct answer judge_lookup(const struct policy *p, const struct destination *d)
{
	struct asked all[LAYERS];
	bool private_ok = false;

	for (enum layer l = 0; l < LAYERS; l++) {
		all[l] = ask(p, l, d->name);
		private_ok |= all[l].private_ok;
	}
	if (p->network == NET_ANY && all[LAYER_OWN].whole)
		return no(1, REASON_DENIED_BY_RULE);
	for (enum layer l = 0; l < LAYERS; l++) {
		if (all[l].whole)
			return no(step_of[l], REASON_DENIED_BY_RULE);
		if (p->network == NET_ANY || !all[l].best ||
		    (l == LAYER_OWN && all[LAYER_ORGANISATION].whole))
			continue;
		return (struct answer){.allow = true,
				       .step = step_of[l],
				       .private_ok = private_ok,
				       .wildcard = all[l].best->kind == TARGET_WILDCARD};
	}
	if (p->network == NET_ANY)
		return (struct answer){.allow = true, .step = 1, .by_default = true};
	return lookup_default(p, d->name, all);
}

static struct answer judge(const struct policy *p, const struct host_prefixes *host,
			   const struct destination *d)
{
	if (p->network == NET_NONE)
		return no(1, REASON_NETWORK_NONE);
	if (d->kind != DEST_LOOKUP)
		return judge_connection(p, host, d);
	if (p->dns_off)
		return no(1, REASON_DNS_OFF);
	return judge_lookup(p, d);
}

/* broker.md 1: with `brokered` what is listed is reached through the proxy port only. */
struct answer reference_decide(const struct policy *p, const struct host_prefixes *host,
			       const struct destination *d)
{
	struct answer a = judge(p, host, d);

	if (a.allow && p->network == NET_BROKERED && !d->by_proxy)
		return no(1, REASON_PROXY_ONLY);
	return a;
}

bool reference_admissible(const struct policy *p, const struct host_prefixes *host,
			  const struct answer *lookup, const struct addr *a)
{
	struct addr judged = unwrap(a);
	enum kind kind = kind_of(host, &judged);

	return p->network == NET_ANY || kind == PUBLIC || (kind == PRIVATE && lookup->private_ok) ||
	       is_listed(p, kind, &judged);
}
