/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope: what a token of a container registry is asked for (distribution, docs: "Token
 * Authentication Specification", "Token Scope Documentation", "Oauth2 Token Authentication").
 */
#ifndef SG_BROKER_SCOPE_H
#define SG_BROKER_SCOPE_H

#include "base/span.h"

enum scope_width { SCOPE_PULL, SCOPE_PUSH /* and pull, and delete */ };

/*
 * Does the request for a token, the query of a GET or the body of a POST, ask for no more? One
 * without a scope asks for a token that may do nothing. What outlives the token (`offline_token`,
 * `access_type=offline`) may be exchanged for any scope, so it is more than to pull.
 */
bool scope_is_within(struct span form, enum scope_width width);

#endif
