/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A fixed table of flows, found by (protocol, source port or echo identifier, destination).
 * A flow is made when decide() admits its first packet and owns one connected, non-blocking
 * socket on the host; after that its packets pass without another decision until the policy
 * changes or it was idle for IDLE_MS. What it carries is datagram_io.c's.
 *
 * Echo uses the kernel's ping sockets (socket type SOCK_DGRAM, IPPROTO_ICMP), which need no
 * privilege where net.ipv4.ping_group_range admits the gate's group; the kernel puts its own
 * identifier in, and the sandbox's is put back in the reply.
 *
 * QUIC is refused at once so that clients fall back to TCP; see quic_watch.h.
 */
#include "gate/datagrams.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "gate/datagram_flow.h"
#include "gate/flow.h"
#include "gate/handover.h"
#include "gate/judge.h"
#include "gate/quic_watch.h"
#include "gate/quota.h"

enum {
	IDLE_MS = 120000,
	SWEEP_MS = 5000,
	QUIC_PORT = 443,
	QUIC_LONG_HEADER = 0x80, /* RFC 9000, 17.2 */
};

enum { ECHO_REQUEST_V4 = 8, ECHO_REQUEST_V6 = 128 };

const int datagrams_syscalls[] = {SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(close), -1};

/* ---- refusals ---- */

static uint16_t echo_id(const struct packet *p)
{
	return (uint16_t)(p->payload.p[4] << 8 | p->payload.p[5]);
}

/* An echo has no port, and is an ICMP packet by either family. */
static uint16_t near_port(const struct packet *p)
{
	return p->proto == IP_UDP ? p->src_port : echo_id(p);
}

static uint8_t carrier(const struct packet *p)
{
	return p->proto == IP_UDP ? IPPROTO_UDP : IPPROTO_ICMP;
}

static void refuse(struct datagrams *d, const struct packet *p, struct event refusal)
{
	const struct endpoint near = {p->src, near_port(p)}, far = {p->dst, p->dst_port};
	struct gate *g = d->gate;

	refusal.exchange = (struct exchange){.near = &near, .far = &far, .proto = carrier(p)};
	refusal.kind = RECORD_DENY;
	refusal.addr = &p->dst;
	refusal.port = p->dst_port;
	g->counters->flows_refused++;
	g->counters->frames_denied++;
	journal_note(g->journal, &refusal);
	if (!answers_take(g->answers, p, loop_now(g->loop)))
		return;
	packet_build_unreachable(tun_begin(g->tun), p, UNREACHABLE_PROHIBITED);
	tun_send(g->tun);
}

static enum record_proto word_of(enum proto proto)
{
	return proto == PROTO_UDP ? RECORD_UDP : RECORD_ICMP;
}

static void refuse_judged(struct datagrams *d, const struct packet *p, enum proto proto,
			  const struct judged *j)
{
	const struct endpoint src = {p->src, p->src_port}, dst = {p->dst, p->dst_port};
	struct event refusal = {.proto = word_of(proto),
				.reason = j->verdict.reason,
				.name = judged_name(j),
				.rule = j->verdict.rule};
	struct name inside;

	if (proto == PROTO_UDP && p->dst_port == QUIC_PORT) {
		refusal.proto = RECORD_QUIC;
		if (quic_watch_feed(d->quic, &src, &dst, p->payload, &inside) == QUIC_SEEN_NAME)
			refusal.name = &inside;
	}
	refuse(d, p, refusal);
}

/* ---- from the sandbox ---- */

static int open_socket(const struct endpoint *to, enum proto proto)
{
	bool v4 = addr_is_v4(&to->addr);
	int ip_proto = proto == PROTO_UDP ? IPPROTO_UDP : v4 ? (int)IPPROTO_ICMP : IPPROTO_ICMPV6;
	struct sockaddr_storage ss;
	socklen_t n = endpoint_to_sockaddr(to, &ss);
	int fd = socket(ss.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, ip_proto);

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&ss, n) != 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static void refuse_unopened(struct datagrams *d, const struct packet *p, int error,
			    const struct judged *j)
{
	struct gate *g = d->gate;

	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EACCES) {
		/* EACCES: a ping socket outside net.ipv4.ping_group_range; `doctor` names it. */
		refuse(d, p,
		       (struct event){.proto = p->src_port ? RECORD_UDP : RECORD_ICMP,
				      .reason = REASON_LIMIT_UDP,
				      .name = judged_name(j)});
		return;
	}
	packet_build_unreachable(tun_begin(g->tun), p,
				 error == -ENETUNREACH ? UNREACHABLE_NET : UNREACHABLE_HOST);
	tun_send(g->tun);
}

/* A gate with nothing open sleeps. The loop has a place for each part's one timer. */
static void arm_sweep(struct datagrams *d)
{
	if (d->open && !d->sweep.slot)
		(void)loop_timer_set(d->gate->loop, &d->sweep,
				     mono_add_ms(loop_now(d->gate->loop), SWEEP_MS));
}

/* Flows of TCP count too: the limits are of what is open, and begun, in all. */
static enum reason limit_reached(const struct datagrams *d)
{
	const struct gate *g = d->gate;

	if (flows_open_in_all(g) >= ruleset_policy(g->rules)->limits.flows)
		return REASON_LIMIT_FLOWS;
	return flows_within_rate(g->flows) ? REASON_NONE : REASON_LIMIT_RATE;
}

static struct datagram_flow *open_flow(struct datagrams *d, const struct packet *p,
				       enum proto proto, const struct endpoint *src,
				       const struct endpoint *dst, const struct judged *j)
{
	enum reason limit = limit_reached(d);
	struct datagram_flow *fl;
	int fd;

	fl = limit == REASON_NONE ? datagram_flow_take(d) : NULL;
	if (!fl) {
		refuse(d, p,
		       (struct event){.proto = word_of(proto),
				      .reason = limit == REASON_NONE ? REASON_LIMIT_UDP : limit,
				      .name = judged_name(j)});
		return NULL;
	}
	*fl = (struct datagram_flow){
		.watch = {.ready = datagram_ready, .fd = -1},
		.table = d,
		.proto = proto,
		.src = *src,
		.dst = *dst,
		.dialled = j->dial[0].addr,
		.by_default = j->verdict.by_default,
		.begun = loop_now(d->gate->loop),
	};
	fd = open_socket(&j->dial[0], proto);
	if (fd < 0 || loop_add(d->gate->loop, &fl->watch, fd, EPOLLIN) != 0) {
		if (fd >= 0)
			close(fd);
		datagram_flow_give_back(d, fl);
		refuse_unopened(d, p, fd < 0 ? fd : -ENOMEM, j);
		return NULL;
	}
	datagram_flow_put(fl);
	d->gate->counters->flows_opened++;
	arm_sweep(d);
	return fl;
}

/* By which name, and by what it was admitted: the journal has it from here on. */
static void set_admitted(struct datagram_flow *fl, const struct name *name, const struct rule *rule)
{
	fl->name.n = 0;
	if (name)
		fl->name = *name;
	fl->rule = rule;
	fl->host = quota_host(name, &fl->dst.addr);
	datagram_flow_note(fl, RECORD_ALLOW, REASON_NONE);
}

/* `p` is the packet that carried the payload, or the last of several that were kept. */
static void forward(struct datagram_flow *fl, const struct packet *p, struct span payload)
{
	struct gate *g = fl->table->gate;
	const struct limits *limits = &ruleset_policy(g->rules)->limits;
	enum reason why;

	fl->last = loop_now(g->loop);
	if (quota_left(g->quota, limits, fl->host, &why) < payload.n) {
		refuse(fl->table, p, datagram_flow_event(fl, RECORD_DENY, why));
		return;
	}
	quota_spend(g->quota, limits, fl->host, payload.n);
	datagram_send(fl, payload);
}

/*
 * The broker opens no QUIC: to a host that it has to see, clients use TCP. Where the base admits any
 * name, one that was not looked up could stand for that host.
 */
static bool is_for_the_broker(const struct gate *g, const struct endpoint *dst,
			      const struct addr *dialled, const struct name *inside,
			      bool by_default)
{
	const struct carried c = {.gate = g, .dst = dst, .dialled = dialled};

	return carried_is_due(&c, inside) || (by_default && carried_is_dodged(&c, inside));
}

/* With `quic: allow`: the server name must be admitted and looked up for this address. */
static struct verdict admit_quic(struct datagrams *d, const struct packet *p,
				 const struct endpoint *dst, enum quic_seen seen,
				 const struct name *inside, const struct name *bound,
				 const struct addr *dialled)
{
	struct event refusal = {.proto = RECORD_QUIC, .name = inside};
	struct verdict v = {.reason = REASON_NO_SERVER_NAME};

	if (seen == QUIC_SEEN_NAME)
		v = judge_server_name(d->gate, dst, PROTO_UDP, inside, NULL, NULL);
	else
		refusal.name = bound;
	if (v.allow && is_for_the_broker(d->gate, dst, dialled, inside, v.by_default))
		v = (struct verdict){.reason = REASON_QUIC_REFUSED};
	refusal.reason = v.reason;
	refusal.rule = v.rule;
	if (!v.allow)
		refuse(d, p, refusal);
	return v;
}

static void forward_kept(struct datagram_flow *fl, const struct packet *p)
{
	struct span kept;

	while (quic_watch_next_kept(fl->table->quic, &kept))
		forward(fl, p, kept);
	forward(fl, p, p->payload);
}

static void begin_quic(struct datagrams *d, const struct packet *p, const struct endpoint *src,
		       const struct endpoint *dst, const struct judged *j)
{
	struct datagram_flow *fl;
	struct verdict v;
	struct name name;
	enum quic_seen seen = quic_watch_feed(d->quic, src, dst, p->payload, &name);

	if (seen == QUIC_SEEN_WAIT)
		return;
	v = admit_quic(d, p, dst, seen, &name, judged_name(j), &j->dial[0].addr);
	fl = v.allow ? open_flow(d, p, PROTO_UDP, src, dst, j) : NULL;
	if (!fl)
		return;
	fl->is_quic = true;
	set_admitted(fl, &name, v.rule);
	forward_kept(fl, p);
}

static struct carried carried_whole(const struct datagram_flow *fl)
{
	return (struct carried){.gate = fl->table->gate,
				.dst = &fl->dst,
				.dialled = &fl->dialled,
				.name = datagram_flow_name(fl),
				.whole = true};
}

/* QUIC where anything may be carried, but not to a host that has to be seen. */
static struct verdict let_by_quic(const struct datagram_flow *fl, const struct packet *p,
				  enum quic_seen seen, const struct name *inside)
{
	const struct carried c = carried_whole(fl);
	struct event refusal = datagram_flow_event(fl, RECORD_DENY, REASON_NO_SERVER_NAME);

	refusal.proto = RECORD_QUIC;
	if (seen == QUIC_SEEN_NAME) {
		if (!carried_is_due(&c, inside) && !carried_is_dodged(&c, inside))
			return (struct verdict){.allow = true};
		refusal.name = inside;
		refusal.reason = REASON_QUIC_REFUSED;
	}
	refuse(fl->table, p, refusal);
	return (struct verdict){.reason = refusal.reason};
}

/*
 * A client may begin another connection, with another name, between the same endpoints. Its first
 * packets are protected by what stands in them; those of the connection that is under way are
 * not, and pass.
 */
static void go_on_quic(struct datagram_flow *fl, const struct packet *p)
{
	struct datagrams *d = fl->table;
	struct name name;
	struct verdict v;
	enum quic_seen seen = QUIC_SEEN_OTHER;

	if (p->payload.n && p->payload.p[0] & QUIC_LONG_HEADER)
		seen = quic_watch_feed(d->quic, &fl->src, &fl->dst, p->payload, &name);
	if (seen == QUIC_SEEN_OTHER)
		forward(fl, p, p->payload);
	if (seen == QUIC_SEEN_OTHER || seen == QUIC_SEEN_WAIT)
		return;
	v = fl->watched ? let_by_quic(fl, p, seen, &name)
			: admit_quic(d, p, &fl->dst, seen, &name, NULL, &fl->dialled);
	if (!v.allow)
		return;
	if (fl->is_quic && !name_equal(&fl->name, &name)) {
		datagram_flow_note_end(fl, REASON_NONE);
		fl->bytes_out = fl->bytes_in = 0;
		fl->begun = loop_now(d->gate->loop);
		set_admitted(fl, &name, v.rule);
	}
	forward_kept(fl, p);
}

static void set_watched(struct datagram_flow *fl)
{
	fl->watched = !fl->is_quic && fl->proto == PROTO_UDP && fl->dst.port == QUIC_PORT &&
		      fl->table->gate->may_inspect;
}

/* Datagrams to the address and port of a host that has to be seen. */
static bool is_owed(const struct gate *g, const struct endpoint *dst, const struct judged *j)
{
	const struct carried c = {.gate = g,
				  .dst = dst,
				  .dialled = &j->dial[0].addr,
				  .name = judged_name(j),
				  .whole = true};

	return g->may_inspect && carried_is_owed(&c);
}

static void take(struct datagrams *d, const struct packet *p, enum proto proto, uint16_t src_port,
		 struct span payload)
{
	struct endpoint src = {p->src, src_port}, dst = {p->dst, p->dst_port};
	struct datagram_flow *fl = datagram_flow_find(d, proto, &src, &dst);
	struct judged j;

	if (fl && (fl->is_quic || fl->watched)) {
		go_on_quic(fl, p);
		return;
	}
	if (fl) {
		forward(fl, p, payload);
		return;
	}
	judge_destination(d->gate, &dst, proto, &j);
	if (j.kind != JUDGED_FORWARD) {
		refuse_judged(d, p, proto, &j);
		return;
	}
	if (proto == PROTO_UDP && dst.port == QUIC_PORT && j.verdict.check_name) {
		begin_quic(d, p, &src, &dst, &j);
		return;
	}
	if (proto == PROTO_UDP && is_owed(d->gate, &dst, &j)) {
		j.verdict = (struct verdict){.reason = REASON_QUIC_REFUSED};
		refuse_judged(d, p, proto, &j);
		return;
	}
	fl = open_flow(d, p, proto, &src, &dst, &j);
	if (!fl)
		return;
	set_watched(fl);
	set_admitted(fl, judged_name(&j), j.verdict.rule);
	if (fl->watched)
		go_on_quic(fl, p);
	else
		forward(fl, p, payload);
}

void datagrams_take_udp(struct datagrams *d, const struct packet *p)
{
	take(d, p, PROTO_UDP, p->src_port, p->payload);
}

void datagrams_take_echo(struct datagrams *d, const struct packet *p)
{
	uint8_t request = addr_is_v4(&p->dst) ? ECHO_REQUEST_V4 : ECHO_REQUEST_V6;

	/* Errors and replies of the sandbox concern nobody: what it gets, the gate wrote. */
	if (p->payload.p[0] != request || p->payload.p[1] != 0) {
		d->gate->counters->frames_noise++;
		return;
	}
	take(d, p, PROTO_ICMP, echo_id(p), p->payload);
}

uint32_t datagrams_open(const struct datagrams *d)
{
	return d->open;
}

static struct verdict judge_whole_again(const struct datagram_flow *fl, const struct admitted *a)
{
	const struct carried c = carried_whole(fl);
	struct verdict v = judge_again(fl->table->gate, a);

	if (v.allow && fl->proto == PROTO_UDP && carried_is_owed(&c))
		return (struct verdict){.reason = REASON_QUIC_REFUSED};
	return v;
}

/* QUIC is admitted twice: as datagrams to that name, and then as TCP to it would be. */
static struct verdict judge_flow_again(const struct datagram_flow *fl)
{
	const struct gate *g = fl->table->gate;
	struct destination d = {.kind = DEST_CONNECT,
				.name = datagram_flow_name(fl),
				.addr = &fl->dialled,
				.port = fl->dst.port,
				.proto = PROTO_UDP};
	struct admitted a = {.dst = &fl->dst,
			     .dialled = &fl->dialled,
			     .proto = fl->proto,
			     .name = datagram_flow_name(fl),
			     .inside = fl->is_quic,
			     .by_default = fl->by_default};
	struct verdict v;

	if (!fl->is_quic)
		return judge_whole_again(fl, &a);
	if (is_for_the_broker(g, &fl->dst, &fl->dialled, &fl->name, false))
		return (struct verdict){.reason = REASON_QUIC_REFUSED};
	decide(g->rules, g->host, &d, &v);
	if (!v.allow)
		return v;
	a.proto = PROTO_TCP;
	return judge_again(g, &a);
}

static void rejudge(struct datagram_flow *fl)
{
	struct verdict v = judge_flow_again(fl);
	struct event refusal = datagram_flow_event(fl, RECORD_DENY, v.reason);

	fl->rule = v.rule;
	if (v.allow)
		return;
	refusal.rule = v.rule;
	fl->table->gate->counters->flows_refused++;
	journal_note(fl->table->gate->journal, &refusal);
	if (fl->proto == PROTO_UDP)
		datagram_tell_unreachable(fl, UNREACHABLE_PROHIBITED);
	datagram_flow_end(fl, v.reason);
}

void datagrams_rejudge(struct datagrams *d)
{
	for (uint16_t i = 0; i < d->used; i++) {
		if (!d->flow[i].used)
			continue;
		d->flow[i].rule = NULL; /* of the policy before */
		set_watched(&d->flow[i]);
		rejudge(&d->flow[i]);
	}
}

static void sweep(struct timer *t)
{
	struct datagrams *d = sg_container_of(t, struct datagrams, sweep);
	mono_t now = loop_now(d->gate->loop);

	for (uint16_t i = 0; i < d->used; i++) {
		struct datagram_flow *fl = &d->flow[i];

		if (fl->used && mono_before(mono_add_ms(fl->last, IDLE_MS), now))
			datagram_flow_end(fl, REASON_NONE);
	}
	arm_sweep(d);
}

struct datagrams *datagrams_new(struct gate *g)
{
	struct datagrams *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->gate = g;
	d->free = DATAGRAM_FLOW_NONE;
	d->sweep.expired = sweep;
	memset(d->bucket, 0xff, sizeof(d->bucket));
	d->quic = quic_watch_new(g->loop);
	d->flow = mmap(NULL, DATAGRAM_FLOWS_MAX * sizeof(*d->flow), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!d->quic || d->flow == MAP_FAILED)
		return NULL;
	return d;
}
