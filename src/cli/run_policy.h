/* SPDX-License-Identifier: Apache-2.0 */
/* run_policy: the policy that the options of `sandgate run` amount to. */
#ifndef SG_CLI_RUN_POLICY_H
#define SG_CLI_RUN_POLICY_H

#include "cli/args.h"
#include "policy/policy.h"

/*
 * From --policy, --net, --allow, --deny, --only, --publish and --host-port: validated. Without any
 * of them the base is `deny`. The options add to the file. p is initialised here, and free of
 * memory after a failure. 0 or -1 with the message.
 */
int run_policy_build(const struct args *a, struct policy *p, struct err *e) sg_must_check;

#endif
