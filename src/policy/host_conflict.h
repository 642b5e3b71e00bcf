/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_conflict: what `inspect`, `splice`, credentials and rules about requests say together, and
 * could not be held as it is written.
 */
#ifndef SG_POLICY_HOST_CONFLICT_H
#define SG_POLICY_HOST_CONFLICT_H

#include "policy/policy.h"

/* Which entry a message is about; `index` in the list it names. */
struct host_conflict {
	enum { CONFLICT_IN_RULES, CONFLICT_IN_INSPECT, CONFLICT_IN_SPLICE } list;
	size_t index;
};

/* 0, or -1 with the message and where it belongs. Of a resolved policy what was added counts. */
int host_conflict_find(const struct policy *p, struct host_conflict *at,
		       struct err *e) sg_must_check;

#endif
