/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	FREE -> LOOKING (A and AAAA) -> FREE, with a dial or an error in broker_dials
 *
 * A credential with `refresh` says by itself that the broker may go to its token endpoint, and the
 * sandbox may not for that. So a name passes that is one of the policy's token endpoints, unless a
 * rule denies it; an address passes that is public, or that a rule admits: a name must not lead the
 * refresh token into the host's own network.
 *
 * A lookup cannot be taken back: one whose broker has gone is let run out.
 */
#include "gate/token_dials.h"

#include <errno.h>
#include <stdlib.h>

#include "gate/resolver.h"

enum { ADDRS_MAX = 8, FAMILIES = 2 };

/* What the broker says for these: broker/refresher.c. */
enum { NOT_ADMITTED = EACCES, NOT_FOUND = ENXIO, TOO_MANY = EAGAIN };

struct token_dial {
	struct token_dials *all;
	bool used, forgotten;
	struct lookup lookup[FAMILIES];
	uint8_t waiting;
	uint32_t number;
	struct name name;
	uint16_t port;
	struct addr addrs[ADDRS_MAX];
	size_t n_addrs;
};

struct token_dials {
	struct gate *gate;
	struct broker_dials *dials;
	void (*begun)(void *ctx);
	void *ctx;
	struct token_dial dial[TOKEN_DIALS_MAX];
};

/* ---- Judging ---- */

static bool is_denied(const struct gate *g, const struct token_dial *d, const struct addr *addr,
		      struct verdict *v)
{
	const struct destination to = {.kind = DEST_CONNECT,
				       .name = &d->name,
				       .addr = addr,
				       .port = d->port,
				       .proto = PROTO_TCP,
				       .by_proxy = true};

	decide(g->rules, g->host, &to, v);
	return !v->allow && v->reason == REASON_DENIED_BY_RULE;
}

static bool is_token_endpoint(const struct gate *g, const struct token_dial *d)
{
	struct verdict v;

	return credential_list_refreshes_at(policy_credentials(ruleset_policy(g->rules)), &d->name,
					    d->port) &&
	       !is_denied(g, d, NULL, &v);
}

static bool is_admitted(const struct gate *g, const struct token_dial *d, const struct addr *a)
{
	struct verdict v;

	return !is_denied(g, d, a, &v) && (v.allow || !address_special(g->host, a)) &&
	       (addr_is_v4(a) || resolver_has_route(g->resolver, a));
}

/* ---- Its end ---- */

static void settle(struct token_dial *d, const struct addr *addr, int error)
{
	struct token_dials *all = d->all;
	struct endpoint to = {.port = d->port};

	d->used = false;
	if (d->forgotten)
		return;
	if (addr)
		to.addr = *addr;
	broker_dials_begin(all->dials, &(struct broker_dial){.number = d->number,
							     .to = &to,
							     .name = &d->name,
							     .error = error});
	all->begun(all->ctx);
}

/* The policy may be another one by now. */
static void dial_first(struct token_dial *d)
{
	const struct gate *g = d->all->gate;

	if (d->n_addrs == 0) {
		settle(d, NULL, NOT_FOUND);
		return;
	}
	for (size_t i = 0; i < d->n_addrs && is_token_endpoint(g, d); i++)
		if (is_admitted(g, d, &d->addrs[i])) {
			settle(d, &d->addrs[i], 0);
			return;
		}
	settle(d, NULL, NOT_ADMITTED);
}

/* ---- Looking up ---- */

static void put_addrs(struct token_dial *d, const struct addr *v, size_t n)
{
	for (size_t i = 0; i < n && d->n_addrs < ADDRS_MAX; i++)
		d->addrs[d->n_addrs++] = v[i];
}

static void looked_up(struct token_dial *d, const struct dns_message *answer)
{
	if (answer && answer->rcode == DNS_NOERROR)
		put_addrs(d, answer->addrs, answer->n_addrs);
	if (--d->waiting == 0)
		dial_first(d);
}

static void done_first(struct lookup *l, const struct dns_message *answer)
{
	looked_up(sg_container_of(l, struct token_dial, lookup[0]), answer);
}

static void done_second(struct lookup *l, const struct dns_message *answer)
{
	looked_up(sg_container_of(l, struct token_dial, lookup[1]), answer);
}

static bool is_in_hosts_file(struct token_dial *d)
{
	const struct resolver *r = d->all->gate->resolver;
	bool listed = false, listed6 = false;
	struct addr v[ADDRS_MAX];

	put_addrs(d, v, resolver_find_host(r, &d->name, true, v, ADDRS_MAX, &listed));
	put_addrs(d, v, resolver_find_host(r, &d->name, false, v, ADDRS_MAX, &listed6));
	return listed || listed6;
}

/* One more is waited for, so that an answer that is there at once does not end it. */
static void look_up(struct token_dial *d)
{
	static const uint16_t types[FAMILIES] = {DNS_A, DNS_AAAA};

	d->lookup[0].done = done_first;
	d->lookup[1].done = done_second;
	d->waiting = 1;
	for (size_t i = 0; i < FAMILIES; i++) {
		d->waiting++;
		if (!resolver_lookup(d->all->gate->resolver, &d->lookup[i], &d->name, types[i]))
			d->waiting--;
	}
	looked_up(d, NULL);
}

static struct token_dial *unused(struct token_dials *t)
{
	for (size_t i = 0; i < TOKEN_DIALS_MAX; i++)
		if (!t->dial[i].used)
			return &t->dial[i];
	return NULL;
}

void token_dials_begin(struct token_dials *t, const struct gate_message *m)
{
	struct token_dial *d = unused(t);

	if (!d) {
		broker_dials_begin(t->dials,
				   &(struct broker_dial){.number = m->number, .error = TOO_MANY});
		t->begun(t->ctx);
		return;
	}
	*d = (struct token_dial){
		.all = t, .used = true, .number = m->number, .name = m->name, .port = m->dst.port};
	if (!m->name.n || !is_token_endpoint(t->gate, d))
		settle(d, NULL, NOT_ADMITTED);
	else if (is_in_hosts_file(d))
		dial_first(d);
	else
		look_up(d);
}

void token_dials_forget(struct token_dials *t)
{
	for (size_t i = 0; i < TOKEN_DIALS_MAX; i++)
		t->dial[i].forgotten = true;
}

struct token_dials *token_dials_new(struct gate *g, struct broker_dials *dials,
				    void (*begun)(void *ctx), void *ctx)
{
	struct token_dials *t = calloc(1, sizeof(*t));

	if (t)
		*t = (struct token_dials){.gate = g, .dials = dials, .begun = begun, .ctx = ctx};
	return t;
}
