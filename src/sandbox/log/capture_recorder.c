/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * What the recorder says comes also between a request and its answer, so it is kept until the loop
 * has its turn: never more than the end of a segment and that of the capture. Of what it says and
 * counts nothing is trusted: texts are cut, numbers bounded.
 */
#include "sandbox/log/capture_recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "sandbox/gate_link.h"

json_int_t capture_recorder_number(uint64_t n)
{
	return n > GATE_NUMBER_MAX ? GATE_NUMBER_MAX : (json_int_t)n;
}

/* ---- what it says ---- */

static void keep_text(char *to, size_t size, const json_t *from)
{
	const char *text = json_string_value(from);

	snprintf(to, size, "%s", text ? text : "");
}

static void keep_said(struct capture_recorder *r, const json_t *m, bool last)
{
	struct capture_said *said = &r->said[r->n_said];

	if (r->n_said == sg_array_len(r->said))
		return;
	r->n_said++;
	said->frames = gate_link_number(m, NULL, "frames");
	said->dropped = gate_link_number(m, NULL, "dropped");
	said->octets = gate_link_number(m, NULL, "octets");
	said->last = last;
	keep_text(said->why, sizeof(said->why), json_object_get(m, "why"));
	keep_text(said->more, sizeof(said->more), json_object_get(m, "more"));
}

static void heard(void *ctx, const json_t *m)
{
	const char *op = json_string_value(json_object_get(m, "op"));
	struct capture_recorder *r = ctx;

	if (op && strcmp(op, "want") == 0)
		r->want = true;
	else if (op && strcmp(op, "closed") == 0)
		keep_said(r, m, false);
	else if (op && strcmp(op, "stopped") == 0)
		keep_said(r, m, true);
}

void capture_recorder_forget(struct capture_recorder *r)
{
	r->n_said = 0;
	r->want = false;
}

/* ---- its start ---- */

int capture_recorder_make_counters(struct capture_recorder *r, struct err *e)
{
	void *p = mmap(NULL, sizeof(*r->counters), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_set(e, "the counters of a capture: %s", err_why(errno));
	if (r->counters)
		munmap(r->counters, sizeof(*r->counters));
	r->counters = p;
	return 0;
}

int capture_recorder_make_pair(int pair[2], struct err *e)
{
	const int octets = 4 << 20;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return err_set(e, "a socket to the recorder: %s", err_why(errno));
	for (int i = 0; i < 2; i++)
		if (setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &octets, sizeof(octets)))
			(void)!setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets));
	return 0;
}

static void become(const void *setup, int control, pid_t supervisor)
{
	struct recorder_setup own = *(const struct recorder_setup *)setup;

	own.control = control;
	own.supervisor = supervisor;
	_exit(recorder_main(&own));
}

int capture_recorder_start(struct capture_recorder *r, struct recorder_setup *setup, struct err *e)
{
	json_t *ready;

	setup->control = -1;
	setup->keys = -1;
	setup->counters = r->counters;
	r->process.heard = heard;
	r->process.ctx = r;
	if (process_link_fork(&r->process, become, setup, e))
		return -1;
	ready = process_link_await_ready(&r->process, e);
	json_decref(ready);
	return ready ? 0 : -1;
}

/* ---- its end ---- */

bool capture_recorder_has_ended(const struct capture_recorder *r)
{
	struct pollfd f = {.fd = r->process.pidfd, .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

/* What it wrote last is whole blocks; what it counted is all that is known of them. */
void capture_recorder_bury(struct capture_recorder *r, struct capture_said *said, struct err *how)
{
	*said = (struct capture_said){.last = true,
				      .frames = capture_recorder_number(r->counters->frames),
				      .dropped = capture_recorder_number(r->counters->dropped)};
	process_link_bury(&r->process, how);
}

void capture_recorder_free(struct capture_recorder *r)
{
	if (r->process.pid > 0)
		process_link_leave(&r->process);
	if (r->counters)
		munmap(r->counters, sizeof(*r->counters));
	*r = CAPTURE_RECORDER_NONE;
}
