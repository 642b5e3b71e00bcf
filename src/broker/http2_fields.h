/* SPDX-License-Identifier: Apache-2.0 */
/* http2_fields: a message as the list of fields that HPACK packs. Pure; it borrows from the
 * message. */
#ifndef SG_BROKER_HTTP2_FIELDS_H
#define SG_BROKER_HTTP2_FIELDS_H

#include <nghttp2/nghttp2.h>

#include "broker/message.h"

enum { HTTP2_FIELDS_OWN = 8 /* pseudo-header fields, content-length, expect */ };

struct http2_fields {
	nghttp2_nv nv[MESSAGE_FIELDS_MAX + HTTP2_FIELDS_OWN];
	size_t n;
	char number[2][24]; /* of status and length */
};

/* Fields that are `sensitive` are never put into a table (RFC 7541, 7.1.3). */
void http2_fields_of_request(const struct message *m, struct http2_fields *out);
/* `granted`: of the WebSocket that was asked for; then 101 is 200 (RFC 8441, 5). */
void http2_fields_of_answer(const struct message *m, bool granted, struct http2_fields *out);
void http2_fields_of_trailers(const struct message *m, struct http2_fields *out);

#endif
