/* SPDX-License-Identifier: Apache-2.0 */
/* placer: the process that puts the link into a network namespace that is there already. */
#ifndef SG_AIRLOCK_PLACER_H
#define SG_AIRLOCK_PLACER_H

#include "airlock/plan.h"

/*
 * The whole life of the process, which the keeper (`parent`) has forked before it entered the user
 * namespace of the airlock: it alone is privileged over both. Takes the other ways out of the
 * namespace away, makes the link when the keeper has sent the airlock's namespace, configures its
 * end, verifies, and ends, or stays as the door without any privilege. `keeper` is the socket
 * between the two.
 */
void placer_main(const struct airlock_plan *p, int netns, int keeper, pid_t parent) sg_noreturn;

#endif
