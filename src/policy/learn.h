/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn: the smallest policy that would have admitted what a sandbox was seen to try; pure.
 *
 * Its base is `deny`. A permission stands where one covers what was seen, else the exact host and
 * port. Whether a host is to be trusted is a person's to say, so nothing is added by itself that a
 * person has to look at: no wildcard, no private or special address, no permission that writes,
 * uses a credential or asks. Such a thing stays where the policy in force has it already; else it
 * is left out, with the reason.
 */
#ifndef SG_POLICY_LEARN_H
#define SG_POLICY_LEARN_H

#include "policy/permission.h"
#include "policy/seen.h"

struct left_out {
	struct seen what;
	char *why; /* a sentence, owned */
};

/* So many exact names below one domain that a person may prefer a wildcard. */
struct learn_hint {
	char *domain; /* owned; not shared with strangers (policy/suffix.h) */
	size_t names;
};

enum { LEARN_HINT_NAMES = 4 };

struct learned {
	struct policy policy; /* valid, not resolved; canonical order */
	struct left_out *left;
	size_t n_left;
	struct learn_hint *hints;
	size_t n_hints;
};

/*
 * `in_force` is the person's policy now: its settings and denials are kept, its rules and
 * permissions as far as something seen needs them. `sources` as for policy_resolve(). Things that
 * repeat are taken once. 0 or -1 with the message; then `out` is empty.
 */
int learn_policy(const struct policy *in_force, const struct policy_sources *sources,
		 const struct seen *seen, size_t n, struct learned *out,
		 struct err *e) sg_must_check;
void learned_free(struct learned *l);

#endif
