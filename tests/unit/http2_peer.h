/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_peer: a client or a server of HTTP/2 that is nghttp2's own, in memory, as what the codecs
 * talk to.
 *
 * Octets of bodies are a pattern of their offset, so that one which is lost, doubled or changed is
 * seen. What a server does is in the path:
 *
 *	/octets/N	N octets, then the trailer x-sum: N
 *	/echo		the octets of the request as they come, then grpc-status: 0
 *	/count		204 with x-count when the request has ended
 *	/early		413 at once, and the rest of the request is not wanted
 *	/trailers	nothing but a head with grpc-status: 12
 *	/interim	103, 103, 200
 */
#ifndef SG_TESTS_HTTP2_PEER_H
#define SG_TESTS_HTTP2_PEER_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum { PEER_STREAMS = 512, PEER_HEADS = 4096 };

struct peer_stream {
	int32_t id;
	char path[64];
	char heads[PEER_HEADS]; /* "name: value\n" of all heads and trailers; an empty line after
				   each */
	size_t heads_n;
	uint64_t to_send, sent, received;
	size_t held;  /* received, and no window was opened for it */
	bool open;    /* more may be added to to_send */
	bool echo;    /* to_send follows what is received */
	bool corrupt; /* an octet was not the one of its offset */
	bool in_ended, closed;
	bool trailers, began; /* sends some at the end; its head was sent (server) */
	uint32_t error;
};

struct peer {
	nghttp2_session *session;
	bool server;
	bool hold;		     /* its windows are not opened */
	struct peer_stream *streams; /* by (id - 1) / 2 */
	struct span unsent;
	uint64_t received; /* octets of all bodies */
	unsigned closed, resets;
	bool goaway;
	uint32_t goaway_error;
};

/* `window`: of a stream and of the connection; 0: what nghttp2 has. */
void peer_open(struct peer *p, bool server, int32_t window);
void peer_close(struct peer *p);
/* "name", "value", ..., NULL. `octets`: of the body; UINT64_MAX: none, the head ends the stream. */
struct peer_stream *peer_request(struct peer *p, const char *const *fields, uint64_t octets,
				 bool open);
/* More octets for a stream that is open; `end`: these are the last. */
void peer_send(struct peer *p, struct peer_stream *s, uint64_t octets, bool end);
/* Opens the windows for all that was held, and for what comes. */
void peer_release(struct peer *p);
void peer_receive(struct peer *p, struct span in);
/* At most `max` octets that it has to say; their end is valid until the next call. */
struct span peer_produce(struct peer *p, size_t max);

#endif
