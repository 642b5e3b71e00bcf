/* SPDX-License-Identifier: Apache-2.0 */
/* restarts: a process that dies more often than so many times in so long is not to be replaced. */
#ifndef SG_SANDBOX_RESTARTS_H
#define SG_SANDBOX_RESTARTS_H

#include <stdbool.h>

#include "base/clock.h"

enum { RESTARTS_MAX = 10, RESTARTS_MS = 60000 };

/* Zeroed: there was none. */
struct restarts {
	mono_t at[RESTARTS_MAX]; /* the latest ones, round and round */
	unsigned n;
};

/* True while they are few; counts this one. */
static inline bool restarts_allow(struct restarts *r, mono_t now)
{
	mono_t *slot = &r->at[r->n % RESTARTS_MAX];
	bool many = r->n >= RESTARTS_MAX && mono_before(now, mono_add_ms(*slot, RESTARTS_MS));

	*slot = now;
	r->n++;
	return !many;
}

#endif
