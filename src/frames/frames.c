/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * Confined first, then "ready", then one loop: poll, and a turn for the carrier of this kind of
 * socket. The buffers are static, one each way, and nothing is allocated, so the memory has a bound
 * whatever either side does. The two directions share a turn, so neither keeps the other waiting.
 */
#include "frames/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confine/confine.h"
#include "frames/carrier.h"
#include "frames/framing.h"
#include "frames/tap.h"
#include "io/requests.h"

enum { KEPT_CONTROL = CONFINE_KEPT_FD, KEPT_TAP, KEPT_SOCKET };

static const struct confine_call calls[] = {
	{SCMP_SYS(poll), CONFINE_ANY, 0},
	{SCMP_SYS(ppoll), CONFINE_ANY, 0},
	{SCMP_SYS(clock_gettime), CONFINE_ANY, 0},
	{SCMP_SYS(geteuid), CONFINE_ANY, 0},
	/* tap.c; carrier.c */
	{SCMP_SYS(readv), 0, KEPT_TAP},
	{SCMP_SYS(writev), 0, KEPT_TAP},
	{SCMP_SYS(sendto), CONFINE_ANY, 0},
	/* stream.c */
	{SCMP_SYS(accept4), 0, KEPT_SOCKET},
	{SCMP_SYS(getsockopt), CONFINE_ANY, 0},
	{SCMP_SYS(recvfrom), CONFINE_ANY, 0},
	{SCMP_SYS(close), CONFINE_ANY, 0},
	/* datagram.c: it takes no descriptors, and connects nothing but the one socket */
	{SCMP_SYS(connect), 0, KEPT_SOCKET},
	{SCMP_SYS(recvmsg), 0, KEPT_SOCKET},
	{SCMP_SYS(recvmmsg), 0, KEPT_SOCKET},
	{SCMP_SYS(sendmmsg), 0, KEPT_SOCKET},
};

static int confine(struct frames_setup *s, int *control, pid_t parent, struct err *e)
{
	const int keep[] = {*control, s->tap, s->socket};
	const struct confine_files nothing = {0};

	if (confine_detach("sandgate-frames", parent, keep, sg_array_len(keep), e) < 0)
		return -1;
	*control = KEPT_CONTROL;
	s->tap = KEPT_TAP;
	s->socket = KEPT_SOCKET;
	if (confine_privileges(0, e) < 0)
		return -1;
	return confine_files(&nothing, e);
}

static int prepare(const struct carrier *c, struct err *e)
{
	const struct frames_setup *s = c->setup;
	int r = tap_prepare(s->tap);

	if (r < 0)
		return err_set(e, "cannot use the tap device: %s", strerror(-r));
	r = s->kind == FRAMES_DGRAM ? datagram_prepare(c) : 0;
	if (r < 0)
		return err_set(e, "cannot use the socket of frames: %s", strerror(-r));
	return confine_calls(calls, sg_array_len(calls), e);
}

/* The supervisor says nothing: what is there to be heard is its end. */
static void run(struct carrier *c) sg_noreturn;
static void run(struct carrier *c)
{
	bool stream = c->setup->kind == FRAMES_STREAM;

	for (;;) {
		struct pollfd f[WAITS] = {[WAIT_CONTROL] = {.fd = c->control, .events = POLLIN}};
		int wait = stream ? stream_wait(c, f) : datagram_wait(c, f);
		int n = poll(f, WAITS, wait);

		if ((n < 0 && errno != EINTR) || f[WAIT_CONTROL].revents)
			_exit(n < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
		if (n < 0)
			continue;
		if (stream)
			stream_turn(c, f);
		else
			datagram_turn(c, f);
	}
}

void frames_main(const struct frames_setup *s, int control, pid_t parent)
{
	static const char ready[] = "{\"op\":\"ready\"}";
	static struct frames_setup own;
	static struct carrier c = {.setup = &own};
	struct err e;

	own = *s;
	c.control = control;
	if (confine(&own, &c.control, parent, &e) < 0 || prepare(&c, &e) < 0) {
		requests_say_failed(c.control, &e);
		_exit(EXIT_FAILURE);
	}
	if (send(c.control, ready, sizeof(ready) - 1, MSG_NOSIGNAL) < 0)
		_exit(EXIT_FAILURE);
	run(&c);
}
