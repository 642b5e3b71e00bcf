/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_guard: every request of a plain HTTP/1.x connection, one after the other
 * (RFC 9110, RFC 9112).
 *
 * The guard reads the client's octets, tells the head of each request so that the
 * gate can judge it, and follows the framing of the body to the next head. It
 * holds no octets and changes none: it says how many may be sent on.
 *
 * It is stricter than the servers behind it: what two readers could frame in two
 * ways is malformed here.
 */
#ifndef SG_GATE_HTTP_GUARD_H
#define SG_GATE_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "gate/http_status.h"
#include "http/head.h"

enum http_event {
	HTTP_MORE,	/* nothing more can be told: keep what was not passed, read on */
	HTTP_REQUEST,	/* a head is whole: judge it; its octets may pass when it is admitted */
	HTTP_BODY,	/* octets of a body that was admitted may pass */
	HTTP_HOLD,	/* a WebSocket was asked for: wait for http_guard_answered() */
	HTTP_OPAQUE,	/* the server switched protocols: all octets may pass from here on */
	HTTP_CONNECT,	/* a head with CONNECT: refuse it; a final event */
	HTTP_NOT_HTTP,	/* final: no HTTP/1.x at all, HTTP/2 among it */
	HTTP_MALFORMED, /* final: `why` says what */
};

enum http_phase {
	HTTP_PHASE_HEAD,
	HTTP_PHASE_LENGTH, /* in a body with Content-Length, `left` to go */
	HTTP_PHASE_CHUNK_LINE,
	HTTP_PHASE_CHUNK_DATA, /* `left` to go */
	HTTP_PHASE_CHUNK_END,  /* before the CRLF after it */
	HTTP_PHASE_TRAILERS,
	HTTP_PHASE_HOLD,
	HTTP_PHASE_OPAQUE,
	HTTP_PHASE_ENDED, /* after a final event */
};

/* Of one connection; zeroed before the first call. */
struct http_guard {
	enum http_phase phase;
	enum http_event ended;	     /* HTTP_PHASE_ENDED: which event */
	uint64_t left;		     /* octets of the body or chunk */
	struct http_section section; /* one that is not whole yet */
	bool resumed;		     /* its beginning was scanned by an earlier call */
	bool later;		     /* a request went before: no protocol switch any more */
	const char *why;	     /* HTTP_MALFORMED, HTTP_NOT_HTTP: a sentence piece, static */
};

/*
 * Reads the client's octets from the first that has not passed. `*pass` gets how many of them may
 * be sent on; the next call's span begins after those. It is called until it has nothing to pass:
 *
 * - HTTP_REQUEST: `*request` is a whole head of `*pass` octets. Judge it; admitted: send them on
 *   and call again; refused: the connection ends here.
 * - HTTP_BODY, HTTP_OPAQUE: send `*pass` octets on and call again.
 * - HTTP_MORE: read more behind what is there. HTTP_HEAD_MAX octets are always enough.
 * - HTTP_HOLD: as HTTP_MORE, but nothing will pass before http_guard_answered().
 * - HTTP_CONNECT (`*request` is filled), HTTP_NOT_HTTP, HTTP_MALFORMED: the connection ends here.
 *
 * `*pass` is 0 for all others. An octet of an unfinished head is scanned once, however often it is
 * fed, and once more when the head is whole: by then it may be another one (relay.c).
 */
enum http_event http_guard_feed(struct http_guard *g, struct span in, struct http_request *request,
				size_t *pass);

/*
 * How many octets from here on may pass without being fed (the rest of a body or of a chunk;
 * UINT64_MAX when opaque), so that they can be spliced. http_guard_skip() says how many were.
 */
uint64_t http_guard_unread(const struct http_guard *g);
void http_guard_skip(struct http_guard *g, uint64_t n);

/*
 * The status that the server gave to a request with `websocket` (final, see http_status_feed).
 * 101: everything after is opaque. Else the next octets are a request again.
 */
void http_guard_answered(struct http_guard *g, unsigned status);

#endif
