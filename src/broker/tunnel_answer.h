/* SPDX-License-Identifier: Apache-2.0 */
/* tunnel_answer: what a proxy says to CONNECT (RFC 9110, 9.3.6; RFC 9112, 4). Pure. */
#ifndef SG_BROKER_TUNNEL_ANSWER_H
#define SG_BROKER_TUNNEL_ANSWER_H

#include <stdbool.h>

#include "base/span.h"

enum { TUNNEL_HEAD_MAX = 16 * 1024 };

enum tunnel_said {
	TUNNEL_MORE,	/* the head is not whole yet */
	TUNNEL_INTERIM, /* 1xx: another one follows behind `head` octets */
	TUNNEL_OPEN, /* 2xx: behind `head` octets the far side speaks, whatever fields are there */
	TUNNEL_REFUSED,	  /* any other status */
	TUNNEL_MALFORMED, /* no answer of HTTP/1.x, or a head of more than TUNNEL_HEAD_MAX octets */
};

/* `status` and `head` are set but for TUNNEL_MORE and TUNNEL_MALFORMED. */
enum tunnel_said tunnel_answer_parse(struct span seen, unsigned *status, size_t *head);

#endif
