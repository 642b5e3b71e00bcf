/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side: it starts the keeper, keeps its descriptors, and asks it for more.
 * One request is under way at a time; the keeper answers each with one message.
 */
#include "airlock/airlock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "airlock/keeper.h"
#include "airlock/airlock_message.h"

enum { OPEN_TIMEOUT_MS = 10000, REQUEST_TIMEOUT_MS = 5000, LEAVE_TIMEOUT_MS = 2000 };

static const struct airlock closed = AIRLOCK_NONE;

static int start_keeper(const struct airlock_config *c, struct airlock *a, struct err *e)
{
	pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "cannot make a socket pair: %s", err_why(errno));
	a->control = pair[0];
	a->keeper = fork();
	if (a->keeper == 0)
		keeper_main(c, pair[1], self);
	close(pair[1]);
	if (a->keeper < 0)
		return err_set(e, "cannot fork: %s", err_why(errno));
	a->keeper_pidfd = (int)syscall(SYS_pidfd_open, a->keeper, 0);
	if (a->keeper_pidfd < 0)
		return err_set(e, "cannot open a pidfd: %s", err_why(errno));
	return 0;
}

/* The keeper's next message, which must be of this kind. */
static int await(struct airlock *a, enum airlock_message_kind kind, int timeout_ms,
		 struct airlock_message *m, struct err *e)
{
	int error = airlock_message_receive(a->control, m, timeout_ms);

	if (error == -EPIPE)
		return err_set(e, "the keeper of the airlock has ended unexpectedly");
	if (error < 0)
		return err_set(e, "the keeper of the airlock gave no answer: %s", strerror(-error));
	if (m->kind == (uint32_t)kind)
		return 0;
	airlock_message_close_fds(m);
	if (m->kind == MESSAGE_FAILED)
		*e = m->err;
	else
		err_set(e, "the keeper of the airlock gave an answer to another request");
	return -1;
}

static struct airlock_gate_fds gate_fds(const struct airlock_message *m)
{
	return (struct airlock_gate_fds){
		.tun = m->fds[SLOT_TUN],
		.listen_v4 = m->fds[SLOT_LISTEN_V4],
		.listen_v6 = m->fds[SLOT_LISTEN_V6],
		.dhcp = m->fds[SLOT_DHCP],
		.router = m->fds[SLOT_ROUTER],
	};
}

static int give_up(struct airlock *a, struct err *e)
{
	airlock_close(a);
	return err_prefix(e, "airlock");
}

int airlock_begin(const struct airlock_config *c, struct airlock *out, struct err *e)
{
	*out = closed;
	out->link = c->link;
	return start_keeper(c, out, e) < 0 ? give_up(out, e) : 0;
}

int airlock_await_namespaces(struct airlock *a, struct err *e)
{
	struct airlock_message m;

	if (a->link != AIRLOCK_OWN)
		return 0;
	if (await(a, MESSAGE_NAMESPACES, OPEN_TIMEOUT_MS, &m, e) < 0)
		return give_up(a, e);
	a->sandbox_userns = m.fds[SLOT_USERNS];
	a->sandbox_netns = m.fds[SLOT_NETNS];
	return 0;
}

int airlock_await_ready(struct airlock *a, struct err *e)
{
	struct airlock_message m;

	if (await(a, MESSAGE_READY, OPEN_TIMEOUT_MS, &m, e) < 0)
		return give_up(a, e);
	a->door = m.fds[SLOT_DOOR];
	a->tap = m.fds[SLOT_TAP];
	a->capture = m.fds[SLOT_CAPTURE];
	a->gate = gate_fds(&m);
	return 0;
}

int airlock_open(const struct airlock_config *c, struct airlock *out, struct err *e)
{
	if (airlock_begin(c, out, e) < 0 || airlock_await_namespaces(out, e) < 0)
		return -1;
	return airlock_await_ready(out, e);
}

static int request(struct airlock *a, enum airlock_message_kind kind,
		   enum airlock_message_kind answer, struct airlock_message *m, struct err *e)
{
	int error;

	airlock_message_init(m, kind);
	error = airlock_message_send(a->control, m);
	if (error < 0)
		return err_set(e, "the keeper of the airlock is gone: %s", strerror(-error));
	return await(a, answer, REQUEST_TIMEOUT_MS, m, e);
}

int airlock_renew(struct airlock *a, struct airlock_gate_fds *out, struct err *e)
{
	struct airlock_message m;

	/* A listener that this process still holds would keep its port. */
	airlock_close_gate_fds(&a->gate);
	*out = closed.gate;
	if (request(a, MESSAGE_RENEW, MESSAGE_RENEWED, &m, e) < 0)
		return err_prefix(e, "airlock");
	*out = gate_fds(&m);
	return 0;
}

int airlock_open_capture(struct airlock *a, struct err *e)
{
	struct airlock_message m;

	if (request(a, MESSAGE_CAPTURE, MESSAGE_CAPTURED, &m, e) < 0)
		return err_prefix(e, "airlock");
	return m.fds[SLOT_CAPTURE];
}

int airlock_read_counters(struct airlock *a, struct airlock_counters *out)
{
	struct airlock_message m;
	struct err e;

	if (request(a, MESSAGE_COUNT, MESSAGE_COUNTERS, &m, &e) < 0)
		return -EIO;
	*out = m.counters;
	return 0;
}

static void close_one(int *fd)
{
	sg_cleanup_fd(fd);
	*fd = -1;
}

void airlock_close_gate_fds(struct airlock_gate_fds *f)
{
	close_one(&f->tun);
	close_one(&f->listen_v4);
	close_one(&f->listen_v6);
	close_one(&f->dhcp);
	close_one(&f->router);
}

/* The keeper takes the link out of the namespace, if it is there to. */
static void await_leave(const struct airlock *a)
{
	struct pollfd p = {.fd = a->keeper_pidfd, .events = POLLIN};

	while (poll(&p, 1, LEAVE_TIMEOUT_MS) < 0 && errno == EINTR)
		;
}

void airlock_close(struct airlock *a)
{
	/* Whoever has a copy of it, for slow closes: that is the end of it. */
	if (a->control >= 0)
		shutdown(a->control, SHUT_RDWR);
	close_one(&a->control);
	if ((a->link == AIRLOCK_NETNS || a->link == AIRLOCK_HANDED) && a->keeper_pidfd >= 0)
		await_leave(a);
	airlock_close_gate_fds(&a->gate);
	close_one(&a->door);
	close_one(&a->tap);
	close_one(&a->capture);
	close_one(&a->sandbox_userns);
	close_one(&a->sandbox_netns);
	if (a->keeper > 0) {
		/* This process's child, and not waited for: the number cannot be another's. */
		kill(a->keeper, SIGKILL);
		while (waitpid(a->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_one(&a->keeper_pidfd);
	*a = closed;
}
