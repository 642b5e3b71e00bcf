/* SPDX-License-Identifier: Apache-2.0 */
/* summary: what `sandgate run` says at the start and at the end; pure text. */
#ifndef SG_SANDBOX_SUMMARY_H
#define SG_SANDBOX_SUMMARY_H

#include <jansson.h>

#include "policy/policy.h"
#include "sandbox/run.h"

/*
 * The network in one line, without "sandgate: " and the newline; the caller frees. NULL
 * without memory. Of many rules the first ones are named, then how many more there are.
 */
char *summary_first_line(const struct policy *p);

/*
 * The policy as `egress` shows it: "allow: a.example, b.example; deny: c.example (deny)", "any". The
 * caller frees.
 */
char *summary_policy(const struct policy *p);

/*
 * Several lines that end in newlines: what was refused, exactly counted, and the command line of
 * `o` again with what would allow what can be allowed; and how many lookups the host's resolver
 * left unanswered. NULL when there is nothing to say (or without memory). The first two are the
 * gate's answers of those names, NULL where there is none; what is in them comes from the process
 * that reads the sandbox's octets, so that nothing of it reaches a terminal but printable ASCII.
 */
char *summary_closing(const json_t *refusals, const json_t *status, const struct run_options *o);

#endif
