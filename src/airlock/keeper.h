/* SPDX-License-Identifier: Apache-2.0 */
/* keeper: the process inside the airlock. */
#ifndef SG_AIRLOCK_KEEPER_H
#define SG_AIRLOCK_KEEPER_H

#include "airlock/airlock.h"

/*
 * The whole life of the keeper, in a process that `parent` has just forked: sends MESSAGE_READY
 * or MESSAGE_FAILED over `control`, then serves until the other end is closed.
 */
void keeper_main(const struct airlock_config *c, int control, pid_t parent) sg_noreturn;

#endif
