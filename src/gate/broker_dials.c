/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	FREE -> CONNECTING -> ANSWER -> FREE
 *		   \-> TUNNELLING -/
 *
 * CONNECTING	the socket is in the loop, for DIAL_MS at most
 * TUNNELLING	the same time; it leads to the parent proxy, and is the broker's meanwhile
 * ANSWER	the socket, or the error, is to be told to the broker
 *
 * Whatever cannot be begun goes to ANSWER at once. Most have one address only: the one that the
 * connection was handed over with, since that is what was judged.
 */
#include "gate/broker_dials.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/flow_table.h"
#include "gate/tunnels.h"
#include "io/gate_message.h"
#include "io/passed_fd.h"

/* As long as the broker waits (broker/patience.h). */
enum { DIAL_MS = 30000 };

enum dial_state { DIAL_FREE, DIAL_CONNECTING, DIAL_TUNNELLING, DIAL_ANSWER };

struct dial {
	enum dial_state state;
	struct broker_dials *all;
	struct watch watch; /* its socket in any state; -1: none */
	struct timer timer;
	bool by_parent; /* the socket leads to the parent proxy: */
	struct tunnel tunnel;
	struct endpoint to;
	struct name name; /* n is 0: none */
	uint32_t number, connection;
	int error;
};

struct broker_dials {
	struct gate *gate;
	void (*done)(void *ctx);
	void *ctx;
	struct dial dial[BROKER_DIALS_MAX];
};

/* The broker's copy would keep it in the loop. */
static void take_out(struct dial *t)
{
	int fd = t->watch.fd;

	if (t->state == DIAL_CONNECTING)
		loop_remove(t->all->gate->loop, &t->watch);
	t->watch.fd = fd;
}

static void settle(struct dial *t, int error)
{
	loop_timer_cancel(t->all->gate->loop, &t->timer);
	tunnel_forget(t->all->gate, &t->tunnel);
	take_out(t);
	t->state = DIAL_ANSWER;
	t->error = error;
	if (error && t->watch.fd >= 0) {
		close(t->watch.fd);
		t->watch.fd = -1;
	}
}

static void tunnel_done(struct tunnel *tunnel, int error)
{
	struct dial *t = sg_container_of(tunnel, struct dial, tunnel);

	settle(t, error);
	t->all->done(t->all->ctx);
}

static int begin_tunnel(struct dial *t)
{
	take_out(t);
	t->state = DIAL_TUNNELLING;
	t->tunnel.done = tunnel_done;
	return tunnel_ask(t->all->gate, &t->tunnel, t->watch.fd, t->name.n ? &t->name : NULL,
			  &t->to);
}

static void ready(struct watch *w, uint32_t events)
{
	struct dial *t = sg_container_of(w, struct dial, watch);
	int error = 0;
	socklen_t n = sizeof(error);

	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0)
		error = errno;
	if (!error && (events & EPOLLHUP))
		error = ECONNRESET;
	if (!error && t->by_parent)
		error = begin_tunnel(t);
	if (t->state == DIAL_TUNNELLING && !error)
		return;
	settle(t, error);
	t->all->done(t->all->ctx);
}

static void expired(struct timer *timer)
{
	struct dial *t = sg_container_of(timer, struct dial, timer);

	settle(t, ETIMEDOUT);
	t->all->done(t->all->ctx);
}

/* 0 or an errno. */
static int connect_to(struct dial *t, const struct broker_dial *what)
{
	const struct gate *g = t->all->gate;
	struct loop *l = g->loop;
	int fd;

	t->to = *what->to;
	if (what->name)
		t->name = *what->name;
	t->by_parent = tunnels_carry(g, what->name, &what->to->addr);
	fd = flows_within_rate(g->flows)
		     ? dial_socket(t->by_parent ? tunnels_parent(g, 0) : what->to)
		     : -EAGAIN;

	if (fd < 0)
		return -fd;
	if (loop_add(l, &t->watch, fd, EPOLLOUT) != 0) {
		close(fd);
		return ENOMEM;
	}
	(void)loop_timer_set(l, &t->timer, mono_add_ms(loop_now(l), DIAL_MS));
	return 0;
}

static struct dial *unused(struct broker_dials *d)
{
	for (size_t i = 0; i < BROKER_DIALS_MAX; i++)
		if (d->dial[i].state == DIAL_FREE)
			return &d->dial[i];
	return NULL;
}

void broker_dials_begin(struct broker_dials *d, const struct broker_dial *what)
{
	struct dial *t = unused(d);

	if (!t)
		return;
	*t = (struct dial){.all = d,
			   .state = DIAL_CONNECTING,
			   .watch = {.ready = ready, .fd = -1},
			   .timer = {.expired = expired},
			   .number = what->number,
			   .connection = what->connection};
	t->error = what->error ? what->error : connect_to(t, what);
	if (t->error)
		t->state = DIAL_ANSWER;
}

static void forget(struct dial *t)
{
	loop_timer_cancel(t->all->gate->loop, &t->timer);
	tunnel_forget(t->all->gate, &t->tunnel);
	if (t->state == DIAL_CONNECTING)
		loop_close(t->all->gate->loop, &t->watch);
	else if (t->watch.fd >= 0)
		close(t->watch.fd);
	t->state = DIAL_FREE;
}

static bool answer(struct dial *t, int broker)
{
	struct gate_message m = {.kind = GATE_DIALLED,
				 .number = t->number,
				 .connection = t->connection,
				 .error = (uint32_t)t->error};
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	gate_message_print(&m, &b);
	if (t->watch.fd >= 0)
		flow_keep_alive(t->watch.fd);
	if (passed_fds_send(broker, b.p, b.n, &t->watch.fd, t->watch.fd >= 0) != 0)
		return false;
	forget(t);
	return true;
}

bool broker_dials_answer(struct broker_dials *d, int broker)
{
	for (size_t i = 0; i < BROKER_DIALS_MAX; i++)
		if (d->dial[i].state == DIAL_ANSWER && !answer(&d->dial[i], broker))
			return false;
	return true;
}

void broker_dials_forget(struct broker_dials *d, uint32_t connection)
{
	for (size_t i = 0; i < BROKER_DIALS_MAX; i++)
		if (d->dial[i].state != DIAL_FREE && d->dial[i].connection == connection)
			forget(&d->dial[i]);
}

void broker_dials_forget_all(struct broker_dials *d)
{
	for (size_t i = 0; i < BROKER_DIALS_MAX; i++)
		if (d->dial[i].state != DIAL_FREE)
			forget(&d->dial[i]);
}

struct broker_dials *broker_dials_new(struct gate *g, void (*done)(void *ctx), void *ctx)
{
	struct broker_dials *d = calloc(1, sizeof(*d));

	if (d)
		*d = (struct broker_dials){.gate = g, .done = done, .ctx = ctx};
	return d;
}
