/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placeholder: what stands in the sandbox in the place of a secret, so that clients start. It is no
 * secret, but on its way to where it does not belong it tells that a secret would have gone there.
 */
#ifndef SG_BROKER_PLACEHOLDER_H
#define SG_BROKER_PLACEHOLDER_H

#include "base/span.h"
#include "policy/credential.h"

#define PLACEHOLDER_PREFIX "sandgate-placeholder-"
enum {
	PLACEHOLDER_SEED = 32, /* random octets, made once for a sandbox */
	PLACEHOLDER_DIGEST = 16,
	PLACEHOLDER_N = sizeof(PLACEHOLDER_PREFIX) - 1 + 2 * PLACEHOLDER_DIGEST
};

/*
 * That of a credential, NUL-terminated: the same for the same seed, server, place in the request
 * and variable, in whichever process and whatever else the policy has, so that what a client kept
 * stays right when a broker is replaced.
 */
void placeholder_make(const uint8_t seed[PLACEHOLDER_SEED], const struct credential *c,
		      char out[PLACEHOLDER_N + 1]);

/* One of any sandbox, in any of the shapes of shapes.h, percent-encoded up to three times. */
bool placeholder_is_in(struct span text);

/*
 * Nothing but a placeholder: alone, behind the name of a scheme ("Bearer "), or as the user or the
 * password of Basic, with nothing or a name on the other side of the colon.
 */
bool placeholder_is_all(struct span value);

#endif
