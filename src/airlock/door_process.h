/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door_process: what a helper of the keeper becomes when it has done its part: the door, or nothing.
 */
#ifndef SG_AIRLOCK_DOOR_PROCESS_H
#define SG_AIRLOCK_DOOR_PROCESS_H

#include "airlock/airlock_message.h"
#include "airlock/plan.h"

/*
 * The end of a helper's set-up in the network namespace from which the sandbox is reached: tells the
 * keeper MESSAGE_SIDE_READY, or MESSAGE_FAILED with what m says when its kind is that already, and
 * then serves as the door when the plan has one.
 */
void door_process_finish(const struct airlock_plan *p, int keeper,
			 struct airlock_message *m) sg_noreturn;

#endif
