/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 calls: one function for each thing that can happen to a frame. What was done to a
 * stream is noted, and told when the library has returned.
 */
#include "broker/http2.h"

enum { PAID_BY_HEADERS = 4 /* frames of noise that an exchange is worth */ };

/* For callbacks: the library returns, and the connection is at its end. */
static int flood(struct http2 *h, const char *text)
{
	http2_break(h, CODEC_FLOOD, text);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* ---- Frames ---- */

static struct http2_stream *stream_at(struct http2 *h, int32_t id)
{
	return id ? nghttp2_session_get_stream_user_data(h->session, id) : NULL;
}

/* A priority says only what a client would rather have first: all streams take turns. */
static void set_turns(struct http2 *h, int32_t id)
{
	const nghttp2_extpri turns = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};

	nghttp2_session_change_extpri_stream_priority(h->session, id, &turns, 1);
}

static const char too_many_resets[] = "too many requests are begun and cut";

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s;

	http2_block_begin(&h->block);
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = http2_stream_new(h, frame->hd.stream_id);
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, s->id, s);
	set_turns(h, s->id);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	struct http2 *h = ctx;

	if (http2_block_add(&h->block, span_of(name, name_n), span_of(value, value_n),
			    flags & NGHTTP2_NV_FLAG_NO_INDEX))
		return 0;
	return flood(h, "a head unpacks to many times what a head may have");
}

/* The library would leave it out and go on. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
			     const uint8_t *name, size_t name_n, const uint8_t *value,
			     size_t value_n, uint8_t flags, void *ctx)
{
	struct http2 *h = ctx;

	h->block.fault = "a field has a name or a value that it must not have";
	return on_header(session, frame, name, name_n, value, value_n, flags, ctx);
}

static void take_head(struct http2 *h, struct http2_stream *s, bool ends)
{
	const struct http2_role *role = h->role;

	if (s && !s->failure)
		role->head(s, ends);
	http2_block_free(&h->block);
	http2_limit_pay(&h->limit, PAID_BY_HEADERS);
}

static void end_in(struct http2_stream *s)
{
	s->in_over = true;
	http2_stream_note(s);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s = stream_at(h, frame->hd.stream_id);
	bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		take_head(h, s, ends);
		break;
	case NGHTTP2_DATA:
		if (s && ends)
			end_in(s);
		break;
	case NGHTTP2_RST_STREAM:
		if (!http2_limit_count_reset(&h->limit))
			return flood(h, too_many_resets);
		break;
	case NGHTTP2_SETTINGS:
		h->settings_known = true;
		break;
	case NGHTTP2_GOAWAY:
		h->codec.persistent = false;
		break;
	}
	return h->error ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int rv, void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s = stream_at(h, frame->hd.stream_id);

	h->codec.why = nghttp2_strerror(rv);
	if (!s || !s->x)
		return 0;
	http2_stream_fail(s, CODEC_MALFORMED);
	return http2_limit_count_reset(&h->limit) ? 0 : flood(h, too_many_resets);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
		   void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s = stream_at(h, id);

	if (n)
		http2_limit_pay(&h->limit, 1);
	if (s)
		http2_inward_put(s, span_of(p, n));
	else
		http2_check(h, nghttp2_session_consume(session, id, n));
	return 0;
}

/* ---- What was sent, or not ---- */

/* The answer is whole, and nobody wants the rest of the request (RFC 9113, 8.1). */
static void end_unwanted(struct http2_stream *s)
{
	if (!s->h->codec.server || s->in_over || (s->x && !http2_body_in(s)->failed))
		return;
	s->in_over = true;
	http2_check(s->h, nghttp2_submit_rst_stream(s->h->session, NGHTTP2_FLAG_NONE, s->id,
						    NGHTTP2_NO_ERROR));
}

static void end_out(struct http2_stream *s)
{
	s->out_over = true;
	end_unwanted(s);
	http2_stream_note(s);
}

/* By the library, mostly for what the peer did: a stream that exchange.c has cut is not ours any
 * more. */
static void note_reset(struct http2_stream *s, uint32_t error)
{
	struct http2 *h = s->h;

	if (error == NGHTTP2_PROTOCOL_ERROR && !s->failure) {
		h->codec.why = "a stream does not keep to HTTP/2";
		http2_stream_fail(s, CODEC_MALFORMED);
	}
	if (!http2_limit_count_reset(&h->limit))
		http2_break(h, CODEC_FLOOD, too_many_resets);
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s = stream_at(h, frame->hd.stream_id);
	uint8_t type = frame->hd.type;

	if (type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR && !h->error)
		http2_set_error(h, CODEC_MALFORMED,
				h->codec.why ? h->codec.why : "the peer does not keep to HTTP/2");
	if (type == NGHTTP2_RST_STREAM && s && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
		note_reset(s, frame->rst_stream.error_code);
	if ((type == NGHTTP2_HEADERS || type == NGHTTP2_DATA) && s &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		end_out(s);
	return 0;
}

/* A request that waited when the peer said GOAWAY never left. */
static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int rv,
			     void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = http2_stream_find(h, frame->hd.stream_id);
	if (s) {
		s->closed = true;
		http2_stream_fail(s, rv == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED ? CODEC_RETRY
										: CODEC_PEER);
	}
	return 0;
}

static enum codec_error cut_of(const struct http2_stream *s, uint32_t error)
{
	/* REFUSED_STREAM is also what nghttp2 gives those above the last of a GOAWAY. */
	return error == NGHTTP2_REFUSED_STREAM && !s->answered && !s->h->codec.server ? CODEC_RETRY
										      : CODEC_PEER;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
	struct http2 *h = ctx;
	struct http2_stream *s = stream_at(h, id);

	if (!s)
		return 0;
	s->closed = true;
	if (!s->x) {
		http2_stream_free(s);
		return 0;
	}
	http2_stream_cut(s, cut_of(s, error));
	return 0;
}

nghttp2_session_callbacks *http2_frames_callbacks(void)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(cb, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_frame_not_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	return cb;
}
