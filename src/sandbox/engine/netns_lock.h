/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_lock: a network namespace has one gate, whoever made it. Root and a person each have a
 * registry of their own, so what keeps them apart lies with the namespace: a lock (flock) on it,
 * which the supervisor holds from before anything in the namespace is touched until its end.
 *
 * Anybody who sees the namespace may lock it, what runs inside as well, and any user where it has a
 * name in the file system. So a lock counts when it is held from outside by root or by an owner of the
 * namespace, who alone can put a gate before it; another keeps nobody from that.
 */
#ifndef SG_SANDBOX_NETNS_LOCK_H
#define SG_SANDBOX_NETNS_LOCK_H

#include "base/err.h"

/*
 * Takes it: what holds it, to be given to netns_lock_give(); 0 when one holds it that does not
 * count; -1 with the message when another's gate has it.
 */
int netns_lock_take(int netns, struct err *e) sg_must_check;

/* Lets go of it, also for children that hold it as well. 0 and -1 are none. */
void netns_lock_give(int held);

#endif
