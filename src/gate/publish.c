/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * An accepted connection waits in a queue while the door connects; the door answers in the
 * order it was asked, so the oldest one waiting belongs to each answer. The queue is bounded:
 * beyond it a connection is closed at once.
 */
#include "gate/publish.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "gate/flow.h"
#include "io/passed_fd.h"

enum { WAITING_MAX = 64, PUBLISHED_MAX = 64 };

const int publish_syscalls[] = {SCMP_SYS(accept4), SCMP_SYS(sendto), SCMP_SYS(close), -1};

struct listener {
	struct watch watch;
	struct publisher *publisher;
	uint16_t port;
};

struct publisher {
	struct gate *gate;
	struct watch door;
	size_t first, n_waiting;
	int waiting[WAITING_MAX]; /* a ring of accepted sockets */
	size_t n_listeners;
	struct listener listener[PUBLISHED_MAX];
};

static bool ask_door(struct publisher *p, uint16_t port)
{
	uint8_t wire[2] = {(uint8_t)(port >> 8), (uint8_t)port};

	return send(p->door.fd, wire, sizeof(wire), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(wire);
}

static void listener_ready(struct watch *w, uint32_t events)
{
	struct listener *l = sg_container_of(w, struct listener, watch);
	struct publisher *p = l->publisher;
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (p->door.fd < 0 || p->n_waiting == WAITING_MAX || !ask_door(p, l->port)) {
		close(fd);
		return;
	}
	p->waiting[(p->first + p->n_waiting++) % WAITING_MAX] = fd;
}

static void drop_waiting(struct publisher *p)
{
	for (; p->n_waiting; p->n_waiting--, p->first = (p->first + 1) % WAITING_MAX)
		close(p->waiting[p->first]);
}

static void door_ready(struct watch *w, uint32_t events)
{
	struct publisher *p = sg_container_of(w, struct publisher, door);
	uint8_t status;
	int world, sandbox;
	ssize_t n = passed_fd_receive(w->fd, &status, 1, &sandbox);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != 1 || p->n_waiting == 0) {
		/* The door has ended: what waits for it is over, and so is what comes. */
		if (n == 1 && sandbox >= 0)
			close(sandbox);
		loop_close(p->gate->loop, &p->door);
		drop_waiting(p);
		return;
	}
	world = p->waiting[p->first];
	p->first = (p->first + 1) % WAITING_MAX;
	p->n_waiting--;
	if (sandbox < 0)
		close(world);
	else
		flows_join(p->gate->flows, sandbox, world);
}

struct publisher *publisher_new(struct gate *g, int door, const struct gate_publish *published,
				size_t n)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p || n > PUBLISHED_MAX) {
		free(p);
		return NULL;
	}
	p->gate = g;
	p->door = (struct watch){.ready = door_ready, .fd = -1};
	if (door >= 0 && loop_add(g->loop, &p->door, door, EPOLLIN) != 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct listener *l = &p->listener[i];

		l->watch.ready = listener_ready;
		l->publisher = p;
		l->port = published[i].sandbox_port;
		if (loop_add(g->loop, &l->watch, published[i].listener, EPOLLIN) != 0)
			return NULL;
	}
	p->n_listeners = n;
	return p;
}
