/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of streams, and telling. An event may end the stream it is about: then it is taken off
 * the lists at once, and freed when the event has returned.
 */
#include "broker/http2.h"

#include <stdlib.h>

struct http2_stream *http2_stream_new(struct http2 *h, int32_t id)
{
	struct http2_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->h = h;
	s->id = id;
	s->window = HTTP2_WINDOW;
	s->next = h->streams;
	s->link = &h->streams;
	if (s->next)
		s->next->link = &s->next;
	h->streams = s;
	h->n_streams++;
	return s;
}

static void take_off_news(struct http2_stream *s)
{
	struct http2 *h = s->h;
	struct http2_stream **at = &h->news;

	if (!s->in_news)
		return;
	while (*at != s)
		at = &(*at)->next_news;
	*at = s->next_news;
	if (h->news_end == &s->next_news)
		h->news_end = at;
	s->in_news = false;
}

static struct exchange_side *side_of(const struct http2_stream *s)
{
	return s->h->codec.server ? &s->x->client : &s->x->upstream;
}

void http2_stream_free(struct http2_stream *s)
{
	struct http2 *h = s->h;

	if (!s->dead) {
		if (s->x)
			side_of(s)->stream = NULL;
		s->x = NULL;
		take_off_news(s);
		*s->link = s->next;
		if (s->next)
			s->next->link = s->link;
		h->n_streams--;
		if (!s->closed)
			nghttp2_session_set_stream_user_data(h->session, s->id, NULL);
		http2_inward_free(s);
	}
	s->dead = true;
	if (!s->busy)
		free(s);
}

struct http2_stream *http2_stream_find(const struct http2 *h, int32_t id)
{
	for (struct http2_stream *s = h->streams; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

struct http2_stream *http2_stream_of(struct http2 *h, struct exchange *x)
{
	struct exchange_side *side = h->codec.server ? &x->client : &x->upstream;

	/* Within events.request the exchange is there before the codec knows of it. */
	if (!side->stream && h->opening && !h->opening->x)
		http2_stream_bind(h->opening, x);
	return side->stream;
}

void http2_stream_bind(struct http2_stream *s, struct exchange *x)
{
	s->x = x;
	side_of(s)->stream = s;
	if (!s->h->codec.server)
		return;
	x->head_request = s->head;
	x->connect = s->websocket;
}

struct body *http2_body_in(const struct http2_stream *s)
{
	return s->h->codec.server ? &s->x->up : &s->x->down;
}

struct body *http2_body_out(const struct http2_stream *s)
{
	return s->h->codec.server ? &s->x->down : &s->x->up;
}

void http2_stream_note(struct http2_stream *s)
{
	struct http2 *h = s->h;

	if (s->in_news || s->dead || !s->x)
		return;
	s->in_news = true;
	s->next_news = NULL;
	*h->news_end = s;
	h->news_end = &s->next_news;
}

void http2_stream_fail(struct http2_stream *s, enum codec_error why)
{
	if (!s->failure)
		s->failure = why;
	http2_stream_note(s);
}

/* A whole answer is one, whatever became of the rest of the request (RFC 9113, 8.1). */
void http2_stream_cut(struct http2_stream *s, enum codec_error why)
{
	if (!s->h->codec.server && s->in_over)
		s->out_over = true;
	if (s->in_over && s->out_over)
		http2_stream_note(s);
	else
		http2_stream_fail(s, why);
}

void http2_stream_refuse(struct http2_stream *s, enum codec_error why, const char *text)
{
	struct http2 *h = s->h;

	h->codec.why = text;
	http2_check(h, nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id,
						 http2_wire_error(why)));
	if (s->x)
		http2_stream_fail(s, why);
	else
		http2_stream_free(s);
	if (!http2_limit_count_reset(&h->limit))
		http2_break(h, CODEC_FLOOD, "too many requests are malformed");
}

/* ---- Telling ---- */

typedef void tell_fn(struct exchange *x, struct codec *c);

/* False: the stream is no more. */
static bool tell(struct http2_stream *s, tell_fn *event)
{
	s->busy = true;
	event(s->x, &s->h->codec);
	s->busy = false;
	if (!s->dead)
		return true;
	free(s);
	return false;
}

static void tell_failure(struct http2_stream *s)
{
	struct exchange *x = s->x;
	struct http2 *h = s->h;
	enum codec_error why = s->failure;

	http2_body_in(s)->failed = true;
	http2_stream_free(s);
	h->codec.events->failed(x, &h->codec, why);
}

static void tell_done(struct http2_stream *s)
{
	struct exchange *x = s->x;
	struct http2 *h = s->h;

	http2_stream_free(s);
	h->codec.events->done(x, &h->codec);
}

static bool tell_bodies(struct http2_stream *s)
{
	const struct codec_events *events = s->h->codec.events;

	if (s->drained_out) {
		s->drained_out = false;
		if (!tell(s, events->body_drained))
			return false;
	}
	s->filled |= http2_inward_move(s);
	if (s->filled) {
		s->filled = false;
		if (!tell(s, events->body_filled))
			return false;
	}
	return true;
}

static void tell_all(struct http2_stream *s)
{
	if (s->failure)
		tell_failure(s);
	else if (tell_bodies(s) && s->in_told && s->out_over)
		tell_done(s);
}

void http2_tell_news(struct http2 *h)
{
	struct http2_stream *s;

	while ((s = h->news)) {
		take_off_news(s);
		if (s->x)
			tell_all(s);
	}
}
