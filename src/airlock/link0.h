/* SPDX-License-Identifier: Apache-2.0 */
/* link0: the airlock's end of the link: its addresses, and the routes and rules by which packets go. */
#ifndef SG_AIRLOCK_LINK0_H
#define SG_AIRLOCK_LINK0_H

#include "airlock/plan.h"

/* Queues it all, and sets the device up. */
void link0_configure(struct nl *n, const struct airlock_plan *p);

#endif
