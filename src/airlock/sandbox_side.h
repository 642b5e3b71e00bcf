/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_side: the process that makes the sandbox's end of the link. */
#ifndef SG_AIRLOCK_SANDBOX_SIDE_H
#define SG_AIRLOCK_SANDBOX_SIDE_H

#include "airlock/plan.h"

/*
 * The whole life of the process, which the keeper (`parent`) has just forked: makes the sandbox's
 * user and network namespace, configures eth0 when the keeper has put it there, and ends, or stays
 * as the door. `keeper` is the socket between the two.
 */
void sandbox_side_main(const struct airlock_plan *p, int keeper, pid_t parent) sg_noreturn;

#endif
