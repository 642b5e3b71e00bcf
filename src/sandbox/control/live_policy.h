/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_policy: the policy of a sandbox that runs, and its changes while it runs.
 */
#ifndef SG_SANDBOX_LIVE_POLICY_H
#define SG_SANDBOX_LIVE_POLICY_H

#include <jansson.h>
#include <sys/socket.h>

#include "policy/decide.h"
#include "sandbox/run.h"
#include "sandbox/settings/sources.h"

struct supervisor;

struct live_policy {
	struct policy policy;	/* in force: the person's own words, and what they resolve to */
	struct ruleset *rules;	/* the same, compiled; has the generation */
	struct sources sources; /* read at the start, and anew for each change */
	bool has_sources;
};

/*
 * Takes over the policy of the options, compiled at their generation. 0, or -1 with the message;
 * live_policy_free() in both cases.
 */
int live_policy_begin(struct live_policy *l, const struct run_options *o,
		      struct err *e) sg_must_check;
void live_policy_free(struct live_policy *l);

/* What it is resolved with, by the sources of the last change; borrows from both. */
struct policy_sources live_policy_sources(const struct live_policy *l, const struct run_options *o);

/*
 * The answer to {"op":"change", ...}. When it says that the policy has changed, the change is in
 * force: the gate decides by it, the next start will, and it is written down. When it has `error`,
 * nothing has changed anywhere.
 */
json_t *live_policy_change(struct supervisor *s, const json_t *request, const struct ucred *who);

#endif
