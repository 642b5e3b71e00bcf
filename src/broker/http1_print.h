/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_print: heads and trailers as octets of HTTP/1.1, in memory of exactly their size.
 *
 * Each returns false, with nothing appended, when there is no memory.
 */
#ifndef SG_BROKER_HTTP1_PRINT_H
#define SG_BROKER_HTTP1_PRINT_H

#include "broker/message.h"

/* Octets that wait to be produced; they may hold a credential and are wiped when freed. */
struct http1_text {
	uint8_t *p;
	size_t n, at; /* n octets, of which `at` were taken */
};

void http1_text_free(struct http1_text *t);
static inline size_t http1_text_left(const struct http1_text *t)
{
	return t->n - t->at;
}

/* How the head says that a body ends. */
enum http1_framing {
	HTTP1_FRAMING_NONE, /* nothing is said: there is none */
	HTTP1_FRAMING_LENGTH,
	HTTP1_FRAMING_CHUNKED,
	HTTP1_FRAMING_CLOSE, /* nothing is said: it ends with the connection */
};

/* `connection` is the value of that field; NULL: none. */
bool http1_print_request(struct http1_text *t, const struct message *m, enum http1_framing framing,
			 const char *connection);
bool http1_print_answer(struct http1_text *t, const struct message *m, enum http1_framing framing,
			const char *connection);

/* The last chunk with its trailers, which may be NULL. */
bool http1_print_last_chunk(struct http1_text *t, const struct message *trailers);

/* Copies the octets. */
bool http1_print_octets(struct http1_text *t, struct span octets);

/* Can it be written so that no reader finds another line, method or target in it? */
bool http1_is_sound_request(const struct message *m);

#endif
