/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn: of the ADDs and DELs of one sandbox's name one at a time. Two ADDs that both look first
 * whether it is there would both have an IPAM plugin give addresses, and the one that is refused then
 * would give back those of the other. And a runtime may kill an ADD that takes long, and call DEL:
 * the supervisor that was started, which goes on for a moment, holds the turn as well, so that DEL
 * does not look before it is there, or has ended.
 *
 * A name is one octet of the file BASE/cni.lock (state_dir.h), which is never written; the kernel
 * lets go of it when all who have its descriptor are dead, whatever of.
 */
#ifndef SG_CNI_TURN_H
#define SG_CNI_TURN_H

#include "cni/error.h"

/*
 * Takes it when it is free within `ms`. CNI_OK, and what holds it; else the code with the message,
 * and -1: CNI_TRY_AGAIN when another has it.
 */
enum cni_code cni_turn_take(const char *name, int ms, int *held, struct err *e) sg_must_check;

/* Lets go of it, also for those who hold it as well. */
void cni_turn_give(int held);

#endif
