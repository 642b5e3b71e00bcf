/* SPDX-License-Identifier: Apache-2.0 */
/* rate: at most so many in any minute, whatever the minute begins with. */
#ifndef SG_AUDIT_RATE_H
#define SG_AUDIT_RATE_H

#include "base/clock.h"

enum { RATE_MOST = 120, RATE_MINUTE_MS = 60000 };

/* Zeroed: nothing was written yet. */
struct rate {
	unsigned n;		   /* in all */
	mono_t written[RATE_MOST]; /* the latest, round and round */
};

/*
 * When the next one may be written, of `most` in a minute, 1 to RATE_MOST; a moment that has
 * passed: now.
 */
mono_t rate_next(const struct rate *r, unsigned most);

static inline bool rate_allows(const struct rate *r, unsigned most, mono_t now)
{
	return !mono_before(now, rate_next(r, most));
}

void rate_note(struct rate *r, unsigned most, mono_t at);

#endif
