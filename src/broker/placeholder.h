/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placeholder: what stands in the sandbox in the place of a secret, so that clients start. It is no
 * secret, but on its way to where it does not belong it tells that a secret would have gone there.
 */
#ifndef SG_BROKER_PLACEHOLDER_H
#define SG_BROKER_PLACEHOLDER_H

#include "base/err.h"
#include "base/span.h"

#define PLACEHOLDER_PREFIX "sandgate-placeholder-"
enum {
	PLACEHOLDER_RANDOM = 16,
	PLACEHOLDER_N = sizeof(PLACEHOLDER_PREFIX) - 1 + 2 * PLACEHOLDER_RANDOM
};

/* A new one, NUL-terminated. 0 or -1. */
int placeholder_make(char out[PLACEHOLDER_N + 1], struct err *e) sg_must_check;

/* One of any sandbox, in any of the shapes of shapes.h, percent-encoded up to three times. */
bool placeholder_is_in(struct span text);

/*
 * Nothing but a placeholder: alone, behind the name of a scheme ("Bearer "), or as the user or the
 * password of Basic, with nothing or a name on the other side of the colon.
 */
bool placeholder_is_all(struct span value);

#endif
