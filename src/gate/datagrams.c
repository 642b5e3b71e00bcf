/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A fixed table of flows, found by (protocol, source port or echo identifier, destination).
 * A flow is made when decide() admits its first packet and owns one connected, non-blocking
 * socket on the host; after that its packets pass without another decision until the policy
 * changes or it was idle for IDLE_MS. What comes back is written to the tun device with the
 * source that the sandbox asked.
 *
 * Datagrams of one flow that come in one run from the tun device and have one size leave in
 * one call (UDP_SEGMENT, udp(7)): most of a datagram's cost is its way through the host's stack.
 *
 * Echo uses the kernel's ping sockets (socket type SOCK_DGRAM, IPPROTO_ICMP), which need no
 * privilege where net.ipv4.ping_group_range admits the gate's group; the kernel puts its own
 * identifier in, and the sandbox's is put back in the reply.
 *
 * QUIC is refused at once so that clients fall back to TCP; see quic_watch.h.
 */
#include "gate/datagrams.h"

#include <errno.h>
#include <netinet/udp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "gate/flow.h"
#include "gate/judge.h"
#include "gate/quic_watch.h"
#include "gate/quota.h"

enum {
	BUCKETS = 2048,
	NO_FLOW = UINT16_MAX,
	IDLE_MS = 120000,
	SWEEP_MS = 5000,
	DATAGRAMS_A_TURN = 16,
	QUIC_PORT = 443,
	QUIC_LONG_HEADER = 0x80, /* RFC 9000, 17.2 */
	SEGMENT_MAX = 1452,	 /* fits an MTU of 1500 by IPv6; longer ones may have to be cut */
	SEGMENTS_MAX = 64,	 /* UDP_MAX_SEGMENTS of Linux 5.15 */
	RUN_OCTETS = 60000,
};

enum { ECHO_REQUEST_V4 = 8, ECHO_REPLY_V4 = 0, ECHO_REQUEST_V6 = 128, ECHO_REPLY_V6 = 129 };

const int datagrams_syscalls[] = {SCMP_SYS(socket),
				  SCMP_SYS(connect),
				  SCMP_SYS(sendto),
				  SCMP_SYS(recvmmsg),
				  SCMP_SYS(sendmsg),
				  SCMP_SYS(close),
				  -1};

struct datagram_flow {
	struct watch watch;
	struct datagrams *table;
	bool used;
	bool is_quic; /* admitted by the server name inside */
	enum proto proto;
	uint16_t next;
	struct endpoint src, dst; /* echo: src.port is the identifier, dst.port 0 */
	uint64_t host;		  /* of the quota */
	mono_t last;
};

/* Datagrams of one flow that wait for the end of the run; all but the last have `segment` octets. */
struct run {
	struct datagram_flow *flow; /* NULL: empty */
	uint16_t segment;
	uint16_t n;
	bool last; /* one that is shorter ends it */
	size_t octets;
	uint8_t octet[RUN_OCTETS];
};

struct datagrams {
	struct gate *gate;
	struct run run;
	struct quic_watch *quic;
	struct timer sweep;
	uint32_t open;
	uint16_t used, free;
	uint16_t bucket[BUCKETS];
	struct datagram_flow *flow;
};

static uint16_t *bucket_of(struct datagrams *d, enum proto proto, const struct endpoint *src,
			   const struct endpoint *dst)
{
	uint8_t key[21];

	memcpy(key, dst->addr.b, 16);
	memcpy(key + 16, &dst->port, 2);
	memcpy(key + 18, &src->port, 2);
	key[20] = (uint8_t)proto;
	return &d->bucket[name_hash((const char *)key, sizeof(key)) % BUCKETS];
}

static struct datagram_flow *find(struct datagrams *d, enum proto proto, const struct endpoint *src,
				  const struct endpoint *dst)
{
	for (uint16_t i = *bucket_of(d, proto, src, dst); i != NO_FLOW; i = d->flow[i].next) {
		struct datagram_flow *fl = &d->flow[i];

		if (fl->proto == proto && fl->src.port == src->port && fl->dst.port == dst->port &&
		    addr_equal(&fl->dst.addr, &dst->addr) && addr_equal(&fl->src.addr, &src->addr))
			return fl;
	}
	return NULL;
}

static uint16_t slot_of(const struct datagram_flow *fl)
{
	return (uint16_t)(fl - fl->table->flow);
}

static void end_flow(struct datagram_flow *fl)
{
	struct datagrams *d = fl->table;
	uint16_t *at = bucket_of(d, fl->proto, &fl->src, &fl->dst);

	if (d->run.flow == fl)
		d->run.flow = NULL;
	while (*at != NO_FLOW && *at != slot_of(fl))
		at = &d->flow[*at].next;
	if (*at != NO_FLOW)
		*at = fl->next;
	loop_close(d->gate->loop, &fl->watch);
	fl->used = false;
	fl->next = d->free;
	d->free = slot_of(fl);
	d->open--;
}

static struct datagram_flow *take_slot(struct datagrams *d)
{
	struct datagram_flow *fl;

	if (d->free != NO_FLOW) {
		fl = &d->flow[d->free];
		d->free = fl->next;
	} else if (d->used < DATAGRAM_FLOWS_MAX) {
		fl = &d->flow[d->used++];
	} else {
		return NULL;
	}
	d->open++;
	return fl;
}

static void give_slot_back(struct datagrams *d, struct datagram_flow *fl)
{
	fl->next = d->free;
	d->free = slot_of(fl);
	d->open--;
}

/* ---- refusals ---- */

static void refuse(struct datagrams *d, const struct packet *p, enum refusal_proto proto,
		   enum reason r, const struct name *name)
{
	struct gate *g = d->gate;
	struct refusal what = {
		.proto = proto, .reason = r, .name = name, .addr = &p->dst, .port = p->dst_port};

	g->counters.flows_refused++;
	g->counters.frames_denied++;
	refusals_note(g->refusals, &what);
	packet_build_unreachable(tun_begin(g->tun), p, UNREACHABLE_PROHIBITED);
	tun_send(g->tun);
}

static void refuse_judged(struct datagrams *d, const struct packet *p, enum proto proto,
			  const struct judged *j)
{
	const struct endpoint src = {p->src, p->src_port}, dst = {p->dst, p->dst_port};
	const struct name *name = j->has_name ? &j->name : NULL;
	struct name inside;

	if (proto == PROTO_ICMP) {
		refuse(d, p, REFUSAL_ICMP, j->verdict.reason, name);
	} else if (p->dst_port != QUIC_PORT) {
		refuse(d, p, REFUSAL_UDP, j->verdict.reason, name);
	} else {
		if (quic_watch_feed(d->quic, &src, &dst, p->payload, &inside) == QUIC_SEEN_NAME)
			name = &inside;
		refuse(d, p, REFUSAL_QUIC, j->verdict.reason, name);
	}
}

/* ---- towards the sandbox ---- */

static void tell_unreachable(struct datagram_flow *fl, enum unreachable why)
{
	struct gate *g = fl->table->gate;
	uint8_t octets[IP_HEADERS_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	struct packet p;

	/* The packet that met the error, as far as it must be quoted: its headers. */
	packet_build_udp(&b, &fl->src, &fl->dst, span_of(NULL, 0));
	if (b.full || packet_parse(buf_span(&b), &p) != PACKET_OK)
		return;
	packet_build_unreachable(tun_begin(g->tun), &p, why);
	tun_send(g->tun);
}

static void write_reply(struct datagram_flow *fl, uint8_t *octets, size_t n)
{
	struct gate *g = fl->table->gate;
	struct buf *b = tun_begin(g->tun);
	uint8_t reply = addr_is_v4(&fl->dst.addr) ? ECHO_REPLY_V4 : ECHO_REPLY_V6;

	if (fl->proto == PROTO_UDP) {
		packet_build_udp(b, &fl->dst, &fl->src, span_of(octets, n));
	} else {
		if (n < 8 || octets[0] != reply)
			return;
		octets[4] = (uint8_t)(fl->src.port >> 8);
		octets[5] = (uint8_t)fl->src.port;
		packet_build_icmp(b, &fl->dst.addr, &fl->src.addr, span_of(octets, n));
	}
	tun_send(g->tun);
	fl->last = loop_now(g->loop);
	g->counters.bytes_in += n;
}

/* The socket's own error is that of a datagram sent before (RFC 1122, 4.1.3.3). */
static void tell_error(struct datagram_flow *fl, int error)
{
	if (error == ECONNREFUSED && fl->proto == PROTO_UDP)
		tell_unreachable(fl, UNREACHABLE_PORT);
	else if (error == EHOSTUNREACH || error == ENETUNREACH)
		tell_unreachable(fl, UNREACHABLE_HOST);
	else if (error == EPERM || error == EACCES)
		/* The host's own firewall, or an administrator's ICMP on the way. */
		tell_unreachable(fl, UNREACHABLE_PROHIBITED);
}

/* One call for all that has come, at most DATAGRAMS_A_TURN. */
static void flow_ready(struct watch *w, uint32_t events)
{
	static uint8_t octets[DATAGRAMS_A_TURN][IP_PACKET_MAX];
	struct datagram_flow *fl = sg_container_of(w, struct datagram_flow, watch);
	struct iovec part[DATAGRAMS_A_TURN];
	struct mmsghdr message[DATAGRAMS_A_TURN] = {0};
	int n;

	for (int i = 0; i < DATAGRAMS_A_TURN; i++) {
		part[i] = (struct iovec){octets[i], sizeof(octets[i])};
		message[i].msg_hdr.msg_iov = &part[i];
		message[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(w->fd, message, DATAGRAMS_A_TURN, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		write_reply(fl, octets[i], message[i].msg_len);
	if (n < 0)
		tell_error(fl, errno);
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
		refuse(d, p, p->src_port ? REFUSAL_UDP : REFUSAL_ICMP, REASON_LIMIT_UDP,
		       j->has_name ? &j->name : NULL);
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

	if (flows_open(g->flows) + d->open >= ruleset_policy(g->rules)->limits.flows)
		return REASON_LIMIT_FLOWS;
	return flows_within_rate(g->flows) ? REASON_NONE : REASON_LIMIT_RATE;
}

static struct datagram_flow *open_flow(struct datagrams *d, const struct packet *p,
				       enum proto proto, const struct endpoint *src,
				       const struct endpoint *dst, const struct judged *j)
{
	const struct name *name = j->has_name ? &j->name : NULL;
	enum reason limit = limit_reached(d);
	struct datagram_flow *fl;
	uint16_t *bucket;
	int fd;

	fl = limit == REASON_NONE ? take_slot(d) : NULL;
	if (!fl) {
		refuse(d, p, proto == PROTO_UDP ? REFUSAL_UDP : REFUSAL_ICMP,
		       limit == REASON_NONE ? REASON_LIMIT_UDP : limit, name);
		return NULL;
	}
	*fl = (struct datagram_flow){.watch = {.ready = flow_ready, .fd = -1}, .table = d};
	fd = open_socket(&j->dial[0], proto);
	if (fd < 0 || loop_add(d->gate->loop, &fl->watch, fd, EPOLLIN) != 0) {
		if (fd >= 0)
			close(fd);
		give_slot_back(d, fl);
		refuse_unopened(d, p, fd < 0 ? fd : -ENOMEM, j);
		return NULL;
	}
	fl->used = true;
	fl->proto = proto;
	fl->src = *src;
	fl->dst = *dst;
	fl->host = quota_host(name, &dst->addr);
	bucket = bucket_of(d, proto, src, dst);
	fl->next = *bucket;
	*bucket = slot_of(fl);
	d->gate->counters.flows_opened++;
	arm_sweep(d);
	return fl;
}

static void send_one(struct datagram_flow *fl, struct span payload)
{
	if (send(fl->watch.fd, payload.p, payload.n, MSG_NOSIGNAL) >= 0)
		fl->table->gate->counters.bytes_out += payload.n;
	else
		tell_error(fl, errno);
}

static bool send_segments(struct run *r)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(sizeof(uint16_t))];
	} control = {0};
	struct iovec v = {r->octet, r->octets};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control.octets,
			   .msg_controllen = sizeof(control.octets)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(r->segment));
	memcpy(CMSG_DATA(c), &r->segment, sizeof(r->segment));
	return sendmsg(r->flow->watch.fd, &m, MSG_NOSIGNAL) >= 0;
}

/* One by one: where the way out takes no segments, each must have its own answer. */
static void send_each(struct run *r)
{
	for (size_t at = 0; at < r->octets; at += r->segment) {
		size_t n = r->octets - at < r->segment ? r->octets - at : r->segment;

		send_one(r->flow, span_of(r->octet + at, n));
	}
}

void datagrams_flush(struct datagrams *d)
{
	struct run *r = &d->run;

	if (!r->flow)
		return;
	if (r->n > 1 && send_segments(r))
		d->gate->counters.bytes_out += r->octets;
	else
		send_each(r);
	r->flow = NULL;
}

static bool fits_run(const struct run *r, const struct datagram_flow *fl, size_t n)
{
	return r->flow == fl && !r->last && n <= r->segment && r->n < SEGMENTS_MAX &&
	       r->octets + n <= RUN_OCTETS;
}

static void put_in_run(struct datagram_flow *fl, struct span payload)
{
	struct run *r = &fl->table->run;

	if (!fits_run(r, fl, payload.n)) {
		datagrams_flush(fl->table);
		r->flow = fl;
		r->segment = (uint16_t)payload.n;
		r->n = 0;
		r->octets = 0;
	}
	memcpy(r->octet + r->octets, payload.p, payload.n);
	r->octets += payload.n;
	r->last = payload.n < r->segment;
	r->n++;
}

/* `p` is the packet that carried the payload, or the last of several that were kept. */
static void forward(struct datagram_flow *fl, const struct packet *p, struct span payload)
{
	struct gate *g = fl->table->gate;
	const struct limits *limits = &ruleset_policy(g->rules)->limits;
	enum reason why;

	fl->last = loop_now(g->loop);
	if (quota_left(g->quota, limits, fl->host, &why) < payload.n) {
		refuse(fl->table, p, fl->proto == PROTO_UDP ? REFUSAL_UDP : REFUSAL_ICMP, why,
		       NULL);
		return;
	}
	quota_spend(g->quota, limits, fl->host, payload.n);
	if (fl->proto == PROTO_UDP && payload.n > 0 && payload.n <= SEGMENT_MAX) {
		put_in_run(fl, payload);
		return;
	}
	/* Datagrams of a flow leave in the order in which they came. */
	datagrams_flush(fl->table);
	send_one(fl, payload);
}

/* With `quic: allow`: the server name must be admitted and looked up for this address. */
static bool admit_quic(struct datagrams *d, const struct packet *p, const struct endpoint *dst,
		       enum quic_seen seen, const struct name *inside, const struct name *bound)
{
	struct verdict v;

	if (seen != QUIC_SEEN_NAME) {
		refuse(d, p, REFUSAL_QUIC, REASON_NO_SERVER_NAME, bound);
		return false;
	}
	v = judge_server_name(d->gate, dst, inside, NULL, NULL);
	if (!v.allow)
		refuse(d, p, REFUSAL_QUIC, v.reason, inside);
	return v.allow;
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
	struct name name;
	enum quic_seen seen = quic_watch_feed(d->quic, src, dst, p->payload, &name);

	if (seen == QUIC_SEEN_WAIT ||
	    !admit_quic(d, p, dst, seen, &name, j->has_name ? &j->name : NULL))
		return;
	fl = open_flow(d, p, PROTO_UDP, src, dst, j);
	if (!fl)
		return;
	fl->is_quic = true;
	forward_kept(fl, p);
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
	enum quic_seen seen = QUIC_SEEN_OTHER;

	if (p->payload.n && p->payload.p[0] & QUIC_LONG_HEADER)
		seen = quic_watch_feed(d->quic, &fl->src, &fl->dst, p->payload, &name);
	if (seen == QUIC_SEEN_OTHER)
		forward(fl, p, p->payload);
	else if (seen != QUIC_SEEN_WAIT && admit_quic(d, p, &fl->dst, seen, &name, NULL))
		forward_kept(fl, p);
}

static void take(struct datagrams *d, const struct packet *p, enum proto proto, uint16_t src_port,
		 struct span payload)
{
	struct endpoint src = {p->src, src_port}, dst = {p->dst, p->dst_port};
	struct datagram_flow *fl = find(d, proto, &src, &dst);
	struct judged j;

	if (fl && fl->is_quic) {
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
	fl = open_flow(d, p, proto, &src, &dst, &j);
	if (fl)
		forward(fl, p, payload);
}

void datagrams_take_udp(struct datagrams *d, const struct packet *p)
{
	take(d, p, PROTO_UDP, p->src_port, p->payload);
}

void datagrams_take_echo(struct datagrams *d, const struct packet *p)
{
	uint8_t request = addr_is_v4(&p->dst) ? ECHO_REQUEST_V4 : ECHO_REQUEST_V6;
	uint16_t id = (uint16_t)(p->payload.p[4] << 8 | p->payload.p[5]);

	/* Errors and replies of the sandbox concern nobody: what it gets, the gate wrote. */
	if (p->payload.p[0] != request || p->payload.p[1] != 0) {
		d->gate->counters.frames_noise++;
		return;
	}
	take(d, p, PROTO_ICMP, id, p->payload);
}

uint32_t datagrams_open(const struct datagrams *d)
{
	return d->open;
}

void datagrams_rejudge(struct datagrams *d)
{
	for (uint16_t i = 0; i < d->used; i++) {
		struct datagram_flow *fl = &d->flow[i];
		struct judged j;

		if (!fl->used)
			continue;
		judge_destination(d->gate, &fl->dst, fl->proto, &j);
		if (j.kind != JUDGED_FORWARD)
			end_flow(fl);
	}
}

static void sweep(struct timer *t)
{
	struct datagrams *d = sg_container_of(t, struct datagrams, sweep);
	mono_t now = loop_now(d->gate->loop);

	for (uint16_t i = 0; i < d->used; i++) {
		struct datagram_flow *fl = &d->flow[i];

		if (fl->used && mono_before(mono_add_ms(fl->last, IDLE_MS), now))
			end_flow(fl);
	}
	arm_sweep(d);
}

struct datagrams *datagrams_new(struct gate *g)
{
	struct datagrams *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->gate = g;
	d->free = NO_FLOW;
	d->sweep.expired = sweep;
	memset(d->bucket, 0xff, sizeof(d->bucket));
	d->quic = quic_watch_new(g->loop);
	d->flow = mmap(NULL, DATAGRAM_FLOWS_MAX * sizeof(*d->flow), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!d->quic || d->flow == MAP_FAILED)
		return NULL;
	return d;
}
