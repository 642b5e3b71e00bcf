/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sandbox/supervisor.h"

enum {
	STEP_MS = 5,
	STANDSTILL_MS = 2000, /* a far side that takes nothing */
	DRAIN_MS = 30000,
};

struct progress {
	int64_t sending, octets;
};

/* False when there is no gate to ask. */
static bool look(struct supervisor *s, struct progress *p)
{
	json_t *status = process_link_ask(&s->gate.process, json_pack("{s:s}", "op", "status"),
					  PROCESS_ANSWER_MS);

	if (!status)
		return false;
	p->sending = gate_link_number(status, "flows", "sending");
	p->octets = gate_link_number(status, NULL, "bytes_out");
	json_decref(status);
	return true;
}

/* Sleeps for a step. True when the person wants the end now: a signal that is not a child's. */
static bool is_interrupted(const struct supervisor *s)
{
	struct pollfd f = {.fd = s->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	if (poll(&f, 1, STEP_MS) != 1)
		return false;
	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGWINCH &&
		    info.ssi_signo != SIGCONT)
			return true;
	return false;
}

void supervisor_drain(struct supervisor *s)
{
	mono_t now = mono_now(), moved = now, end = mono_add_ms(now, DRAIN_MS);
	struct progress p, last = {.octets = -1};

	while (look(s, &p) && p.sending > 0) {
		now = mono_now();
		if (p.octets != last.octets)
			moved = now;
		last = p;
		if (!mono_before(now, end) ||
		    !mono_before(now, mono_add_ms(moved, STANDSTILL_MS)) || is_interrupted(s))
			return;
	}
}
