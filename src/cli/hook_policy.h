/* SPDX-License-Identifier: Apache-2.0 */
/* hook_policy: the policy that a container's annotations ask for. */
#ifndef SG_CLI_HOOK_POLICY_H
#define SG_CLI_HOOK_POLICY_H

#include "cli/run_policy.h"
#include "sandbox/engine/oci_state.h"

/* `s` has OCI_POLICY. 0, or -1 with the message and nothing to free. */
int hook_policy_build(const struct oci_state *s, const struct sources *sources,
		      struct run_policy *out, struct err *e) sg_must_check;

#endif
