/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_text: what a source of a secret prints, or a token endpoint answers. Pure.
 *
 *	plain	the secret, with or without one newline behind it; of AWS KEYID:SECRET[:SESSION]
 *	JSON	{"token": ..., "expires_at": ...}, the seconds since 1970 or RFC 3339
 *		{"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}, what AWS calls credential_process
 *
 * No copy of a secret is left behind: JSON is read with an allocator that wipes what it frees, which is
 * set for all of the process.
 */
#ifndef SG_POLICY_SECRET_TEXT_H
#define SG_POLICY_SECRET_TEXT_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

struct secret_text {
	struct span value;
	struct span key_id, session; /* of AWS; empty: none */
	int64_t expires_at;	     /* seconds since 1970; 0: it does not say */
};

/* The spans are copied into `room`, which the caller wipes. 0, or -1 with a sentence piece. */
int secret_text_parse(struct span printed, bool aws, struct buf *room, struct secret_text *out,
		      struct err *e) sg_must_check;

/* An object, its keys each once; NULL: it is none. json_decref() wipes it. */
json_t *secret_json_parse(struct span text);

/* "2026-01-31T12:00:00Z", with or without a fraction or an offset (RFC 3339, 5.6). False: it is none. */
bool secret_time_parse(const char *text, int64_t *out);

#endif
