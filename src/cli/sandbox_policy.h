/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_policy: the policy of a sandbox that a person named, whether it runs or is only kept. */
#ifndef SG_CLI_SANDBOX_POLICY_H
#define SG_CLI_SANDBOX_POLICY_H

#include <jansson.h>

#include "policy/permission.h"
#include "sandbox/control/change_request.h"
#include "sandbox/settings/sources.h"

struct sandbox_policy {
	bool runs;
	struct policy policy; /* in force, or as the next start will have it; resolved */
	uint64_t generation;
	struct sources sources;
	char *agent; /* or NULL */
	char **languages;
};

/* 0, or -1 with the message, which has the nearest known name; then there is nothing to free. */
int sandbox_policy_read(const char *name, struct sandbox_policy *out, struct err *e) sg_must_check;
void sandbox_policy_free(struct sandbox_policy *p);

/* What it was resolved with. */
struct policy_sources sandbox_policy_sources(const struct sandbox_policy *p);

/*
 * Makes a change, by the supervisor of one that runs or in the definition of one that does not. The
 * answer of docs/protocol.md, "change"; NULL with the message and the exit status, and then nothing
 * has changed.
 */
json_t *sandbox_policy_change(const char *name, const struct change_request *r, int *status,
			      struct err *e);

#endif
