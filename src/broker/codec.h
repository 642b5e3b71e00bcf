/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: one HTTP connection as octets in and octets out, in one of two roles and two versions. No
 * I/O.
 *
 *	http1_server, http2_server	face the sandbox's client: requests come in, answers go out
 *	http1_client, http2_client	face the real server: the other way round
 *
 * An exchange is one request and its answer. It has one codec on each side, two heads and two
 * bodies: `up` is filled by the server-role codec and drained by the client-role one, `down` the
 * other way. The codecs know exchanges only through this file; what is decided about them is
 * exchange.c's.
 *
 * Who calls whom: the connection feeds octets (receive) and fetches octets (produce); the codec
 * calls codec_events; exchange.c calls the other codec_ops, from within events or not. A codec calls
 * events from within receive, receive_end and produce only: after any of the others produce is
 * called until it has nothing.
 *
 * A body that exchange.c has set `failed` is one that nobody drains any more: the rest of it is
 * discarded. h2 ends the stream behind a whole answer, h1 the connection.
 */
#ifndef SG_BROKER_CODEC_H
#define SG_BROKER_CODEC_H

#include "base/buf.h"
#include "broker/body.h"

struct exchange;
struct codec;

enum codec_error {
	CODEC_OK,
	CODEC_MALFORMED, /* `why` of the codec says what, a static sentence piece */
	CODEC_FLOOD,	 /* a limit of RFC 9113 10.5 kind was passed */
	CODEC_TOO_LARGE, /* a head over MESSAGE_HEAD_MAX or MESSAGE_FIELDS_MAX */
	CODEC_PEER,	 /* the peer reset the stream, or said GOAWAY */
	CODEC_RETRY, /* the same, and the request was surely not worked on (REFUSED_STREAM, above
			GOAWAY's last) */
	CODEC_NO_MEMORY,
};

struct codec_events {
	/* Server role: a whole head has come. `request` is the codec's until the call returns: copy
	 * what is kept. Returns the new exchange, or NULL: the codec refuses the stream (h2) or
	 * closes after what is under way (h1). */
	struct exchange *(*request)(void *ctx, struct codec *c, struct message *request);
	/* Client role: a head of an answer; status 1xx may come several times before the final one.
	 */
	void (*answer)(struct exchange *x, struct message *answer);
	/* Octets, the end or trailers were put into the body that this codec fills. */
	void (*body_filled)(struct exchange *x, struct codec *c);
	/* Room was made in the body that this codec drains. */
	void (*body_drained)(struct exchange *x, struct codec *c);
	/* This side of the exchange is over before its end; the other side must see a cut, not an
	 * end. */
	void (*failed)(struct exchange *x, struct codec *c, enum codec_error why);
	/* This side has done all it has to for the exchange: the codec forgets it after the call.
	 */
	void (*done)(struct exchange *x, struct codec *c);
};

/* send_request and send_answer are NULL in the other role. */
struct codec_ops {
	/* Takes octets from the peer; `*taken` may be less than all when bodies are full (call
	 * again when drained), and in h1 while an answer is under way: a pipelined request waits
	 * (call again after `done`). Until all are taken, read no more. An error is final for the
	 * connection: produce what is left (a GOAWAY, a 400), then close. */
	enum codec_error (*receive)(struct codec *c, struct span in, size_t *taken);
	/* The peer has closed its side in good order (over TLS: with close_notify; else reset what
	 * is under way). False: in the middle of something, which is then told as failed. */
	bool (*receive_end)(struct codec *c);
	/* Appends octets for the peer, as many as fit; 0 when there is nothing to say now. */
	size_t (*produce)(struct codec *c, struct buf *out);
	/* Client role: sends a request's head for x. False: no stream can be opened now (GOAWAY,
	 * limit, h1 busy); or never, then the codec is not persistent either. */
	bool (*send_request)(struct codec *c, struct exchange *x, const struct message *request);
	/* Server role: an answer's head, 1xx or final. */
	void (*send_answer)(struct codec *c, struct exchange *x, const struct message *answer);
	/* The body that this codec drains has something, or its end. */
	void (*resume_send)(struct codec *c, struct exchange *x);
	/* There is room again in the body that this codec fills; or it is wanted for the first
	 * time: a client that expects 100 is told it. */
	void (*resume_receive)(struct codec *c, struct exchange *x);
	/* Cuts this side of the exchange: RST_STREAM, or the end of the h1 connection. No event
	 * follows for x. */
	void (*reset)(struct codec *c, struct exchange *x, enum codec_error why);
	/* No new requests: GOAWAY, "connection: close"; those under way go on. Half a head is
	 * answered with 408. */
	void (*shut)(struct codec *c);
	/* Nothing under way, and nothing to be produced. */
	bool (*idle)(const struct codec *c);
	/* After 101, which an extended CONNECT that was answered with 2xx becomes, the exchange is
	 * opaque octets both ways, in bodies. */
	void (*free)(struct codec *c);
};

struct codec {
	const struct codec_ops *ops;
	const struct codec_events *events;
	void *ctx;	 /* for events.request */
	const char *why; /* of CODEC_MALFORMED */
	bool server;	 /* role */
	bool tls; /* the connection's, set before the first octet: the scheme of its requests is
		     "https" */
	bool absolute; /* h1 server: a proxy is asked, one request in absolute form; set likewise */
	bool persistent; /* h1: the connection may carry another exchange */
	bool finished;	 /* nothing will be produced any more: when all is sent, close the sending
			    side */
	bool stale; /* h1 client: it has carried another exchange, and no octet of an answer has come
		       since: its server may have closed it, being idle, before it saw the request */
	bool cut; /* ... and not in good order (no close_notify, a reset): the peer must not take it
		     for an end */
};

struct codec *http1_server_new(const struct codec_events *events, void *ctx);
struct codec *http1_client_new(const struct codec_events *events, void *ctx);
struct codec *http2_server_new(const struct codec_events *events, void *ctx);
struct codec *http2_client_new(const struct codec_events *events, void *ctx);

/* What codecs see of an exchange; exchange.c embeds it as its first member. */
struct exchange_side {
	void *stream; /* the codec's own, NULL when it has none */
};
struct exchange {
	struct exchange_side client,
		upstream; /* of the server-role codec, and of the client-role codec */
	struct body up, down;
	bool head_request; /* HEAD: the answer has no body, whatever its fields say */
	bool connect;	   /* an upgrade or extended CONNECT was asked for */
	bool opaque;	   /* ... and granted */
};

#endif
