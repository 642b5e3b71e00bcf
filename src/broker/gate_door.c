/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The gate reads what the sandbox sends, so a message of its is checked like one of the sandbox.
 * One that makes no sense ends nothing: its descriptors are reset, and the gate's other connections
 * go on.
 *
 * When the socket closes, the gate has ended, and nobody would judge or count what it handed over:
 * all connections are reset. The next gate's socket comes from the supervisor.
 */
#include "broker/gate_door.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/context.h"
#include "broker/link.h"
#include "io/gate_message.h"
#include "io/passed_fd.h"

enum { AT_ONCE = 64 }; /* messages; then the connections have their turn */

const int gate_door_syscalls[] = {SCMP_SYS(sendto), SCMP_SYS(getsockopt), -1};

struct gate_door {
	struct watch watch;
	struct broker *broker;
	uint32_t last_dial;
};

/* A connected TCP socket that does not block; else a read of it could hold the broker. */
static bool is_sound_socket(int fd)
{
	int flags = fcntl(fd, F_GETFL), type = 0;
	socklen_t n = sizeof(type);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM;
}

static uint8_t alpn_of(uint8_t flags)
{
	return (uint8_t)((flags & GATE_OFFERS_HTTP2 ? HANDOVER_HTTP2 : 0) |
			 (flags & GATE_OFFERS_HTTP1 ? HANDOVER_HTTP1 : 0));
}

/* True: the descriptors were taken. */
static bool take_handover(struct gate_door *d, const struct gate_message *m, const int *fds)
{
	bool tls = m->flags & GATE_TLS;
	const struct handover h = {
		.client = fds[0],
		.server = fds[1],
		.name = m->name,
		.dst = m->dst,
		.tls = tls,
		.by_proxy = m->flags & GATE_BY_PROXY,
		.absolute = m->flags & GATE_PROXIED,
		.alpn = alpn_of(m->flags),
	};

	/* A certificate is for a name. */
	if (fds[0] < 0 || fds[1] < 0 || (tls && (!m->name.n || h.absolute)) ||
	    !is_sound_socket(fds[0]) || !is_sound_socket(fds[1]))
		return false;
	/* The gate is not told of one that found no room: its client has seen a reset. */
	(void)connection_take(d->broker, &h);
	return true;
}

static bool take_dialled(struct gate_door *d, const struct gate_message *m, const int *fds)
{
	int fd = fds[0];

	if (fds[1] >= 0 || (fd >= 0 && !is_sound_socket(fd)))
		return false;
	connections_dialled(d->broker->connections, m->number, fd,
			    m->error ? (int)m->error : ECONNREFUSED);
	return true;
}

static bool take_message(struct gate_door *d, struct span octets, const int *fds)
{
	struct gate_message m;

	if (!gate_message_parse(octets, &m))
		return false;
	if (m.kind == GATE_HANDOVER)
		return take_handover(d, &m, fds);
	return m.kind == GATE_DIALLED && take_dialled(d, &m, fds);
}

static void disconnect(struct gate_door *d)
{
	if (d->watch.fd < 0)
		return;
	loop_close(d->broker->loop, &d->watch);
	connections_reset(d->broker->connections);
}

/* False: there is no more now. */
static bool receive_one(struct gate_door *d)
{
	uint8_t octets[GATE_MESSAGE_MAX + 1]; /* one too long is seen as such */
	int fds[2];
	ssize_t n = passed_fds_receive(d->watch.fd, octets, sizeof(octets), fds, 2);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		disconnect(d);
		return false;
	}
	if (!take_message(d, span_of(octets, (size_t)n), fds)) {
		for (size_t i = 0; i < sg_array_len(fds); i++)
			if (fds[i] >= 0)
				link_reset_socket(fds[i]);
	}
	return true;
}

static void ready(struct watch *w, uint32_t events)
{
	struct gate_door *d = sg_container_of(w, struct gate_door, watch);

	for (int i = 0; i < AT_ONCE && receive_one(d); i++)
		;
}

struct gate_door *gate_door_new(struct broker *b)
{
	struct gate_door *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->broker = b;
	d->watch = (struct watch){.ready = ready, .fd = -1};
	return d;
}

/* A stream would run messages into each other. */
static bool is_message_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t n = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX;
}

int gate_door_connect(struct gate_door *d, int fd, struct err *e)
{
	int own, r;

	if (!is_message_socket(fd))
		return err_set(e, "the gate's end is no SOCK_SEQPACKET socket");
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return err_set(e, "the gate's end cannot be kept: %s", strerror(errno));
	disconnect(d);
	r = loop_add(d->broker->loop, &d->watch, own, EPOLLIN);
	if (r == 0)
		return 0;
	close(own);
	return err_set(e, "the gate's end cannot be watched: %s", strerror(-r));
}

void gate_door_free(struct gate_door *d)
{
	if (!d)
		return;
	if (d->watch.fd >= 0)
		loop_close(d->broker->loop, &d->watch);
	free(d);
}

int gate_door_dial(struct gate_door *d, const struct handover *peer, uint32_t *dial)
{
	struct gate_message m = {
		.kind = GATE_DIAL,
		.flags = peer->tls ? GATE_TLS : 0,
		.dst = peer->dst,
		.number = ++d->last_dial,
		.name = peer->name,
	};
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	gate_message_print(&m, &b);
	*dial = m.number;
	if (d->watch.fd < 0)
		return -ENOTCONN;
	/* A gate that does not read has its own trouble: the request is answered with that. */
	if (send(d->watch.fd, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)b.n)
		return 0;
	return -errno;
}
