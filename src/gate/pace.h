/* SPDX-License-Identifier: Apache-2.0 */
/* pace: how often something may be done: so many at once, and then so many a second. */
#ifndef SG_GATE_PACE_H
#define SG_GATE_PACE_H

#include <stdbool.h>

#include "base/clock.h"

struct pace {
	unsigned at_once, per_s; /* 1 at least */
	mono_t next; /* when the next would be due if they were evenly spaced; may run ahead */
};

static inline int64_t pace_apart_ns(const struct pace *p)
{
	return 1000000000 / p->per_s;
}

/* Takes one if it may be done now. */
static inline bool pace_take(struct pace *p, mono_t now)
{
	if (mono_before(p->next, now))
		p->next = now;
	if (p->next.ns - now.ns > (p->at_once - 1) * pace_apart_ns(p))
		return false;
	p->next.ns += pace_apart_ns(p);
	return true;
}

/* The last one that was taken was not done. */
static inline void pace_give_back(struct pace *p)
{
	p->next.ns -= pace_apart_ns(p);
}

/* When the next one may be done, if it may not be now. */
static inline mono_t pace_due(const struct pace *p)
{
	return (mono_t){p->next.ns - (p->at_once - 1) * pace_apart_ns(p)};
}

#endif
