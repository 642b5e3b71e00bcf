/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_lock: a network namespace has one gate, whoever made it. Root and a person each have a
 * registry of their own, so what keeps them apart lies with the namespace: a lock (flock) on it,
 * which the supervisor holds from before anything in the namespace is touched until its end.
 *
 * Anybody who sees the namespace may lock it, what runs inside as well; a lock from inside is no
 * gate's and keeps nobody from putting one before it.
 */
#ifndef SG_SANDBOX_NETNS_LOCK_H
#define SG_SANDBOX_NETNS_LOCK_H

#include "base/err.h"

/*
 * Takes it: what holds it, to be given to netns_lock_give(); 0 when it is held from inside, and so
 * nobody's; -1 with the message when another's gate has it.
 */
int netns_lock_take(int netns, struct err *e) sg_must_check;

/* Lets go of it, also for children that hold it as well. 0 and -1 are none. */
void netns_lock_give(int held);

#endif
