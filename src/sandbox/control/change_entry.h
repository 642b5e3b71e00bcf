/* SPDX-License-Identifier: Apache-2.0 */
/* change_entry: what is written down, and answered, about a change of a policy. */
#ifndef SG_SANDBOX_CHANGE_ENTRY_H
#define SG_SANDBOX_CHANGE_ENTRY_H

#include <jansson.h>
#include <sys/types.h>

#include "policy/policy.h"

struct change_made {
	const char *sandbox;
	uid_t who;
	const struct policy *before, *after; /* in the person's own words */
	uint64_t generation;		     /* of `after` */
	bool changed, dry_run;
};

/* The person's own words, or of very many of them their hash; NULL without memory. */
json_t *change_entry_policy(const struct policy *p);

/* The entry "sandgate.policy.change" of the audit log. NULL without memory. */
json_t *change_entry_print(const struct change_made *c);

/*
 * The answer to whoever asked for it: `changed`, `dry_run`, `generation`, `before` and `after`
 * (policies), and `policy`, the line of `sandgate egress`. NULL without memory.
 */
json_t *change_entry_answer(const struct change_made *c);

#endif
