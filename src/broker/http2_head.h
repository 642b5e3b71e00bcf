/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_head: messages out of header blocks, judged (RFC 9113, 8.2 and 8.3; RFC 8441). Pure.
 *
 * What is accepted can be written as HTTP/1.1 and is read there as the same message: no CR, LF or
 * NUL, nothing that frames. A request for WebSocket, which is an extended CONNECT here, becomes
 * what it is in HTTP/1.1: GET with `protocol`, and no body before it is granted. Granting it is 101
 * in either version.
 *
 * Each function: NULL, or why the message is malformed, a static sentence piece. `m` was made with
 * message_init() and is the caller's to free. `ends`: the stream ended with the block (END_STREAM).
 */
#ifndef SG_BROKER_HTTP2_HEAD_H
#define SG_BROKER_HTTP2_HEAD_H

#include "broker/http2_block.h"

const char *http2_head_read_request(const struct http2_block *b, bool ends, struct message *m);
const char *http2_head_read_answer(const struct http2_block *b, bool ends, struct message *m);
const char *http2_head_read_trailers(const struct http2_block *b, struct message *m);

#endif
