/* SPDX-License-Identifier: Apache-2.0 */
/* userns: a user namespace that knows one user and one group. */
#ifndef SG_AIRLOCK_USERNS_H
#define SG_AIRLOCK_USERNS_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Moves the caller into a new user namespace, in which its effective user and group are `uid` and
 * `gid` and no other exists, with all capabilities over it. 0 or -1.
 */
int userns_enter(uid_t uid, gid_t gid, struct err *e) sg_must_check;

/*
 * Sees to it that the caller, which has one thread, is privileged over this network namespace: one
 * that is not enters the user namespace that owns it, which the kernel lets it when it has made it
 * (user_namespaces(7)). 0, or -1 with whose the namespace is.
 */
int userns_enter_owner(int netns, struct err *e) sg_must_check;

/* Moves the caller into a new network namespace, owned by its user namespace. 0 or -1. */
int userns_enter_netns(struct err *e) sg_must_check;

#endif
