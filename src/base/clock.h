/* SPDX-License-Identifier: Apache-2.0 */
/* clock: monotonic time as a type of its own, so that it is never mixed with wall time. */
#ifndef SG_BASE_CLOCK_H
#define SG_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct {
	int64_t ns; /* CLOCK_MONOTONIC */
} mono_t;

static inline mono_t mono_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (mono_t){(int64_t)t.tv_sec * 1000000000 + t.tv_nsec};
}

static inline mono_t mono_add_ms(mono_t t, int64_t ms)
{
	return (mono_t){t.ns + ms * 1000000};
}

static inline bool mono_before(mono_t a, mono_t b)
{
	return a.ns < b.ns;
}

/* Milliseconds from a to b, rounded up; negative when b is earlier. */
static inline int64_t mono_ms_until(mono_t a, mono_t b)
{
	int64_t d = b.ns - a.ns;

	return d > 0 ? (d + 999999) / 1000000 : d / 1000000;
}

#endif
