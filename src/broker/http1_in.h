/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_in: the octets of one direction of an HTTP/1.x connection, as heads and bodies come
 * (RFC 9112). Both roles read by it.
 */
#ifndef SG_BROKER_HTTP1_IN_H
#define SG_BROKER_HTTP1_IN_H

#include "broker/codec.h"
#include "broker/http1_head.h"
#include "http/section.h"

enum http1_phase {
	HTTP1_HEAD,
	HTTP1_LENGTH, /* `left` octets of a body to come */
	HTTP1_CHUNK_LINE,
	HTTP1_CHUNK_DATA, /* `left` of the chunk to come */
	HTTP1_CHUNK_CR,
	HTTP1_CHUNK_LF,
	HTTP1_TRAILERS,
	HTTP1_UNTIL_END, /* everything, until the connection ends: a body, or opaque octets */
	HTTP1_END,	 /* the message is whole */
};

struct http1_in {
	enum http1_phase phase;
	uint64_t left;
	struct http_section place; /* in a section or chunk line that is not whole */
	uint8_t *held;		   /* its octets so far, when they came in pieces */
	size_t held_n, held_cap;
};

void http1_in_release(struct http1_in *in); /* frees what is held */

enum http1_head_result {
	HTTP1_HEAD_MORE,
	HTTP1_HEAD_WHOLE, /* `*section` holds until http1_in_release() */
	HTTP1_HEAD_MALFORMED,
	HTTP1_HEAD_LONG_LINE, /* 64 KiB, and the first line has no end */
	HTTP1_HEAD_LARGE,     /* over 64 KiB or 128 fields */
	HTTP1_HEAD_NO_MEMORY,
};

/* HTTP1_HEAD: collects the next head. `*taken` grows by the octets that were taken. */
enum http1_head_result http1_in_head(struct http1_in *in, struct span octets, size_t *taken,
				     struct span *section, const char **why);

/* What kind of error one of the last four is; `*why` is set where the octets did not say it. */
enum codec_error http1_head_error(enum http1_head_result result, const char **why);

/* The body that the head told of follows. A body of no octets is whole at once. */
void http1_in_begin(struct http1_in *in, const struct message *m, const struct http1_hop *hop);

/*
 * The other phases: puts the body's octets into `to` while it has room, at the end its trailers,
 * and ends it.
 */
enum codec_error http1_in_body(struct http1_in *in, struct body *to, struct span octets,
			       size_t *taken, const char **why);

/* Takes step by step until all is taken, a step takes nothing, or finds fault. */
typedef enum codec_error http1_step_fn(void *codec, struct span in, size_t *taken);
enum codec_error http1_drive(void *codec, http1_step_fn *step, struct span in, size_t *taken);

#endif
