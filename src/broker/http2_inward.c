/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2.h"

#include <stdlib.h>

#include "broker/http2_head.h"

/* ---- What the body has no room for ---- */

static bool spill_reserve(struct http2_spill *sp, size_t more)
{
	size_t cap = sp->cap ? sp->cap : HTTP2_WINDOW;
	uint8_t *p;

	if (sp->at + sp->n + more <= sp->cap)
		return true;
	if (sp->at)
		memmove(sp->p, sp->p + sp->at, sp->n);
	sp->at = 0;
	while (cap < sp->n + more)
		cap *= 2;
	if (cap == sp->cap)
		return true;
	p = realloc(sp->p, cap);
	if (!p)
		return false;
	sp->p = p;
	sp->cap = cap;
	return true;
}

static bool spill_put(struct http2_spill *sp, struct span octets)
{
	if (!spill_reserve(sp, octets.n))
		return false;
	memcpy(sp->p + sp->at + sp->n, octets.p, octets.n);
	sp->n += octets.n;
	return true;
}

static void spill_free(struct http2_spill *sp)
{
	free(sp->p);
	*sp = (struct http2_spill){0};
}

static void spill_take(struct http2_spill *sp, size_t n)
{
	sp->at += n;
	sp->n -= n;
	if (sp->n == 0)
		spill_free(sp);
}

/* ---- Windows ---- */

static void consume(struct http2_stream *s, size_t n)
{
	struct http2 *h = s->h;

	s->outstanding -= n;
	http2_check(h, nghttp2_session_consume_connection(h->session, n));
	if (!s->closed && !s->in_over)
		http2_check(h, nghttp2_session_consume_stream(h->session, s->id, n));
}

/* A window that was drained whole may be what holds the sender back. */
static void grow(struct http2_stream *s, size_t n)
{
	struct http2 *h = s->h;

	s->drained += n;
	if (s->drained < s->window || s->window == HTTP2_WINDOW_MAX || h->pool < s->window ||
	    s->closed || s->in_over)
		return;
	h->pool -= s->window;
	s->window *= 2;
	s->drained = 0;
	http2_check(h, nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, s->id,
							     (int32_t)s->window));
}

static void discard(struct http2_stream *s)
{
	spill_free(&s->spill);
	if (s->outstanding)
		consume(s, s->outstanding);
}

void http2_inward_credit(struct http2_stream *s)
{
	const struct body *b = http2_body_in(s);
	uint64_t n = b->passed - s->credited;

	s->credited = b->passed;
	if (b->failed) {
		discard(s);
		return;
	}
	if (n > s->outstanding)
		n = s->outstanding;
	if (n == 0)
		return;
	consume(s, n);
	grow(s, n);
}

void http2_inward_free(struct http2_stream *s)
{
	discard(s);
	s->h->pool += s->window - HTTP2_WINDOW;
	s->window = HTTP2_WINDOW;
	if (s->trailers)
		message_free(s->trailers);
	free(s->trailers);
	s->trailers = NULL;
}

/* ---- Into the body ---- */

/* False: no memory. */
static bool move_spill(struct http2_stream *s, struct body *b)
{
	struct http2_spill *sp = &s->spill;

	while (sp->n && body_room(b)) {
		size_t n = sp->n < body_room(b) ? sp->n : body_room(b);

		if (!body_put(b, span_of(sp->p + sp->at, n)))
			return false;
		spill_take(sp, n);
	}
	return true;
}

static bool put(struct http2_stream *s, struct body *b, struct span octets)
{
	size_t n;

	if (!move_spill(s, b))
		return false;
	n = body_room(b) < octets.n ? body_room(b) : octets.n;
	if (s->spill.n)
		n = 0;
	if (n && !body_put(b, span_of(octets.p, n)))
		return false;
	return n == octets.n || spill_put(&s->spill, span_of(octets.p + n, octets.n - n));
}

void http2_inward_put(struct http2_stream *s, struct span octets)
{
	s->outstanding += octets.n;
	if (!s->x || http2_body_in(s)->failed) {
		discard(s);
		return;
	}
	if (put(s, http2_body_in(s), octets)) {
		s->filled = true;
		http2_stream_note(s);
		return;
	}
	http2_stream_refuse(s, CODEC_NO_MEMORY, "there is no memory for a body");
}

bool http2_inward_move(struct http2_stream *s)
{
	struct body *b = http2_body_in(s);
	size_t before = b->n;

	if (b->failed)
		discard(s);
	else if (!move_spill(s, b))
		http2_stream_refuse(s, CODEC_NO_MEMORY, "there is no memory for a body");
	if (!s->in_over || s->spill.n || s->in_told)
		return b->n > before;
	s->in_told = true;
	b->ended = !b->failed;
	b->trailers = s->trailers;
	s->trailers = NULL;
	return true;
}

static struct message *make_trailers(struct http2_stream *s, const char **why)
{
	struct message *m = malloc(sizeof(*m));

	if (!m) {
		*why = "there is no memory for trailers";
		return NULL;
	}
	message_init(m);
	*why = http2_head_read_trailers(&s->h->block, m);
	if (!*why)
		return m;
	message_free(m);
	free(m);
	return NULL;
}

void http2_inward_trailers(struct http2_stream *s, bool ends)
{
	const char *why = "trailers do not end the stream";

	if (s->h->block.too_large) {
		http2_stream_refuse(s, CODEC_TOO_LARGE, "the trailers are too large");
		return;
	}
	if (ends)
		s->trailers = make_trailers(s, &why);
	if (!s->trailers) {
		http2_stream_refuse(s, CODEC_MALFORMED, why);
		return;
	}
	s->in_over = true;
	http2_stream_note(s);
}
