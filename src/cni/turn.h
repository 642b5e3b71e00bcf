/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn: of the ADDs of one sandbox's name one at a time, from the look whether it is there to the
 * gate. Two that both look first would both have an IPAM plugin give addresses, and the one that is
 * refused then would give back those of the other.
 *
 * A name is one octet of the file BASE/cni.lock (state_dir.h), which is never written; the kernel
 * lets go of it whatever the plugin dies of.
 */
#ifndef SG_CNI_TURN_H
#define SG_CNI_TURN_H

#include "cni/error.h"

/* CNI_OK, and what holds it until it is closed; else the code with the message, and -1. */
enum cni_code cni_turn_take(const char *name, int *held, struct err *e) sg_must_check;

#endif
