/* SPDX-License-Identifier: Apache-2.0 */
/* credential_use: what a policy's rules and its credentials say together. */
#ifndef SG_POLICY_CREDENTIAL_USE_H
#define SG_POLICY_CREDENTIAL_USE_H

#include "policy/credential.h"
#include "policy/decide.h"

/* Being bound to a host does not allow it. The first credential whose host no rule admits, or NULL.
 */
const struct credential *credential_find_idle(const struct ruleset *rs);

/*
 * Refuses to start with a policy that has credentials: without the broker its commands would go out
 * without them. 0 when it has none, else -1 with the message.
 */
int credentials_refuse_start(const struct ruleset *rs, struct err *e) sg_must_check;

#endif
