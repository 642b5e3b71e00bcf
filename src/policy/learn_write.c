/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/learn_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "policy/address.h"
#include "policy/suffix.h"

enum { HTTP_PORT = 80, TLS_PORT = 443 };

/* --- order --- */

/* Where an address is what counts: there is no name, or the name may not lead to it. */
static bool is_by_address(const struct seen *s)
{
	return !s->has_name || (!s->lookup && s->has_addr && address_special(NULL, &s->addr));
}

static int compare_hosts(const struct seen *a, const struct seen *b)
{
	bool x = is_by_address(a), y = is_by_address(b);

	if (x != y)
		return x - y;
	return x ? memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) : strcmp(a->name.s, b->name.s);
}

int learn_compare_targets(const struct seen *a, const struct seen *b)
{
	int order = compare_hosts(a, b);

	if (order == 0)
		order = b->lookup - a->lookup;
	if (order || a->lookup)
		return order;
	order = (int)a->proto - (int)b->proto;
	if (order == 0)
		order = (int)a->port - (int)b->port;
	return order ? order : strcmp(a->permission, b->permission);
}

/* --- a rule as text --- */

struct draft {
	const struct learn_item *first; /* the items of one host and protocol */
	size_t n;
	const struct rule *own; /* of the person's, that admits the first one in a way of its own */
};

/* QUIC carries the name of TCP 443 to the same server, so one rule speaks for both. */
static bool is_quic(const struct seen *s)
{
	return s->has_name && s->proto == PROTO_UDP && s->port == TLS_PORT;
}

/* A name without ports stands for just these two. */
static bool has_usual_ports(const struct draft *d)
{
	return !is_by_address(&d->first->seen) && d->first->seen.proto == PROTO_TCP && d->n == 2 &&
	       d->first[0].seen.port == HTTP_PORT && d->first[1].seen.port == TLS_PORT;
}

static void put_target(struct buf *b, const struct seen *s, bool ports)
{
	char text[ADDR_TEXT_MAX];
	bool brackets;

	if (!is_by_address(s)) {
		buf_put_text(b, s->name.s);
		return;
	}
	brackets = ports && !addr_is_v4(&s->addr);
	buf_put_text(b, brackets ? "[" : "");
	buf_put_text(b, addr_format(&s->addr, text));
	buf_put_text(b, brackets ? "]" : "");
}

static void draft_text(const struct draft *d, char out[RULE_TEXT_MAX])
{
	const struct seen *s = &d->first->seen;
	bool ports = !s->lookup && s->proto != PROTO_ICMP && !has_usual_ports(d);
	struct buf b = buf_of(out, RULE_TEXT_MAX - 1);
	char port[8];

	put_target(&b, s, ports);
	for (size_t i = 0; ports && i < d->n; i++) {
		snprintf(port, sizeof(port), "%c%u", i ? ',' : ':', d->first[i].seen.port);
		buf_put_text(&b, port);
	}
	if (!s->lookup && s->proto == PROTO_ICMP)
		buf_put_text(&b, "/icmp");
	else if (d->own && d->own->raw)
		buf_put_text(&b, "/raw");
	else if (!s->lookup && s->proto == PROTO_UDP && !is_quic(s))
		buf_put_text(&b, "/udp");
	out[b.n] = 0;
}

/* What the person's own rule says beyond target and ports holds for the exact one as well. */
static int take_over(struct rule *r, const struct rule *own, struct err *e)
{
	struct rule_detail *d;

	r->private_ok = own->private_ok;
	if (!own->detail || (!own->detail->methods && !own->detail->paths))
		return 0;
	d = rule_need_detail(r, e);
	if (!d)
		return -1;
	if (own->detail->methods && !(d->methods = string_list_copy(own->detail->methods)))
		return err_set(e, "out of memory");
	if (own->detail->paths && !(d->paths = string_list_copy(own->detail->paths)))
		return err_set(e, "out of memory");
	return 0;
}

static int write_draft(struct policy *p, const struct draft *d, struct err *e)
{
	char text[RULE_TEXT_MAX];

	draft_text(d, text);
	if (policy_add_rule(p, EFFECT_ALLOW, text, e))
		return -1;
	return d->own ? take_over(&p->rules[p->n_rules - 1], d->own, e) : 0;
}

/* --- all rules --- */

/* The own rule that admits it now, when there is more in it than a target and ports; or NULL. */
static const struct rule *special_rule(const struct learn_state *l, const struct seen *s)
{
	struct destination d = seen_destination(s);
	struct verdict v;
	const struct rule *r;

	decide(l->now, NULL, &d, &v);
	r = v.allow ? v.rule : NULL;
	if (!r || (r->detail && r->detail->permission))
		return NULL;
	if (r->raw || r->private_ok || rule_is_about_requests(r))
		return r;
	return NULL;
}

/* No rule is made for one request: it would let all others through. */
static bool is_open(const struct learn_item *t)
{
	return !t->covered && !t->dropped && !t->seen.permission[0];
}

static bool is_host_alias(const struct seen *s)
{
	return s->has_name && strcmp(s->name.s, "host.sandgate.internal") == 0;
}

/* A connection to the same name says more than its lookup, and its rule admits the lookup. */
static bool has_connection(const struct learn_state *l, size_t lookup)
{
	for (size_t i = lookup + 1; i < l->n_todo; i++) {
		const struct seen *s = &l->todo[i].seen;

		if (compare_hosts(&l->todo[lookup].seen, s) != 0)
			break;
		if (is_open(&l->todo[i]))
			return true;
	}
	return false;
}

/* The same name was seen on TCP 443 as well, which stands before it: that rule speaks for QUIC. */
static bool has_tls(const struct learn_state *l, size_t quic)
{
	for (size_t i = quic; i-- > 0;) {
		const struct seen *s = &l->todo[i].seen;

		if (compare_hosts(&l->todo[quic].seen, s) != 0)
			break;
		if (is_open(&l->todo[i]) && !s->lookup && s->proto == PROTO_TCP &&
		    s->port == TLS_PORT)
			return true;
	}
	return false;
}

/* Says another item all that this one would? */
static bool is_said(const struct learn_state *l, size_t i)
{
	const struct seen *s = &l->todo[i].seen;

	if (s->lookup)
		return is_host_alias(s) || has_connection(l, i);
	return is_quic(s) && has_tls(l, i);
}

/* How many items from i on stand in one rule. */
static size_t draft_length(const struct learn_state *l, size_t i)
{
	const struct seen *s = &l->todo[i].seen;
	size_t n = 1;

	while (i + n < l->n_todo && n < RULE_PORTS_MAX) {
		const struct seen *next = &l->todo[i + n].seen;

		if (compare_hosts(s, next) != 0 || next->lookup != s->lookup ||
		    next->proto != s->proto || is_quic(next) || is_quic(s) ||
		    !is_open(&l->todo[i + n]) || special_rule(l, next))
			break;
		n++;
	}
	return n;
}

static int add_host_port(struct policy *p, uint16_t port, struct err *e)
{
	uint16_t *v = reallocarray(p->host_ports, p->n_host_ports + 1, sizeof(*v));

	if (!v)
		return err_set(e, "out of memory");
	p->host_ports = v;
	v[p->n_host_ports++] = port;
	return 0;
}

int learn_write_rules(const struct learn_state *l, struct policy *p, struct err *e)
{
	size_t i = 0;
	int rc = 0;

	while (rc == 0 && i < l->n_todo) {
		const struct seen *s = &l->todo[i].seen;
		struct draft d = {.first = &l->todo[i], .n = 1};

		if (!is_open(d.first) || is_said(l, i)) {
			i++;
			continue;
		}
		if (is_host_alias(s)) {
			rc = add_host_port(p, s->port, e);
		} else {
			d.own = special_rule(l, s);
			d.n = d.own ? 1 : draft_length(l, i);
			rc = write_draft(p, &d, e);
		}
		i += d.n;
	}
	return rc;
}

/* --- hints --- */

/* The domain that somebody registered: the shortest parent that is not shared with strangers. */
static const char *registered_domain(const char *name)
{
	const char *found = NULL;

	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		struct suffix_match m;
		struct name parent;

		if (name_parse_ascii(dot + 1, strlen(dot + 1), &parent) != NAME_OK ||
		    suffix_is_shared(&parent, &m) || suffix_holds_encrypted_dns(&parent))
			break;
		found = dot + 1;
	}
	return found;
}

static int count_domain(struct learned *out, const char *domain)
{
	struct learn_hint *v;

	for (size_t i = 0; i < out->n_hints; i++)
		if (strcmp(out->hints[i].domain, domain) == 0) {
			out->hints[i].names++;
			return 0;
		}
	v = reallocarray(out->hints, out->n_hints + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	out->hints = v;
	v[out->n_hints] = (struct learn_hint){strdup(domain), 1};
	if (!v[out->n_hints].domain)
		return -ENOMEM;
	out->n_hints++;
	return 0;
}

int learn_find_hints(const struct policy *p, struct learned *out)
{
	const char *last = "", *domain;
	size_t kept = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rules[i];

		if (r->kind != TARGET_NAME || r->effect != EFFECT_ALLOW ||
		    strcmp(rule_name(r), last) == 0)
			continue;
		last = rule_name(r);
		domain = registered_domain(last);
		if (domain && count_domain(out, domain))
			return -ENOMEM;
	}
	for (size_t i = 0; i < out->n_hints; i++) {
		if (out->hints[i].names >= LEARN_HINT_NAMES)
			out->hints[kept++] = out->hints[i];
		else
			free(out->hints[i].domain);
	}
	out->n_hints = kept;
	return 0;
}
