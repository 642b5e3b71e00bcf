/* SPDX-License-Identifier: Apache-2.0 */
/* gate_side: what a gate gets of the airlock: tun0, the listeners, and a guest's sockets. */
#ifndef SG_AIRLOCK_GATE_SIDE_H
#define SG_AIRLOCK_GATE_SIDE_H

#include "airlock/airlock_message.h"
#include "airlock/plan.h"

/*
 * Makes them, and the routes that lead to tun0, into the slots of m; `device` is the path of the
 * kernel's clone device. 0, or -1 with the message, when slots may have been filled.
 */
int gate_side_make(struct nl *n, const struct airlock_plan *p, const char *device,
		   struct airlock_message *m, struct err *e) sg_must_check;

#endif
