/* SPDX-License-Identifier: Apache-2.0 */
/* learn_cover: the permissions of a learned policy. Private to learn. */
#ifndef SG_POLICY_LEARN_COVER_H
#define SG_POLICY_LEARN_COVER_H

#include "policy/learn_write.h"

/* What a person has switched on themselves is theirs; else only what needs no second look. */
bool learn_may_propose(const struct learn_state *l, const struct permission *p);

/*
 * Adds permissions to p until none covers any more of the items, and marks what they cover. Each is
 * the one that opens the fewest hosts for each item that it covers.
 */
int learn_cover(struct learn_state *l, struct policy *p, struct err *e) sg_must_check;

#endif
