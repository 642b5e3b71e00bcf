/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_answer: what a client of the proxy port is told when it gets no connection (RFC 9110, 15).
 * Pure.
 */
#ifndef SG_GATE_PROXY_ANSWER_H
#define SG_GATE_PROXY_ANSWER_H

#include "base/buf.h"
#include "gate/socks.h"
#include "policy/decide.h"

enum { PROXY_ANSWER_MAX = 2560 };

struct proxy_answer {
	uint16_t status;
	const struct http_authority *to; /* NULL: what was asked for could not be read */
	enum reason reason;
	const char *why;    /* a sentence piece; NULL: the reason's */
	const char *remedy; /* NULL or empty: none */
};

/*
 * Its one line stands in the status line as well: many clients show a person that and not the body
 * of an answer to CONNECT.
 */
void proxy_answer_print(const struct proxy_answer *a, struct buf *out);

extern const char proxy_tunnel_is_open[]; /* the answer to CONNECT */

/* The answer to a dial that failed with an errno: status, reason and sentence piece. */
struct proxy_answer proxy_answer_to_dial(int error);
enum socks_reply proxy_reply_to_dial(int error);

#endif
