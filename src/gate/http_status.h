/* SPDX-License-Identifier: Apache-2.0 */
/* http_status: the status of the first answer on an HTTP/1.x connection (RFC 9112, 4). */
#ifndef SG_GATE_HTTP_STATUS_H
#define SG_GATE_HTTP_STATUS_H

#include <stdint.h>

#include "base/span.h"

enum http_status_state { HTTP_STATUS_MORE, HTTP_STATUS_KNOWN, HTTP_STATUS_NOT_HTTP };

/* Zeroed before the first call. */
struct http_status {
	uint8_t at;	  /* octets of the status line that were matched */
	uint8_t newlines; /* with nothing but CR between them: two end a head */
	uint16_t code;
	uint32_t octets; /* of the whole search */
};

/*
 * Reads the server's octets as they come; they may be sent on at once. Answers with 1xx other than
 * 101 are passed over (RFC 9110, 15.2). `*status` is filled at HTTP_STATUS_KNOWN.
 */
enum http_status_state http_status_feed(struct http_status *s, struct span in, unsigned *status);

#endif
