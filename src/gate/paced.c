/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/paced.h"

#include <stddef.h>

static void begin_rest(struct paced *p)
{
	loop_remove(p->loop, &p->watch);
	(void)loop_timer_set(p->loop, &p->rest, pace_due(&p->pace));
}

static void ready(struct watch *w, uint32_t events)
{
	struct paced *p = sg_container_of(w, struct paced, watch);

	while (pace_take(&p->pace, loop_now(p->loop)))
		if (!p->take(p)) {
			pace_give_back(&p->pace);
			return;
		}
	begin_rest(p);
}

static void end_rest(struct timer *t)
{
	struct paced *p = sg_container_of(t, struct paced, rest);

	/* Once more when there is no memory for it at this moment. */
	if (loop_add(p->loop, &p->watch, p->fd, EPOLLIN) != 0)
		(void)loop_timer_set(p->loop, t, mono_add_ms(loop_now(p->loop), 1000));
}

int paced_begin(struct paced *p, struct loop *l, int fd, paced_fn *take)
{
	p->take = take;
	p->loop = l;
	p->fd = fd;
	p->watch.ready = ready;
	p->rest.expired = end_rest;
	p->pace = (struct pace){.at_once = PACED_AT_ONCE, .per_s = PACED_PER_S};
	return loop_add(l, &p->watch, fd, EPOLLIN);
}
