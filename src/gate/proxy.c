/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	GREETING -> PASSWORD -> REQUEST -> RESOLVING -> DIALING -> INSPECTING or RELAYING
 *
 * GREETING and PASSWORD are of SOCKS; HTTP begins with REQUEST. A request to an address skips
 * RESOLVING. Up to the request proxy_read.c reads; every end but a connection is proxy_end.c's.
 *
 * What the client sends is looked at in its socket; a message is taken out when it is whole, and
 * nothing behind it: a client may send the first octets of its tunnel at once. A request in
 * absolute form is not taken at all, since the broker reads it again.
 *
 * The name goes to the DNS server like a question of the sandbox: judged, resolved, vetted, bound,
 * limited by the same code (dns_server.h). Each address is judged with the name, and those that are
 * admitted are dialled in turn, no other.
 *
 * From then on `dst` is what was asked for, as if the sandbox had dialled it, and the flow is found
 * by its 4-tuple no more. Octets of the tunnel are inspected, judged again and counted by the same
 * code as those of a direct flow; the name inside must be the one that was asked for (inspect.c).
 *
 * A refusal says what, why, and which command allows it; then the connection ends.
 */
#include "gate/proxy.h"

#include <errno.h>
#include <sys/socket.h>

#include "gate/dns_server.h"
#include "gate/dns_special.h"
#include "gate/flow_table.h"
#include "gate/handover.h"
#include "gate/names.h"
#include "gate/proxy_state.h"

enum {
	FIRST_OCTET_MS = 60000, /* clients open connections ahead of need */
	TRY_MS = 3000,		/* of an address, while there is another */
	LAST_TRY_MS = 30000,
};

enum { STATUS_TIMEOUT = 408, STATUS_BAD_GATEWAY = 502 };

bool proxy_begin(struct flow *fl)
{
	struct proxy *p = calloc(1, sizeof(*p));

	if (!p)
		return false;
	p->socks = fl->dst.port == PROXY_SOCKS_PORT;
	p->phase = p->socks ? PROXY_GREETING : PROXY_REQUEST;
	fl->peek.proxy = p;
	fl->proto = p->socks ? RECORD_SOCKS : RECORD_CONNECT;
	fl->state = FLOW_PROXY;
	fl->timer_is_idle = true;
	flow_set_timer(fl, FIRST_OCTET_MS);
	return true;
}

void proxy_drop(struct flow *fl)
{
	free(fl->peek.proxy);
	memset(&fl->peek, 0, sizeof(fl->peek));
}

/* ---- Dialling ---- */

bool proxy_tell(struct flow *fl, const void *octets, size_t n)
{
	return send(fl->in.watch.fd, octets, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool tell_open(struct flow *fl)
{
	uint8_t octets[SOCKS_REPLY_OCTETS];
	struct buf b = buf_of(octets, sizeof(octets));

	if (!proxy_of(fl)->socks)
		return proxy_tell(fl, proxy_tunnel_is_open, strlen(proxy_tunnel_is_open));
	socks_reply_print(SOCKS_SUCCEEDED, &b);
	return proxy_tell(fl, octets, b.n);
}

static void hand_over(struct flow *fl)
{
	enum reason why = handover_make(fl, GATE_PROXIED);

	if (why != REASON_NONE)
		proxy_refuse(fl, why, fl->rule);
}

static void connected(struct flow *fl)
{
	if (proxy_of(fl)->absolute) {
		hand_over(fl);
		return;
	}
	if (!tell_open(fl)) {
		flow_abort(fl);
		return;
	}
	proxy_drop(fl);
	/* The first octets of the tunnel may be there already: no event will tell of them. */
	fl->in.readable = true;
	flow_begin_accepted(fl);
	if (fl->state == FLOW_INSPECTING)
		flow_queue(fl);
}

/* `r` is of dial_begin(). */
static void await_dial(struct flow *fl, int r)
{
	struct proxy *p = proxy_of(fl);
	struct proxy_answer failed = proxy_answer_to_dial(-r);

	if (r != 0) {
		flow_note_unreached(fl, failed.reason);
		proxy_fail(fl, failed, proxy_reply_to_dial(-r));
		return;
	}
	if (p->follows)
		fl->dst.addr = fl->dial[fl->at_dial].addr;
	flow_set_timer(fl, dial_is_last(fl) ? LAST_TRY_MS : TRY_MS);
}

static void tunnel_done(struct tunnel *t, int error)
{
	struct flow *fl = sg_container_of(t, struct flow, tunnel);

	if (error) {
		await_dial(fl, -error);
		return;
	}
	dial_tunnelled(fl);
	connected(fl);
}

void proxy_out_ready(struct flow *fl, uint32_t events)
{
	int error = ECONNREFUSED;
	socklen_t n = sizeof(error);

	if (proxy_of(fl)->phase != PROXY_DIALING)
		return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		getsockopt(fl->out.watch.fd, SOL_SOCKET, SO_ERROR, &error, &n);
		await_dial(fl, dial_next(fl, error));
	} else if ((events & EPOLLOUT) && dial_reached(fl, tunnel_done)) {
		connected(fl);
	}
}

/* ---- Judging ---- */

/* What was asked for is the flow's destination from here on. */
static void take_destination(struct flow *fl, const struct endpoint *dst, const struct judged *j)
{
	struct proxy *p = proxy_of(fl);

	flow_table_forget(fl);
	fl->dst = *dst;
	if (p->follows)
		fl->dst.addr = j->dial[0].addr;
	fl->by_proxy = true;
	fl->by_name = p->to.kind == HTTP_HOST_NAME;
	flow_set_judged(fl, j);
	fl->n_dial = j->n_dial;
	fl->at_dial = 0;
	memcpy(fl->dial, j->dial, sizeof(fl->dial));
	fl->gate->counters->flows_opened++;
	if (flow_is_whole(fl) && !p->absolute)
		flow_note_admitted(fl);
}

static void go_on(struct flow *fl, const struct endpoint *dst, const struct judged *j)
{
	if (j->kind != JUDGED_FORWARD) {
		proxy_refuse(fl, j->verdict.reason, j->verdict.rule);
		return;
	}
	take_destination(fl, dst, j);
	proxy_of(fl)->phase = PROXY_DIALING;
	await_dial(fl, dial_begin(fl));
}

static void ask_address(struct flow *fl, const struct addr *a)
{
	struct endpoint dst = {.addr = *a, .port = proxy_of(fl)->to.port};
	struct judged j;

	judge_proxied_address(fl->gate, &dst, &j);
	go_on(fl, &dst, &j);
}

/* ---- Lookups ---- */

/* Both families by turns, IPv4 first: where one does not work the other is not waited for long. */
static size_t take_addrs(struct flow *fl, struct addr out[DIAL_MAX])
{
	const struct name *name = &proxy_of(fl)->to.name;
	mono_t now = loop_now(flow_loop(fl));
	struct names_answer v4, v6;
	size_t n = 0;

	names_answer(fl->gate->names, name, NAMES_A, now, &v4);
	names_answer(fl->gate->names, name, NAMES_AAAA, now, &v6);
	v4.n = v4.state == NAMES_ADDRESSES ? v4.n : 0;
	v6.n = v6.state == NAMES_ADDRESSES ? v6.n : 0;
	for (size_t i = 0; i < DIAL_MAX; i++) {
		if (i < v4.n && n < DIAL_MAX)
			out[n++] = v4.addrs[i];
		if (i < v6.n && n < DIAL_MAX)
			out[n++] = v6.addrs[i];
	}
	return n;
}

static void lookup_failed(struct flow *fl)
{
	struct proxy_answer a = {.status = STATUS_BAD_GATEWAY, .reason = proxy_of(fl)->why};

	if (a.reason == REASON_NONE) {
		a.reason = REASON_UPSTREAM_FAILED;
		a.why = "the name does not exist, or has no address";
	}
	if (a.reason == REASON_RESOLVER_FAILED || a.reason == REASON_UPSTREAM_FAILED)
		proxy_fail(fl, a, SOCKS_HOST_UNREACHABLE);
	else
		proxy_refuse(fl, a.reason, NULL);
}

static bool is_synthetic(const struct flow *fl)
{
	return ruleset_policy(fl->gate->rules)->dns_answers == DNS_ANSWERS_SYNTHETIC;
}

/* Not for its addresses, one of which may still do: an answer of before counts for nothing then. */
static bool is_name_refused(enum reason why)
{
	return why != REASON_NONE && why != REASON_RESOLVER_FAILED && why != REASON_SPECIAL_ADDRESS;
}

/* All answers are there, bound by the DNS server. */
static void resolved(struct flow *fl)
{
	struct proxy *p = proxy_of(fl);
	struct addr addrs[DIAL_MAX], synthetic;
	size_t n = take_addrs(fl, addrs);
	struct endpoint dst = {.port = p->to.port};
	struct judged j;

	if (n == 0 || is_name_refused(p->why)) {
		lookup_failed(fl);
		return;
	}
	if (is_synthetic(fl)) {
		synthetic = names_synthetic(fl->gate->names, &p->to.name, addr_is_v4(&addrs[0]),
					    loop_now(flow_loop(fl)));
		ask_address(fl, &synthetic);
		return;
	}
	p->follows = true;
	judge_proxied_name(fl->gate, &p->to.name, addrs, n, p->to.port, &j);
	go_on(fl, &dst, &j);
}

void flows_answer_proxy(struct flows *f, uint32_t slot, uint32_t generation, enum reason why)
{
	struct flow *fl;
	struct proxy *p;

	if (slot >= f->used)
		return;
	fl = &f->flow[slot];
	if (fl->state != FLOW_PROXY || fl->generation != generation)
		return;
	p = proxy_of(fl);
	/* A refusal says more than that the resolver failed. */
	if (why != REASON_NONE && (p->why == REASON_NONE || p->why == REASON_RESOLVER_FAILED))
		p->why = why;
	if (p->waiting && --p->waiting == 0)
		resolved(fl);
}

static void ask_type(struct flow *fl, const struct name *name, uint16_t type)
{
	struct dns_client client = {
		.by_proxy = true,
		.tcp = true,
		.from = fl->src,
		.to = fl->dst,
		.flow = flow_slot(fl),
		.generation = fl->generation,
	};
	uint8_t question[DNS_QUESTION_MAX];
	size_t n = dns_question_build(name, type, type, false, question);

	dns_server_query(fl->gate->dns, &client, span_of(question, n), loop_now(flow_loop(fl)));
}

static void resolve(struct flow *fl)
{
	struct name name = proxy_of(fl)->to.name;

	/* The last answer may come before its question returns, and end the flow. */
	proxy_of(fl)->waiting = 2;
	ask_type(fl, &name, DNS_AAAA);
	ask_type(fl, &name, DNS_A);
}

static void ask_name(struct flow *fl)
{
	switch (dns_special_find(&proxy_of(fl)->to.name)) {
	case DNS_SPECIAL_GATE:
		ask_address(fl, &fl->gate->gate_v4);
		break;
	case DNS_SPECIAL_LOOPBACK:
		proxy_refuse(fl, REASON_SPECIAL_ADDRESS, NULL);
		break;
	default:
		resolve(fl);
	}
}

void proxy_ask(struct flow *fl)
{
	struct proxy *p = proxy_of(fl);

	p->phase = PROXY_RESOLVING;
	loop_timer_cancel(flow_loop(fl), &fl->timer);
	if (p->to.kind == HTTP_HOST_NAME)
		ask_name(fl);
	else
		ask_address(fl, &p->to.addr);
}

void proxy_expired(struct flow *fl)
{
	struct proxy *p = proxy_of(fl);

	if (p->phase == PROXY_DIALING)
		await_dial(fl, dial_next(fl, ETIMEDOUT));
	else if (fl->timer_is_idle || p->socks)
		flow_close(fl);
	else
		proxy_refuse_malformed(fl, STATUS_TIMEOUT, "the request did not come in time");
}

/* ---- Judging again ---- */

void proxy_judge(const struct flow *fl, struct judged *out)
{
	const struct gate *g = fl->gate;
	bool own = addr_equal(&fl->dst.addr, &g->gate_v4) || addr_equal(&fl->dst.addr, &g->gate_v6);

	if (!fl->by_name || own || names_addr_is_synthetic(&fl->dst.addr))
		judge_proxied_address(g, &fl->dst, out);
	else
		judge_proxied_name(g, &fl->name, &fl->dial[fl->at_dial].addr, 1, fl->dst.port, out);
}
