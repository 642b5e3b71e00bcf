/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head: messages out of sections of HTTP/1.x, judged (RFC 9110, RFC 9112).
 *
 * Fields of a hop and those that Connection names are left out, and so are those that
 * frame; `te` is left only as "trailers".
 */
#ifndef SG_BROKER_HTTP1_HEAD_H
#define SG_BROKER_HTTP1_HEAD_H

#include "broker/message.h"

/* What a head says about its hop, which is not part of the message. */
struct http1_hop {
	bool old;	 /* HTTP/1.0 */
	bool persistent; /* the peer is willing to go on after this message */
	bool chunked;	 /* the body is framed so */
	bool upgrade;	 /* an answer: it switches to WebSocket */
};

/*
 * A request of a connection over TLS, or not. 0, or the status to refuse it with and a static
 * sentence piece in `*why`. `m` was made with message_init(), and is freed by the caller.
 */
uint16_t http1_read_request(struct span section, bool tls, struct message *m, struct http1_hop *hop,
			    const char **why);

/*
 * An answer. NULL, or why it is malformed. Its body is what its fields say: whether one comes at
 * all depends on the request as well (RFC 9112, 6.3). Without any framing it is
 * MESSAGE_BODY_STREAM, not chunked: it ends with the connection.
 */
const char *http1_read_answer(struct span section, struct message *m, struct http1_hop *hop);

/* A trailer section. NULL, or why it is malformed. */
const char *http1_read_trailers(struct span section, struct message *m);

#endif
