/* SPDX-License-Identifier: Apache-2.0 */
/* change: a change of a policy as `sandgate net` asks for it; pure. */
#ifndef SG_POLICY_CHANGE_H
#define SG_POLICY_CHANGE_H

#include "policy/permission.h"

struct policy_change {
	const char *const *allow; /* items (policy_add_item); NULL-terminated lists, or NULL */
	const char *const *deny;
	const char *const *remove; /* rules or ids to take out, as they are printed */
	const char *preset; /* a preset or base, or NULL; personal permissions stay as they were */
};

/*
 * Applies all of it or nothing: `to` is `from` with the change, resolved with `s` and validated.
 * Allowing what an own rule denied takes that rule out, and the other way round: an item that is
 * allowed is allowed afterwards, whatever was written before. A repeated item changes nothing.
 * `*changed` is whether `to` differs. On an error `to` is as policy_init() makes it.
 */
int policy_apply_change(const struct policy *from, const struct policy_change *change,
			const struct policy_sources *s, struct policy *to, bool *changed,
			struct err *e) sg_must_check;

int policy_copy(const struct policy *from, struct policy *to, struct err *e) sg_must_check;

#endif
