/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The gate reads what the sandbox sends, so a message of its is checked like one of the sandbox.
 * One that makes no sense ends nothing: its descriptors are reset, and the gate's other connections
 * go on.
 *
 * What the gate must hear of is owed until there is room for it: that a connection has ended, or
 * waits. How many octets it has moved is said again at the next step when there is none.
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
#include "broker/parent.h"
#include "broker/refresher.h"
#include "io/gate_message.h"
#include "io/message_socket.h"
#include "io/passed_fd.h"

enum { AT_ONCE = 64 }; /* messages; then the connections have their turn */

const int gate_door_syscalls[] = {SCMP_SYS(sendto), SCMP_SYS(getsockopt), -1};

struct owed {
	struct owed *next;
	size_t n;
	uint8_t octets[GATE_MESSAGE_HEAD];
};

struct gate_door {
	struct watch watch;
	struct broker *broker;
	uint32_t last_dial;
	struct owed *first, **last;
};

/* ---- To the gate ---- */

static bool say(struct gate_door *d, struct span octets)
{
	return send(d->watch.fd, octets.p, octets.n, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)octets.n;
}

static void forget_first(struct gate_door *d)
{
	struct owed *o = d->first;

	d->first = o->next;
	if (!d->first)
		d->last = &d->first;
	free(o);
}

static void pay(struct gate_door *d)
{
	while (d->first && say(d, span_of(d->first->octets, d->first->n)))
		forget_first(d);
	if (!d->first)
		(void)!loop_modify(d->broker->loop, &d->watch, EPOLLIN);
}

static void owe(struct gate_door *d, struct span octets)
{
	struct owed *o = malloc(sizeof(*o));

	if (!o)
		return;
	*o = (struct owed){.n = octets.n};
	memcpy(o->octets, octets.p, octets.n);
	*d->last = o;
	d->last = &o->next;
	(void)!loop_modify(d->broker->loop, &d->watch, EPOLLIN | EPOLLOUT);
}

bool gate_door_tell(struct gate_door *d, enum gate_message_kind kind, uint32_t connection,
		    uint64_t out, uint64_t in)
{
	struct gate_message m = {
		.kind = (uint8_t)kind, .connection = connection, .out = out, .in = in};
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	if (d->watch.fd < 0)
		return false;
	gate_message_print(&m, &b);
	/* In their order: none goes before those that are owed. */
	if (!d->first && say(d, buf_span(&b)))
		return true;
	if (kind != GATE_MOVED)
		owe(d, buf_span(&b));
	return kind != GATE_MOVED;
}

void gate_door_answer_tunnel(struct gate_door *d, uint32_t number, int error)
{
	struct gate_message m = {
		.kind = GATE_TUNNELLED, .number = number, .error = (uint32_t)error};
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	if (d->watch.fd < 0)
		return;
	gate_message_print(&m, &b);
	if (d->first || !say(d, buf_span(&b)))
		owe(d, buf_span(&b));
}

/* ---- From the gate ---- */

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
		.connection = m->connection,
		.may_read = m->out,
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
	if (connection_take(d->broker, &h) != 0)
		gate_door_tell(d, GATE_ENDED, m->connection, 0, 0);
	return true;
}

static bool take_dialled(struct gate_door *d, const struct gate_message *m, const int *fds)
{
	int fd = fds[0], error = m->error ? (int)m->error : ECONNREFUSED;

	if (fds[1] >= 0 || (fd >= 0 && !is_sound_socket(fd)))
		return false;
	if (!refresher_dialled(d->broker->refresher, m->number, fd, error))
		connections_dialled(d->broker->connections, m->number, fd, error);
	return true;
}

static bool take_tunnel(struct gate_door *d, const struct gate_message *m, const int *fds)
{
	struct parent *p = d->broker->parent;

	if (!p || fds[0] < 0 || fds[1] >= 0 || !is_sound_socket(fds[0])) {
		gate_door_answer_tunnel(d, m->number, ECONNREFUSED);
		return false;
	}
	parent_take(p, m, fds[0]);
	return true;
}

static bool take_message(struct gate_door *d, struct span octets, const int *fds)
{
	struct connections *all = d->broker->connections;
	struct gate_message m;

	if (!gate_message_parse(octets, &m))
		return false;
	if (m.kind == GATE_HANDOVER && take_handover(d, &m, fds))
		return true;
	if (m.kind == GATE_HANDOVER)
		gate_door_tell(d, GATE_ENDED, m.connection, 0, 0);
	if (m.kind == GATE_DIALLED)
		return take_dialled(d, &m, fds);
	if (m.kind == GATE_TUNNEL)
		return take_tunnel(d, &m, fds);
	if (m.kind == GATE_MAY && fds[0] < 0)
		connections_may_read(all, m.connection, m.out);
	if (m.kind == GATE_CUT && fds[0] < 0)
		connections_cut(all, m.connection);
	return fds[0] < 0;
}

static void disconnect(struct gate_door *d)
{
	if (d->watch.fd < 0)
		return;
	loop_close(d->broker->loop, &d->watch);
	while (d->first)
		forget_first(d);
	connections_reset(d->broker->connections);
	refresher_cut(d->broker->refresher);
	parent_forget(d->broker->parent);
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

	if (events & EPOLLOUT)
		pay(d);
	for (int i = 0; i < AT_ONCE && receive_one(d); i++)
		;
}

struct gate_door *gate_door_new(struct broker *b)
{
	struct gate_door *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->broker = b;
	d->last = &d->first;
	d->watch = (struct watch){.ready = ready, .fd = -1};
	return d;
}

int gate_door_connect(struct gate_door *d, int fd, struct err *e)
{
	int own = message_socket_keep(fd, "the gate's", e);
	int r;

	if (own < 0)
		return -1;
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
	while (d->first)
		forget_first(d);
	free(d);
}

/* A gate that does not read has its own trouble: the request is answered with that. */
static int send_dial(struct gate_door *d, struct gate_message *m, uint32_t *dial)
{
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	if (d->watch.fd < 0)
		return -ENOTCONN;
	*dial = m->number = ++d->last_dial;
	gate_message_print(m, &b);
	return say(d, buf_span(&b)) ? 0 : -errno;
}

int gate_door_dial(struct gate_door *d, const struct handover *peer, uint32_t *dial)
{
	struct gate_message m = {
		.kind = GATE_DIAL,
		.flags = peer->tls ? GATE_TLS : 0,
		.dst = peer->dst,
		.connection = peer->connection,
		.name = peer->name,
	};

	return send_dial(d, &m, dial);
}

int gate_door_dial_token(struct gate_door *d, const struct name *server, uint16_t port,
			 uint32_t *dial)
{
	struct gate_message m = {
		.kind = GATE_DIAL_TOKEN, .flags = GATE_TLS, .dst.port = port, .name = *server};

	return send_dial(d, &m, dial);
}
