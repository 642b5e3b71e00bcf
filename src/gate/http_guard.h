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

#include "base/addr.h"
#include "base/name.h"
#include "base/span.h"

enum {
	HTTP_HEAD_MAX = 65536,	    /* octets of a head, and of a trailer section */
	HTTP_FIELDS_MAX = 128,	    /* fields in one */
	HTTP_METHOD_MAX = 32,	    /* octets of a method */
	HTTP_CHUNK_LINE_MAX = 1024, /* octets of a chunk's size and extensions */
};

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

enum http_host { HTTP_HOST_ABSENT, HTTP_HOST_NAME, HTTP_HOST_ADDRESS };

/* One request's head. The spans point into the octets that were fed. */
struct http_request {
	char method[HTTP_METHOD_MAX + 1]; /* NUL-terminated, as sent: methods have case */
	struct span target;		  /* as it stands in the request line */
	struct span path;    /* of the target, with its query; "/" when an absolute form has none */
	enum http_host host; /* ABSENT: HTTP/1.0 only; admit by literal address or refuse */
	struct name name;    /* HTTP_HOST_NAME, canonical */
	struct addr addr;    /* HTTP_HOST_ADDRESS */
	uint16_t port;	     /* written after the host; 0: none, which means 80 */
	uint8_t minor;	     /* of the version: 0 or 1 */
	bool websocket;	     /* asks to switch to WebSocket (RFC 6455, 4.1) */
};

enum http_phase {
	HTTP_PHASE_HEAD,
	HTTP_PHASE_LENGTH, /* in a body with Content-Length, `left` to go */
	HTTP_PHASE_CHUNK_LINE,
	HTTP_PHASE_CHUNK_DATA, /* `left` to go, the final CRLF among it */
	HTTP_PHASE_TRAILERS,
	HTTP_PHASE_HOLD,
	HTTP_PHASE_OPAQUE,
	HTTP_PHASE_ENDED, /* after a final event */
};

/* Of one connection; zeroed before the first call. */
struct http_guard {
	enum http_phase phase;
	enum http_event ended; /* HTTP_PHASE_ENDED: which event */
	uint64_t left;	       /* octets of the body or chunk */
	uint32_t scanned;      /* octets of an unfinished head or trailer section that were read */
	uint32_t line;	       /* where its last line begins */
	uint8_t lines;	       /* that are whole */
	bool later;	       /* a request went before: no protocol switch any more */
	bool switching;	       /* the request in work asks for one */
	const char *why;       /* HTTP_MALFORMED, HTTP_NOT_HTTP: a sentence piece, static */
};

/*
 * Reads the client's octets from the first that has not passed. `*pass` gets how many of them may
 * be sent on, which must be done, or the connection be ended, before the next call; that call's
 * span begins after them.
 *
 *	for (;;) {
 *		switch (http_guard_feed(&g, in, &request, &pass)) {
 *		case HTTP_REQUEST: judge `request`; when it is refused, end here
 *		case HTTP_BODY:
 *		case HTTP_OPAQUE:  send `pass` octets on and drop them from `in`; go on if some are
 *left case HTTP_MORE:	   read more behind `in`; HTTP_HEAD_MAX octets are always enough
 *		...
 *
 * `*request` is filled at HTTP_REQUEST and HTTP_CONNECT. `*pass` is 0 at HTTP_MORE, HTTP_HOLD and
 * the final events. An octet of an unfinished head is read once, however often it is fed.
 */
enum http_event http_guard_feed(struct http_guard *g, struct span in, struct http_request *request,
				size_t *pass);

/*
 * How many octets from here on may pass without being fed (the rest of a body or chunk; UINT64_MAX
 * when opaque), so that they can be spliced; http_guard_skip() says how many were.
 */
uint64_t http_guard_free(const struct http_guard *g);
void http_guard_skip(struct http_guard *g, uint64_t n);

/*
 * The status that the server gave to a request with `websocket` (final, see http_status_feed).
 * 101: everything after is opaque. Else the next octets are a request again.
 */
void http_guard_answered(struct http_guard *g, unsigned status);

/*
 * Finds the status of the first answer on a connection, passing over 1xx answers that are not 101
 * (RFC 9110, 15.2). Zeroed before the first call; the octets may be sent on as they come.
 */
struct http_status {
	uint16_t at; /* octets of the status line read */
	uint16_t code;
	uint32_t octets;  /* of the whole search */
	uint8_t newlines; /* without anything but CR between them */
};

enum http_status_state { HTTP_STATUS_MORE, HTTP_STATUS_KNOWN, HTTP_STATUS_NOT_HTTP };

enum http_status_state http_status_feed(struct http_status *s, struct span in, unsigned *status);

#endif
