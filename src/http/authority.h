/* SPDX-License-Identifier: Apache-2.0 */
/* authority: a host and a port without user information (RFC 3986, 3.2; RFC 9110, 4.2.4). */
#ifndef SG_HTTP_AUTHORITY_H
#define SG_HTTP_AUTHORITY_H

#include "base/addr.h"
#include "base/name.h"
#include "base/span.h"

enum http_host { HTTP_HOST_ABSENT, HTTP_HOST_NAME, HTTP_HOST_ADDRESS };

struct http_authority {
	enum http_host kind;
	struct name name; /* HTTP_HOST_NAME, canonical */
	struct addr addr; /* HTTP_HOST_ADDRESS */
	uint16_t port;	  /* 0: none was written */
};

/* NULL, or why it is malformed: a sentence piece, static. */
const char *http_authority_parse(struct span s, struct http_authority *out);

#endif
