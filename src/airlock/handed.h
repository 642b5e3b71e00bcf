/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handed: the link whose end an engine moves into the sandbox's namespace later (AIRLOCK_HANDED).
 *
 * A namespace that ever heard of a device whose other end is in another one knows that one by a number
 * for as long as both live, and rtnetlink makes devices there by it, for root of whoever knows the
 * first (sandbox/engine/netns_number.h): the container knows its airlock, so the airlock must not know the
 * namespace in which the end is left, the host's.
 */
#ifndef SG_AIRLOCK_HANDED_H
#define SG_AIRLOCK_HANDED_H

#include "airlock/netlink.h"
#include "airlock/plan.h"
#include "base/err.h"

struct handed {
	uint32_t index;
	struct nl here; /* in the namespace in between */
	struct nl far;	/* in the airlock */
};

/*
 * Makes the pair, down; this process is in a namespace in between, or in the airlock, afterwards.
 * `airlock` stays the caller's. 0 or -1.
 */
int handed_make(struct handed *h, const struct airlock_plan *p, int airlock,
		struct err *e) sg_must_check;

/* When link0 is being set up: leaves the other end in `netns`, down. 0 or -1. */
int handed_leave(struct handed *h, const struct airlock_plan *p, int netns,
		 struct err *e) sg_must_check;

#endif
