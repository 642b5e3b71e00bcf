/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * gate_main() has the parts made (parts.c), with the isolation around it:
 * stage 1 first, then everything that reads a file or fetches an algorithm, then stage 2, then
 * "ready" to the supervisor, and only then the first packet is read. A failure before that ends
 * the process with a message and the sandbox is never started.
 *
 * After the start nothing is allocated per packet; the bound of the gate's memory is
 * docs/memory.md.
 */
#include "gate/gate.h"

#include <signal.h>
#include <stdlib.h>

#include "gate/context.h"
#include "gate/control.h"
#include "gate/isolate.h"
#include "gate/parts.h"

enum { KEPT_MAX = 128, KEPT_OWN = 12 };

enum { EXIT_GATE_FAILED = 1 };

static int begin(struct gate *g, const struct gate_setup *s, struct err *e)
{
	int keep[KEPT_MAX];
	size_t n = 0;

	if (s->n_publish > KEPT_MAX - KEPT_OWN)
		return err_set(e, "cannot publish more than %d ports", KEPT_MAX - KEPT_OWN);
	keep[n++] = s->tun;
	keep[n++] = s->listen_v4;
	keep[n++] = s->listen_v6;
	keep[n++] = s->door;
	keep[n++] = s->dhcp;
	keep[n++] = s->router;
	keep[n++] = s->control;
	keep[n++] = s->wake;
	keep[n++] = s->verdicts;
	for (size_t i = 0; i < s->n_publish; i++)
		keep[n++] = s->publish[i].listener;
	if (isolate_early(keep, n, e) != 0)
		return -1;
	if (parts_make(g, s, e) != 0)
		return -1;
	return isolate_fully(e);
}

int gate_main(const struct gate_setup *s)
{
	static struct gate gate;
	struct err e;
	int r;

	signal(SIGPIPE, SIG_IGN);
	if (begin(&gate, s, &e) != 0) {
		requests_say_failed(s->control, &e);
		return EXIT_GATE_FAILED;
	}
	if (!requests_say(gate.control, json_pack("{s:s}", "op", "ready")))
		return EXIT_GATE_FAILED;
	r = loop_run(gate.loop);
	return r == 0 ? EXIT_SUCCESS : EXIT_GATE_FAILED;
}
