/* SPDX-License-Identifier: Apache-2.0 */
/* template: the text around a secret, "Bearer ${secret}". Pure. */
#ifndef SG_POLICY_TEMPLATE_H
#define SG_POLICY_TEMPLATE_H

#include "base/err.h"
#include "base/span.h"

enum { TEMPLATE_MAX_OCTETS = 256 };

/* Borrowed from the text that it was read from. */
struct template
{
	struct span before, after;
	bool colon; /* behind `before`, which is the user of Basic */
};

/* Visible ASCII and inner spaces, `${secret}` in it once. 0, or -1 with a sentence piece. */
int template_parse(const char *text, struct template *out, struct err *e) sg_must_check;

/*
 * The same for `user:password` of Basic (RFC 7617). Without `${secret}` the text is the user, and
 * the secret is the password.
 */
int template_parse_basic(const char *text, struct template *out, struct err *e) sg_must_check;

#endif
