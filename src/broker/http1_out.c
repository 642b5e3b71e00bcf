/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http1_out.h"

#include <stdio.h>

void http1_out_begin(struct http1_out *o, enum http1_framing framing, uint64_t length,
		     struct body *from)
{
	o->framing = framing;
	o->left = length;
	o->from = from;
	o->failed = false;
	if (framing == HTTP1_FRAMING_NONE || (framing == HTTP1_FRAMING_LENGTH && length == 0))
		o->from = NULL;
}

void http1_out_drop(struct http1_out *o)
{
	http1_text_free(&o->text);
	o->from = NULL;
}

static size_t room_in(const struct buf *b)
{
	return b->cap - b->n;
}

static void produce_text(struct http1_out *o, struct buf *to)
{
	size_t left = http1_text_left(&o->text), n = left < room_in(to) ? left : room_in(to);

	if (left == 0)
		return;
	buf_put(to, o->text.p + o->text.at, n);
	o->text.at += n;
	if (n == left)
		http1_text_free(&o->text);
}

static size_t fail(struct http1_out *o)
{
	o->failed = true;
	return 0;
}

static size_t take(struct http1_out *o, struct buf *to, size_t most)
{
	struct span piece = body_peek(o->from);
	size_t n = piece.n < most ? piece.n : most;

	buf_put(to, piece.p, n);
	body_take(o->from, n);
	return n;
}

static size_t produce_counted(struct http1_out *o, struct buf *to)
{
	size_t n;

	if (o->from->n > o->left || (body_is_done(o->from) && o->left))
		return fail(o);
	n = take(o, to, room_in(to));
	o->left -= n;
	if (o->left == 0)
		o->from = NULL;
	return n;
}

static size_t produce_uncounted(struct http1_out *o, struct buf *to)
{
	size_t n = take(o, to, room_in(to));

	if (body_is_done(o->from))
		o->from = NULL;
	return n;
}

static size_t end_chunks(struct http1_out *o, struct buf *to)
{
	if (!http1_print_last_chunk(&o->text, o->from->trailers))
		return fail(o);
	o->from = NULL;
	produce_text(o, to);
	return 0;
}

static size_t produce_chunk(struct http1_out *o, struct buf *to)
{
	enum { OVERHEAD = sizeof("10000\r\n\r\n") - 1 };
	size_t room = room_in(to), n = body_peek(o->from).n;
	char line[sizeof(n) * 2 + sizeof("\r\n")];

	if (body_is_done(o->from))
		return end_chunks(o, to);
	if (n == 0 || room < HTTP1_OUT_ROOM_MIN)
		return 0;
	n = n < room - OVERHEAD ? n : room - OVERHEAD;
	buf_put(to, line, (size_t)snprintf(line, sizeof(line), "%zx\r\n", n));
	take(o, to, n);
	buf_put(to, "\r\n", 2);
	return n;
}

static size_t produce_body(struct http1_out *o, struct buf *to)
{
	if (o->from->failed)
		return fail(o);
	switch (o->framing) {
	case HTTP1_FRAMING_LENGTH:
		return produce_counted(o, to);
	case HTTP1_FRAMING_CHUNKED:
		return produce_chunk(o, to);
	case HTTP1_FRAMING_CLOSE:
		return produce_uncounted(o, to);
	case HTTP1_FRAMING_NONE:
		break;
	}
	return 0;
}

size_t http1_out_produce(struct http1_out *o, struct buf *to)
{
	size_t n, taken = 0;

	produce_text(o, to);
	while (o->from && !o->failed && http1_text_left(&o->text) == 0) {
		n = produce_body(o, to);
		if (n == 0)
			break;
		taken += n;
	}
	return taken;
}
