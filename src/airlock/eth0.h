/* SPDX-License-Identifier: Apache-2.0 */
/* eth0: the sandbox's end of a veth link, by whatever name. */
#ifndef SG_AIRLOCK_ETH0_H
#define SG_AIRLOCK_ETH0_H

#include "airlock/plan.h"

/*
 * Addresses, the gate as neighbour, and the default route by it: nothing else, so the rest of the
 * prefix goes to the gate too, which refuses it at once. Where it takes the place of another device
 * the routes of that, all of them by the gate. The device is in the caller's namespace, as is `n`.
 * 0 when it sends, or -1.
 */
int eth0_configure(struct nl *n, const struct airlock_plan *p, bool v6,
		   struct err *e) sg_must_check;

#endif
