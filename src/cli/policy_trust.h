/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_trust: a file that --policy names counts as it was before a sandbox could write it.
 *
 * A person names it again and again, and an agent may have changed it meanwhile: one in a folder
 * where a sandbox ran, or that one had by --rw, counts when its octets are those that were used
 * before, or when they are confirmed. The first time in a folder that no sandbox had they are taken
 * as they are. They are kept by the path that was written (trust.h), so that a link in its place is
 * another text under the same name.
 */
#ifndef SG_CLI_POLICY_TRUST_H
#define SG_CLI_POLICY_TRUST_H

#include "cli/run_policy.h"
#include "sandbox/settings/trust.h"

struct policy_trust {
	char path[PATH_MAX]; /* of the file as it was named, absolute; empty: there is nothing to
				know */
	struct digest digest;
	bool known;    /* recorded with these octets */
	bool differs;  /* recorded with others */
	char *written; /* what it asks for, as YAML, while nobody knows it */
};

/*
 * Looks at `file` ("-": nothing to know), whose text was read as `policy`. `cwd` may be NULL. 0 or
 * the exit status with the message; to be freed in both cases.
 */
int policy_trust_look(struct policy_trust *p, const char *cwd, const char *file,
		      const struct digest *octets, const struct policy *policy,
		      const struct trust *trust, struct err *e) sg_must_check;

/* Asks, if need be. 0 or the exit status with the message. */
int policy_trust_confirm(const struct policy_trust *p, const struct policy_words *w,
			 struct err *e) sg_must_check;

/*
 * When the folders of this run are recorded, before the command starts: a sandbox may write the
 * file from now on. 0 or -1 with the message.
 */
int policy_trust_record(const struct policy_trust *p, struct err *e) sg_must_check;

void policy_trust_free(struct policy_trust *p);

#endif
