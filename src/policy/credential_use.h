/* SPDX-License-Identifier: Apache-2.0 */
/* credential_use: what a policy's rules and its credentials say together. */
#ifndef SG_POLICY_CREDENTIAL_USE_H
#define SG_POLICY_CREDENTIAL_USE_H

#include "policy/credential.h"
#include "policy/decide.h"

/*
 * Being bound to a host does not allow it, and a credential that no request can reach is most likely
 * a rule that was forgotten. True, with the message, when there is one among those that the person
 * wrote.
 */
bool credentials_note_idle(const struct ruleset *rs, struct err *note);

/*
 * Is it bound to a request to its own server with that method and path? The path may have its query.
 * One that can be read as another path is bound to nothing that names paths, and TRACE to nothing.
 */
bool credential_is_for(const struct credential *c, struct span method, struct span path);

#endif
