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

/* Tries the addresses that are left. 0 when one is under way, else the last error. */
int dial_begin(struct flow *fl)
{
	int r = -EHOSTUNREACH;

	for (; fl->at_dial < fl->n_dial; fl->at_dial++) {
		r = dial_one(fl, &fl->dial[fl->at_dial]);
		if (r == 0)
			break;
	}
	return r;
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
	int error = ECONNREFUSED;
	socklen_t n = sizeof(error);

	getsockopt(fl->out.watch.fd, SOL_SOCKET, SO_ERROR, &error, &n);
	loop_close(flow_loop(fl), &fl->out.watch);
	fl->at_dial++;
	if (fl->at_dial < fl->n_dial && dial_begin(fl) == 0)
		return;
	dial_fail(fl, -error);
}

void dial_event(struct flow *fl, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		dial_failed(fl);
	else if (events & EPOLLOUT)
		dial_offer(fl);
}
