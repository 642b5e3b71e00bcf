/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handshake: from a SYN that the gate reads as a packet to the socket that it accepts.
 *
 * A SYN is judged, held in its flow, and the far side is dialled (dial.c). When that has
 * connected, the very same SYN is written back to the tun device, where TPROXY gives it to the
 * gate's listener and the kernel completes the handshake. So what is accepted here has always
 * been judged: a socket without a flow that was offered is reset.
 */
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/socket.h>

#include "gate/datagrams.h"
#include "gate/flow_table.h"
#include "gate/proxy.h"

enum {
	HTTP_PORT = 80,
	ACCEPTS_A_TURN = 64,
	FIRST_OCTET_MS = 60000, /* a browser opens connections ahead of need */
};

const int handshake_syscalls[] = {SCMP_SYS(accept4), SCMP_SYS(getsockname), SCMP_SYS(getsockopt),
				  SCMP_SYS(close), -1};

/* The answer to a SYN that is still held. */
void handshake_reset_held(struct flow *fl)
{
	struct packet p;

	if (packet_parse(span_of(fl->syn, fl->syn_octets), &p) != PACKET_OK)
		return;
	packet_build_reset(tun_begin(fl->gate->tun), &p);
	tun_send(fl->gate->tun);
}

/* `j` may be NULL: it was not judged. */
static void refuse_syn(struct gate *g, const struct packet *p, enum reason r,
		       const struct judged *j)
{
	const struct endpoint near = {p->src, p->src_port}, far = {p->dst, p->dst_port};
	struct event what = {.kind = RECORD_DENY,
			     .proto = RECORD_TCP,
			     .exchange = {.near = &near, .far = &far, .proto = IPPROTO_TCP},
			     .reason = r,
			     .name = j ? judged_name(j) : NULL,
			     .addr = &p->dst,
			     .port = p->dst_port,
			     .rule = j ? j->verdict.rule : NULL};

	g->counters->flows_refused++;
	g->counters->frames_denied++;
	journal_note(g->journal, &what);
	packet_build_reset(tun_begin(g->tun), p);
	tun_send(g->tun);
}

bool flows_within_rate(struct flows *f)
{
	const struct limits *l = &ruleset_policy(f->gate->rules)->limits;
	mono_t now = loop_now(f->gate->loop);
	double most = l->flows_burst;

	f->tokens += (double)(now.ns - f->filled.ns) / 1e9 * l->flows_per_second;
	f->filled = now;
	if (f->tokens > most)
		f->tokens = most;
	if (f->tokens < 1)
		return false;
	f->tokens -= 1;
	return true;
}

void flow_set_judged(struct flow *fl, const struct judged *j)
{
	fl->inspection = !j->verdict.check_name
				 ? fl->gate->may_inspect ? INSPECT_LOOK : INSPECT_NOTHING
			 : fl->dst.port == HTTP_PORT ? INSPECT_HTTP
						     : INSPECT_TLS;
	fl->by_default = j->verdict.by_default;
	fl->rule = j->verdict.rule;
	if (j->has_name)
		fl->name = j->name;
}

static void save_syn(struct flow *fl, const struct packet *p)
{
	memcpy(fl->syn, p->whole.p, p->whole.n);
	fl->syn_octets = (uint8_t)p->whole.n;
}

/* The gate itself is the far side, at first or for good. */
static void begin_here(struct flow *fl, enum judged_kind kind)
{
	if (kind == JUDGED_DNS ? flow_dns_begin(fl) : proxy_begin(fl)) {
		flow_tell(fl);
		dial_offer(fl);
		return;
	}
	handshake_reset_held(fl);
	flow_abort(fl);
}

static void begin_flow(struct flow *fl, const struct packet *p, const struct judged *j)
{
	int r;

	fl->src = (struct endpoint){.addr = p->src, .port = p->src_port};
	fl->dst = (struct endpoint){.addr = p->dst, .port = p->dst_port};
	flow_table_insert(flow_table(fl), fl);
	save_syn(fl, p);
	if (j->kind != JUDGED_FORWARD) {
		begin_here(fl, j->kind);
		return;
	}
	fl->state = FLOW_DIALING;
	flow_set_judged(fl, j);
	fl->n_dial = j->n_dial;
	memcpy(fl->dial, j->dial, sizeof(fl->dial));
	fl->gate->counters->flows_opened++;
	if (flow_is_whole(fl))
		flow_note_admitted(fl);
	else
		flow_tell(fl);
	r = dial_begin(fl);
	if (r != 0)
		dial_fail(fl, r);
}

static void open_flow(struct flows *f, const struct packet *p)
{
	struct endpoint dst = {.addr = p->dst, .port = p->dst_port};
	const struct limits *l = &ruleset_policy(f->gate->rules)->limits;
	struct judged j;
	struct flow *fl;

	judge_destination(f->gate, &dst, PROTO_TCP, &j);
	if (j.kind == JUDGED_REFUSED) {
		refuse_syn(f->gate, p, j.verdict.reason, &j);
		return;
	}
	if (!flows_within_rate(f)) {
		refuse_syn(f->gate, p, REASON_LIMIT_RATE, &j);
		return;
	}
	fl = flows_open_in_all(f->gate) < l->flows ? flow_table_take(f) : NULL;
	if (!fl) {
		refuse_syn(f->gate, p, REASON_LIMIT_FLOWS, &j);
		return;
	}
	begin_flow(fl, p, &j);
}

/* Its socket in the airlock is closed though the loop has not been told yet: the tuple is free. */
static bool in_side_is_gone(const struct flow *fl)
{
	struct tcp_info info;
	socklen_t n = sizeof(info);

	return fl->in.watch.fd >= 0 &&
	       getsockopt(fl->in.watch.fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
	       info.tcpi_state == TCP_CLOSE;
}

void flows_take_syn(struct flows *f, const struct packet *p)
{
	struct endpoint src = {.addr = p->src, .port = p->src_port};
	struct endpoint dst = {.addr = p->dst, .port = p->dst_port};
	struct flow *fl;

	/* Data in a SYN needs a Fast Open cookie, which nobody here gives (RFC 7413, 4.1). */
	if (p->payload.n || p->whole.n > IP_HEADERS_MAX || !p->src_port || !p->dst_port) {
		refuse_syn(f->gate, p, REASON_MALFORMED_PACKET, NULL);
		return;
	}
	fl = flow_table_find(f, &src, &dst);
	if (fl && in_side_is_gone(fl)) {
		flow_abort(fl);
		fl = NULL;
	}
	if (!fl) {
		open_flow(f, p);
		return;
	}
	/* Sent again, or a new try of a client that gave the first one up: the last one counts. */
	save_syn(fl, p);
	if (fl->state != FLOW_DIALING)
		tun_write(f->gate->tun, p->whole);
}

void flow_begin_accepted(struct flow *fl)
{
	if (fl->inspection == INSPECT_NOTHING) {
		fl->up.credit = UINT64_MAX;
		flow_begin_relay(fl, 0);
		return;
	}
	memset(&fl->peek, 0, sizeof(fl->peek));
	if (fl->inspection == INSPECT_LOOK) {
		flow_begin_relay(fl, 0);
		return;
	}
	fl->state = FLOW_INSPECTING;
	fl->timer_is_idle = true;
	flow_set_timer(fl, FIRST_OCTET_MS);
}

static bool is_here(const struct flow *fl)
{
	return fl->state == FLOW_DNS || fl->state == FLOW_PROXY;
}

static void take_accepted(struct flows *f, int fd, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage local;
	socklen_t n = sizeof(local);
	struct endpoint src, dst;
	struct flow *fl = NULL;

	if (getsockname(fd, (struct sockaddr *)&local, &n) == 0 &&
	    endpoint_from_sockaddr(peer, &src) && endpoint_from_sockaddr(&local, &dst))
		fl = flow_table_find(f, &src, &dst);
	/* A handshake that no flow offered is reset: nothing was decided for it. */
	if (!fl || fl->in.watch.fd >= 0 || (fl->state != FLOW_OFFERED && !is_here(fl))) {
		close(fd);
		return;
	}
	if (loop_add(f->gate->loop, &fl->in.watch, fd, FLOW_EVENTS | EPOLLET) != 0) {
		close(fd);
		flow_abort(fl);
		return;
	}
	if (!is_here(fl))
		flow_begin_accepted(fl);
}

void handshake_accept(struct watch *w, uint32_t events)
{
	struct flow_listener *l = sg_container_of(w, struct flow_listener, watch);

	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		struct sockaddr_storage peer;
		socklen_t n = sizeof(peer);
		int fd = accept4(w->fd, (struct sockaddr *)&peer, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		take_accepted(l->flows, fd, &peer);
	}
}
