/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door0: the device that was the sandbox's before, in the airlock. What is opened from outside comes
 * in by it, and what answers goes out by it; rules.c says what that is.
 */
#ifndef SG_AIRLOCK_DOOR0_H
#define SG_AIRLOCK_DOOR0_H

#include "airlock/plan.h"

/*
 * Gives it the sandbox's addresses and routes, link0 the sandbox's further addresses, and sets it
 * up. To be called when the rules are in force. `n` is a queue in the airlock; *index gets that of the
 * device. 0, or -1 with the message.
 */
int door0_configure(struct nl *n, const struct airlock_plan *p, uint32_t *index,
		    struct err *e) sg_must_check;

#endif
