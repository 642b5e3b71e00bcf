/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datagram_io: what a datagram flow carries, both ways.
 *
 * Datagrams of one flow that come in one run from the tun device and have one size leave in
 * one call (UDP_SEGMENT, udp(7)): most of a datagram's cost is its way through the host's stack.
 * What comes back is written to the tun device with the source that the sandbox asked.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <seccomp.h>
#include <sys/socket.h>

#include "gate/datagram_flow.h"

enum {
	DATAGRAMS_A_TURN = 16,
	SEGMENT_MAX = 1452, /* fits an MTU of 1500 by IPv6; longer ones may have to be cut */
	SEGMENTS_MAX = 64,  /* UDP_MAX_SEGMENTS of Linux 5.15 */
};

enum { ECHO_REPLY_V4 = 0, ECHO_REPLY_V6 = 129 };

const int datagram_io_syscalls[] = {SCMP_SYS(sendto), SCMP_SYS(recvmmsg), SCMP_SYS(sendmsg), -1};

/* ---- towards the sandbox ---- */

void datagram_tell_unreachable(struct datagram_flow *fl, enum unreachable why)
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
	fl->bytes_in += n;
	g->counters->bytes_in += n;
}

/* The socket's own error is that of a datagram sent before (RFC 1122, 4.1.3.3). */
static void tell_error(struct datagram_flow *fl, int error)
{
	if (error == ECONNREFUSED && fl->proto == PROTO_UDP)
		datagram_tell_unreachable(fl, UNREACHABLE_PORT);
	else if (error == EHOSTUNREACH || error == ENETUNREACH)
		datagram_tell_unreachable(fl, UNREACHABLE_HOST);
	else if (error == EPERM || error == EACCES)
		/* The host's own firewall, or an administrator's ICMP on the way. */
		datagram_tell_unreachable(fl, UNREACHABLE_PROHIBITED);
}

/* One call for all that has come, at most DATAGRAMS_A_TURN. */
void datagram_ready(struct watch *w, uint32_t events)
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

static void count_sent(struct datagram_flow *fl, size_t n)
{
	fl->bytes_out += n;
	fl->table->gate->counters->bytes_out += n;
}

static void send_one(struct datagram_flow *fl, struct span payload)
{
	if (send(fl->watch.fd, payload.p, payload.n, MSG_NOSIGNAL) >= 0)
		count_sent(fl, payload.n);
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
		count_sent(r->flow, r->octets);
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

void datagram_send(struct datagram_flow *fl, struct span payload)
{
	if (fl->proto == PROTO_UDP && payload.n > 0 && payload.n <= SEGMENT_MAX) {
		put_in_run(fl, payload);
		return;
	}
	/* Datagrams of a flow leave in the order in which they came. */
	datagrams_flush(fl->table);
	send_one(fl, payload);
}
