/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_request: what a client asks of a proxy in HTTP/1.x: CONNECT (RFC 9110, 9.3.6), or a request
 * in absolute form (RFC 9112, 3.2.2). Pure; as strict as http/head.h.
 */
#ifndef SG_GATE_PROXY_REQUEST_H
#define SG_GATE_PROXY_REQUEST_H

#include "http/head.h"

struct proxy_request {
	struct http_section place; /* zeroed before the first octet */
	uint32_t octets;	   /* of the whole head */
	struct http_authority to;  /* its port is never 0 */
	struct http_request head;  /* of a request in absolute form; its spans are of `seen` */
	uint16_t status;	   /* of the answer to what is refused */
	const char *why;	   /* the same as a sentence piece, static */
};

enum proxy_asks {
	PROXY_ASKS_MORE,     /* the head is not whole */
	PROXY_ASKS_TUNNEL,   /* CONNECT: what follows the head belongs to the tunnel */
	PROXY_ASKS_ABSOLUTE, /* plain HTTP to `to` */
	PROXY_ASKS_WRONG,    /* `status` and `why` */
};

/* `seen` is all that came, from the first octet on, at every call. */
enum proxy_asks proxy_request_read(struct proxy_request *r, struct span seen);

#endif
