/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial: the connection of an admitted flow to its far side, while its SYN is held.
 *
 * The sandbox is told what the far side, or the way to it, said: connected, refused,
 * unreachable, or nothing at all.
 */
#include <errno.h>
#include <seccomp.h>
#include <sys/socket.h>

#include "gate/flow_table.h"

enum { OFFERED_MS = 30000 /* the sandbox's kernel did not finish its handshake */ };

const int dial_syscalls[] = {SCMP_SYS(socket),	   SCMP_SYS(connect), SCMP_SYS(setsockopt),
			     SCMP_SYS(getsockopt), SCMP_SYS(close),   -1};

int dial_socket(const struct endpoint *to)
{
	struct sockaddr_storage ss;
	socklen_t n = endpoint_to_sockaddr(to, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = flow_set_socket(fd);
	if (r == 0 && connect(fd, (struct sockaddr *)&ss, n) != 0 && errno != EINPROGRESS)
		r = -errno;
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static int dial_one(struct flow *fl, const struct endpoint *to)
{
	int fd = dial_socket(to), r;

	if (fd < 0)
		return fd;
	r = loop_add(flow_loop(fl), &fl->out.watch, fd, FLOW_EVENTS | EPOLLET);
	if (r != 0)
		close(fd);
	return r;
}

/* NULL: there is none left. */
static const struct endpoint *next_hop(const struct flow *fl)
{
	if (fl->by_parent)
		return tunnels_parent(fl->gate, fl->at_parent);
	return fl->at_dial < fl->n_dial ? &fl->dial[fl->at_dial] : NULL;
}

bool dial_is_last(const struct flow *fl)
{
	if (fl->by_parent)
		return !tunnels_parent(fl->gate, fl->at_parent + 1u);
	return fl->at_dial + 1 >= fl->n_dial;
}

static void pass_over(struct flow *fl)
{
	if (fl->by_parent)
		fl->at_parent++;
	else
		fl->at_dial++;
}

static int try_rest(struct flow *fl, int r)
{
	for (const struct endpoint *to; (to = next_hop(fl)); pass_over(fl)) {
		r = dial_one(fl, to);
		if (r == 0)
			break;
	}
	return r;
}

int dial_begin(struct flow *fl)
{
	fl->by_parent =
		fl->n_dial && tunnels_carry(fl->gate, flow_name(fl), &fl->dial[fl->at_dial].addr);
	fl->at_parent = 0;
	return try_rest(fl, -EHOSTUNREACH);
}

int dial_next(struct flow *fl, int error)
{
	tunnel_forget(fl->gate, &fl->tunnel);
	loop_close(flow_loop(fl), &fl->out.watch);
	pass_over(fl);
	return try_rest(fl, -error);
}

bool dial_reached(struct flow *fl, void (*done)(struct tunnel *t, int error))
{
	int r;

	if (!fl->by_parent)
		return true;
	if (tunnel_waits(&fl->tunnel))
		return false;
	fl->tunnel.done = done;
	r = tunnel_ask(fl->gate, &fl->tunnel, fl->out.watch.fd, flow_name(fl),
		       &fl->dial[fl->at_dial]);
	if (r != 0)
		done(&fl->tunnel, r);
	return false;
}

void dial_tunnelled(struct flow *fl)
{
	/* The watch is in the loop: only what is pending is told anew. */
	(void)!loop_modify(flow_loop(fl), &fl->out.watch, FLOW_EVENTS | EPOLLET);
}

/* Tells the sandbox what the far side, or the way to it, said. */
static void answer_failed_dial(struct flow *fl, int error)
{
	struct tun *tun = fl->gate->tun;
	struct packet p;

	if (packet_parse(span_of(fl->syn, fl->syn_octets), &p) != PACKET_OK)
		return;
	switch (error) {
	case -ETIMEDOUT:
		return; /* silence: the sandbox's own kernel times out as it would have */
	case -ENETUNREACH:
		packet_build_unreachable(tun_begin(tun), &p, UNREACHABLE_NET);
		break;
	case -EHOSTUNREACH:
	case -ENETDOWN:
	case -EHOSTDOWN:
		packet_build_unreachable(tun_begin(tun), &p, UNREACHABLE_HOST);
		break;
	default:
		packet_build_reset(tun_begin(tun), &p);
	}
	tun_send(tun);
}

void dial_fail(struct flow *fl, int error)
{
	if (error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM ||
	    error == -EADDRNOTAVAIL)
		flow_refuse(fl, (struct event){.proto = RECORD_TCP,
					       .reason = REASON_LIMIT_FLOWS,
					       .name = flow_name(fl)});
	else
		flow_note_unreached(fl, error == -ETIMEDOUT ? REASON_UPSTREAM_TIMEOUT
							    : REASON_UPSTREAM_FAILED);
	answer_failed_dial(fl, error);
	flow_table_free(fl);
}

/* The far side has connected, or there is none: the kernel may complete the handshake. */
void dial_offer(struct flow *fl)
{
	if (fl->state == FLOW_DIALING) {
		fl->state = FLOW_OFFERED;
		flow_set_timer(fl, OFFERED_MS);
	}
	tun_write(fl->gate->tun, span_of(fl->syn, fl->syn_octets));
}

static void dial_failed(struct flow *fl)
{
	int error = ECONNREFUSED, r;
	socklen_t n = sizeof(error);

	getsockopt(fl->out.watch.fd, SOL_SOCKET, SO_ERROR, &error, &n);
	r = dial_next(fl, error);
	if (r != 0)
		dial_fail(fl, r);
}

static void tunnel_done(struct tunnel *t, int error)
{
	struct flow *fl = sg_container_of(t, struct flow, tunnel);

	if (error) {
		dial_fail(fl, -error);
		return;
	}
	dial_tunnelled(fl);
	dial_offer(fl);
}

void dial_event(struct flow *fl, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		dial_failed(fl);
	else if ((events & EPOLLOUT) && dial_reached(fl, tunnel_done))
		dial_offer(fl);
}
