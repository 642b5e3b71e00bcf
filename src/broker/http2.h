/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2: what the files of the HTTP/2 codecs share: the connection, its streams, and who may be
 * told what when.
 *
 * nghttp2 has the frames, HPACK and the states of streams; here is what it leaves to its user:
 * heads (http2_head.c), bodies that come in (http2_inward.c) and go out (http2_outward.c), limits,
 * memory, and what each role does.
 *
 * A stream (struct http2_stream) lives from the block that begins it until exchange.c knows all
 * about it, which may be longer than nghttp2's: an answer is whole here while the body that it goes
 * to is still full. Callbacks of nghttp2 only note what happened (`news`); it is told when the
 * library has returned, by http2_tell_news(). Exceptions are heads: the block is there only during
 * the callback. So whatever exchange.c does in an event, no stream or session vanishes under a
 * function of the library.
 *
 * Windows. A stream begins with HTTP2_WINDOW, which is what a body holds, and the connection has as
 * much for each stream that may be open, so one that nobody drains never stops another. A window is
 * opened by what was taken out of the body, never by what came in. A stream that was drained by a
 * whole window doubles it, up to HTTP2_WINDOW_MAX, out of a pool that the streams share: a long
 * round trip fills as fast as over HTTP/1.1. What a body has no room for waits in the stream
 * (`spill`).
 *
 * Memory of a connection: HTTP2_MEMORY_MAX for nghttp2 (tables, frames, heads that wait), twice
 * HTTP2_POOL for what spills, since it grows by doubling, and 64 KiB for a block: 16.1 MiB at most,
 * whatever the peer sends. A quiet connection has about 30 KiB.
 */
#ifndef SG_BROKER_HTTP2_H
#define SG_BROKER_HTTP2_H

#include <nghttp2/nghttp2.h>

#include "broker/codec.h"
#include "broker/http2_block.h"
#include "broker/http2_fields.h"
#include "broker/http2_limit.h"

enum {
	HTTP2_STREAMS_MAX = 128,
	HTTP2_WINDOW = BODY_ROOM,
	HTTP2_WINDOW_MAX = 1024 * 1024,
	HTTP2_POOL = 4 * 1024 * 1024,
	HTTP2_WINDOW_CONNECTION = HTTP2_STREAMS_MAX * HTTP2_WINDOW + HTTP2_POOL,
	HTTP2_MEMORY_MAX = 8 * 1024 * 1024,
};

/* Octets that the body has no room for, in the order they came. Memory is there only while some
 * are. */
struct http2_spill {
	uint8_t *p;
	size_t at, n, cap; /* n octets from `at` on */
};

struct http2_stream {
	struct http2 *h;
	struct http2_stream *next, **link; /* of all of the connection */
	struct http2_stream *next_news;
	struct exchange *x; /* NULL: nobody wants to hear of it any more */
	int32_t id;

	/* inward: octets that came and fill a body */
	struct http2_spill spill;
	struct message *trailers; /* owned; whole, but not yet in the body */
	uint64_t credited;	  /* of the body's `passed`, by windows that were opened */
	size_t outstanding;	  /* came, and no window was opened for it */
	size_t window, drained;	  /* drained since the window last grew */
	bool in_over;		  /* END_STREAM came */
	bool in_told;		  /* ... and stands in the body */

	/* outward: a body that goes out */
	uint64_t sent, length;
	bool has_length;
	bool out_over; /* END_STREAM went */

	bool websocket; /* asked for */
	bool head;	/* server role: HEAD */
	bool expects;	/* server role: the client waits for 100 */
	bool answered;	/* client role: the final head came; server role: it was given */
	bool closed;	/* nghttp2 knows it no more */

	/* news */
	bool in_news, filled, drained_out;
	enum codec_error failure; /* CODEC_OK: none */
	bool busy, dead;	  /* in an event; freed meanwhile */
};

struct http2_role;

struct http2 {
	struct codec codec; /* first */
	const struct http2_role *role;
	nghttp2_session *session;
	size_t memory; /* octets that nghttp2 has */
	struct http2_limit limit;
	struct http2_block block;
	struct http2_stream *streams;
	unsigned n_streams;
	struct http2_stream *news, **news_end;
	struct http2_stream *opening; /* server role: while events.request runs */
	size_t pool;		      /* by how much windows may still grow */
	struct span unsent;	      /* of the frame that nghttp2 gave last; its memory */
	enum codec_error error;	      /* final; CODEC_OK: none */
	bool settings_known;	      /* the peer's came */
};

static inline struct http2 *http2_of(struct codec *c)
{
	return (struct http2 *)c;
}

/* ---- http2.c ---- */

/* What a role adds: its table, and what becomes of the head that is whole in h->block. */
struct http2_role {
	const struct codec_ops *ops;
	void (*head)(struct http2_stream *s, bool ends);
	bool server;
};
struct codec *http2_new(const struct http2_role *role, const struct codec_events *events,
			void *ctx);
/* What RST_STREAM or GOAWAY says of it (RFC 9113, 7). */
uint32_t http2_wire_error(enum codec_error why);
/* The end of the connection: GOAWAY, and every stream has failed. */
void http2_break(struct http2 *h, enum codec_error why, const char *text);
/* The same, when the library itself has said GOAWAY. */
void http2_set_error(struct http2 *h, enum codec_error why, const char *text);
/* False, and broken: out of memory, or a fault of ours. */
bool http2_check(struct http2 *h, int rv);

enum codec_error http2_receive(struct codec *c, struct span in, size_t *taken);
bool http2_receive_end(struct codec *c);
size_t http2_produce(struct codec *c, struct buf *out);
void http2_resume_send(struct codec *c, struct exchange *x);
void http2_resume_receive(struct codec *c, struct exchange *x);
void http2_reset(struct codec *c, struct exchange *x, enum codec_error why);
void http2_shut(struct codec *c);
bool http2_idle(const struct codec *c);
void http2_free(struct codec *c);

/* ---- http2_memory.c, http2_frames.c ---- */

nghttp2_mem http2_memory_of(struct http2 *h);
/* Owned by the caller; NULL: no memory. */
nghttp2_session_callbacks *http2_frames_callbacks(void);

/* ---- http2_stream.c ---- */

/* NULL: no memory. */
struct http2_stream *http2_stream_new(struct http2 *h, int32_t id);
void http2_stream_free(struct http2_stream *s);
struct http2_stream *http2_stream_find(const struct http2 *h, int32_t id);
struct http2_stream *http2_stream_of(struct http2 *h, struct exchange *x);
void http2_stream_bind(struct http2_stream *s, struct exchange *x);
struct body *http2_body_in(const struct http2_stream *s);
struct body *http2_body_out(const struct http2_stream *s);
/* Puts it on the list of those that http2_tell_news() looks at. */
void http2_stream_note(struct http2_stream *s);
void http2_stream_fail(struct http2_stream *s, enum codec_error why);
/* No more will come or go: it fails, unless it is whole. */
void http2_stream_cut(struct http2_stream *s, enum codec_error why);
/* RST_STREAM because of what the peer did, which is counted, and fails: the stream may be gone
 * then. */
void http2_stream_refuse(struct http2_stream *s, enum codec_error why, const char *text);
void http2_tell_news(struct http2 *h);

/* ---- http2_inward.c ---- */

void http2_inward_put(struct http2_stream *s, struct span octets);
/* Moves what waits into the body; the end behind the last octet. True: something was moved. */
bool http2_inward_move(struct http2_stream *s);
/* Opens windows by what was taken out of the body, or all when nobody wants it. */
void http2_inward_credit(struct http2_stream *s);
void http2_inward_free(struct http2_stream *s);

/* The block in h->block is what trails the body. */
void http2_inward_trailers(struct http2_stream *s, bool ends);

/* ---- http2_outward.c ---- */

/* Does the message have a body that is to be sent? Then its length is noted. */
bool http2_outward_begin(struct http2_stream *s, const struct message *m);

/* For nghttp2_submit_*(): octets of the body that goes out, as it has them. */
nghttp2_data_provider http2_outward_provider(void);

#endif
