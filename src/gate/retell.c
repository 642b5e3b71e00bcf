/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One place after the other is told of: those of the flows, of the datagrams' flows, of the broker's
 * connections. AT_ONCE a turn of a few milliseconds, which is fewer than a socket of the usual size
 * holds, so that what the gate decides meanwhile finds room as well. A flow that was told of a
 * moment ago by its own event is told of again, with the same words.
 */
#include "gate/retell.h"

#include <stdlib.h>

#include "gate/broker_door.h"
#include "gate/datagrams.h"
#include "gate/flow.h"

enum { AT_ONCE = 128, TURN_MS = 5 };

struct retell {
	struct gate *gate;
	struct timer timer;
	uint32_t next; /* the place, counted over all of them */
};

/* False: there is no such place. */
static bool tell(struct gate *g, uint32_t place)
{
	if (place < flows_places(g->flows)) {
		flows_tell(g->flows, place);
		return true;
	}
	place -= flows_places(g->flows);
	if (place < DATAGRAM_FLOWS_MAX) {
		datagrams_tell(g->datagrams, place);
		return true;
	}
	place -= DATAGRAM_FLOWS_MAX;
	if (place >= GATE_CONNECTIONS_MAX)
		return false;
	broker_door_tell(g->broker, place);
	return true;
}

static void go_on(struct timer *t)
{
	struct retell *r = sg_container_of(t, struct retell, timer);

	for (uint32_t until = r->next + AT_ONCE; r->next < until; r->next++)
		if (!tell(r->gate, r->next))
			return;
	loop_timer_set(r->gate->loop, t, mono_add_ms(loop_now(r->gate->loop), TURN_MS));
}

struct retell *retell_new(struct gate *g)
{
	struct retell *r = calloc(1, sizeof(*r));

	if (r)
		*r = (struct retell){.gate = g, .timer = {.expired = go_on}};
	return r;
}

void retell_begin(struct retell *r)
{
	loop_timer_cancel(r->gate->loop, &r->timer);
	r->next = 0;
	go_on(&r->timer);
}
