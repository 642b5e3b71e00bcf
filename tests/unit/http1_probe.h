/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_probe: one codec of HTTP/1.1 alone, fed in steps of any size, and all that it tells as
 * text. However the octets are cut, the text must be the same.
 */
#ifndef SG_TESTS_HTTP1_PROBE_H
#define SG_TESTS_HTTP1_PROBE_H

#include "broker/codec.h"

/* Octets that grow, with a NUL behind them. */
struct text {
	char *p;
	size_t n, cap;
};

void text_add(struct text *t, const void *p, size_t n);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *t);

/* "GET /a https://a.example [a.example:443] none" and its fields, or "200 length 5" and them. */
void text_add_message(struct text *t, const struct message *m);

struct outcome {
	struct text told; /* events in their order; a body as one line when it has ended */
	struct text sent; /* what the codec produced */
	enum codec_error error;
	bool persistent, finished, cut, idle;
};
void outcome_free(struct outcome *o);
bool outcome_is_same(const struct outcome *a, const struct outcome *b);

/* How the probe behaves as what owns the codec. */
struct probe_way {
	size_t first;	 /* octets fed first; 0: no such cut */
	size_t step;	 /* ... and at once from there on; 0: all */
	bool tls;	 /* server: the scheme */
	bool absolute;	 /* server: a proxy is asked */
	bool at_once;	 /* server: 403 from within the request, and the body is not read */
	bool ends;	 /* the peer closes its side at the end */
	const char *ask; /* client: the request, octets of HTTP/1.1 that a server codec takes */
};

/*
 * A client's octets into a server codec. Every request is answered with 200 when it is whole, one
 * for WebSocket with 101.
 */
struct outcome probe_server(struct span stream, struct probe_way way);

/* A server's octets into a client codec that sent way.ask, or a GET. */
struct outcome probe_client(struct span stream, struct probe_way way);

/* Every cut in two, and steps of a few octets. Ends the program where the outcome differs. */
struct outcome probe_in_all_ways(struct outcome (*probe)(struct span, struct probe_way),
				 struct span stream, struct probe_way way);

#endif
