/* SPDX-License-Identifier: Apache-2.0 */
/* summary: what `sandgate run` says at the start and at the end; pure text. */
#ifndef SG_SANDBOX_SUMMARY_H
#define SG_SANDBOX_SUMMARY_H

#include <jansson.h>

#include "policy/permission.h"
#include "policy/suggest.h"
#include "sandbox/run.h"

/*
 * The network in one line, without "sandgate: " and the newline; the caller frees. NULL without
 * memory. `p` is resolved with `sources`. Of many things the first ones are named, then how many
 * more there are.
 */
char *summary_first_line(const struct policy *p, const struct policy_sources *sources);

/*
 * The policy as `egress` shows it, in the person's own words: "allow: a.example, github; deny:
 * c.example (standard)", "any". The caller frees.
 */
char *summary_policy(const struct policy *p);

/*
 * Several lines that end in newlines: what was refused, exactly counted, with the command that
 * allows what can be allowed (`sandgate net allow` for one that has a name and stays, else the
 * command line of `o` again); and how many lookups the host's resolver left unanswered. NULL when
 * there is nothing to say (or without memory). `status` is the gate's answer, NULL where there is
 * none; `others` are refusals that stand in no group any more.
 */
struct summary_end {
	const struct suggestions *refused;
	uint64_t others;
	const json_t *status;
	const struct run_options *o;
	const char *lasting; /* the name of a sandbox that stays; NULL: it is gone with this end */
};
char *summary_closing(const struct summary_end *end);

#endif
