/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_out: one message after the other on its way out over HTTP/1.1: heads that were printed, and
 * a body that is framed as it is taken out of its ring. Both roles write by it.
 */
#ifndef SG_BROKER_HTTP1_OUT_H
#define SG_BROKER_HTTP1_OUT_H

#include "base/buf.h"
#include "broker/body.h"
#include "broker/http1_print.h"

struct http1_out {
	struct http1_text text; /* goes before the body */
	enum http1_framing framing;
	uint64_t left;	   /* HTTP1_FRAMING_LENGTH: of the body */
	struct body *from; /* NULL: no body, or all of it went out */
	bool failed;	   /* the body can not go out whole */
};

/* Less room than this in the buffer, and nothing of a chunked body is produced. */
enum { HTTP1_OUT_ROOM_MIN = 16 };

/* The head was put into `text`. `from` may be NULL: then no body follows, whatever the framing. */
void http1_out_begin(struct http1_out *o, enum http1_framing framing, uint64_t length,
		     struct body *from);
void http1_out_drop(struct http1_out *o); /* forgets all that was not produced */

/* Appends what fits. Returns how many octets of the body were taken. */
size_t http1_out_produce(struct http1_out *o, struct buf *to);

static inline bool http1_out_is_done(const struct http1_out *o)
{
	return !o->from && http1_text_left(&o->text) == 0;
}

#endif
