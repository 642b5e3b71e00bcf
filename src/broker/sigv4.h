/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4: AWS Signature Version 4, as "Create a signed AWS API request" of AWS's IAM User Guide has
 * it, and for S3 "Authenticating Requests: Using the Authorization Header" of the Amazon S3 API
 * Reference.
 *
 * The client has signed with keys that are none; the request is signed again with the real ones.
 * What it says of its body is kept: `x-amz-content-sha256`, when it sends one, is part of what is
 * signed.
 */
#ifndef SG_BROKER_SIGV4_H
#define SG_BROKER_SIGV4_H

#include "base/buf.h"
#include "broker/message.h"

enum { SIGV4_HASH_TEXT = 64, SIGV4_DATE_N = 16 };

struct sigv4_key {
	struct span id, secret, session; /* session empty: none */
	const char *region, *service;
	int64_t now; /* seconds since 1970 */
};

enum sigv4_payload {
	SIGV4_PAYLOAD_KNOWN,	  /* the request says its hash, or has no body, or need not */
	SIGV4_PAYLOAD_WANTED,	  /* the body has to be hashed */
	SIGV4_PAYLOAD_UNSIGNABLE, /* each chunk of it is signed by itself, with the keys that are
				     none */
};
enum sigv4_payload sigv4_payload_of(const struct message *request, const char *service);

/*
 * Signs: x-amz-date, x-amz-security-token and authorization are set anew, the last two marked
 * sensitive. Signed are host, content-type, each x-amz-*, and what the client had signed. `body`:
 * the whole body, when it is wanted. `scratch` holds what is derived; the caller wipes it. NULL, or
 * why not, a sentence piece.
 */
const char *sigv4_sign(struct message *request, const struct sigv4_key *key, struct span had_signed,
		       struct span body, struct buf *scratch);

/* What the client had signed, "host;x-amz-date"; empty: nothing. Stays when its authorization is
 * taken out. */
struct span sigv4_signed_headers(const struct message *request);

#endif
