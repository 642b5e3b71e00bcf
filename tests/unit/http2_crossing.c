/* SPDX-License-Identifier: Apache-2.0 */
#include "http2_crossing.h"

#include <stdlib.h>
#include <string.h>

#include "codec_relay.h"
#include "http2_wire.h"

enum { BODY_MAX = 4096, LITERAL_MAX = 126 };

/* What was judged, or what was read again. */
struct seen {
	unsigned n;
	struct message request;
	uint8_t body[BODY_MAX];
	size_t body_n;
	bool ended, failed;
	struct exchange x;
};

static void free_seen(struct seen *s)
{
	message_free(&s->request);
	body_free(&s->x.up);
	body_free(&s->x.down);
	free(s);
}

/* ---- The request as frames ---- */

static void put_literal(struct buf *b, struct span s)
{
	buf_put_u8(b, (uint8_t)s.n);
	buf_put_span(b, s);
}

/* A head of the way's fields; what is behind them is left in `r`. */
static void put_fields(struct buf *b, struct reader *r)
{
	while (reader_left(r)) {
		uint8_t n = reader_u8(r);
		struct span name, value;

		if (n == CROSSING_FIELDS_END)
			return;
		name = reader_take(r, n % (LITERAL_MAX + 1));
		value = reader_take(r, reader_u8(r) % (LITERAL_MAX + 1));
		if (r->bad)
			return;
		buf_put_u8(b, 0);
		put_literal(b, name);
		put_literal(b, value);
	}
}

static void make_frames(struct span way, struct wire *w, struct seen *judged)
{
	static uint8_t block[16384];
	struct buf b = buf_of(block, sizeof(block));
	struct reader r = reader_of(way);
	uint8_t flags = reader_u8(&r);
	bool ends = flags & CROSSING_ENDS;

	if (flags & CROSSING_PLAIN) {
		wire_field(&b, ":method", "POST");
		wire_field(&b, ":scheme", "https");
		wire_field(&b, ":authority", "a.example");
		wire_field(&b, ":path", "/");
	}
	put_fields(&b, &r);
	wire_preface(w);
	wire_frame(w, HEADERS, END_HEADERS | (ends ? END_STREAM : 0), 1, buf_span(&b));
	if (ends)
		return;
	judged->body_n = reader_left(&r) < BODY_MAX ? reader_left(&r) : BODY_MAX;
	if (judged->body_n)
		memcpy(judged->body, r.p + r.at, judged->body_n);
	wire_frame(w, DATA, END_STREAM, 1, span_of(judged->body, judged->body_n));
}

/* ---- To the server ---- */

static bool judge(void *ctx, struct message *request)
{
	struct seen *s = ctx;

	s->n++;
	return s->n == 1 && message_copy(request, &s->request);
}

static void pass_through(const struct wire *in, struct seen *judged, struct wire *text)
{
	static struct wire ignored;
	struct codec_relay relay;

	ignored.n = 0;
	relay_open(&relay, http2_server_new, http1_client_new);
	relay.server->tls = relay.client->tls = true;
	relay.judge = judge;
	relay.ctx = judged;
	wire_feed(relay.server, in, 0, &ignored);
	wire_collect(relay.client, text);
	wire_collect(relay.server, &ignored);
	wire_collect(relay.client, text);
	judged->failed = relay.failures > 0;
	relay_close(&relay);
}

/* ---- And read again ---- */

static struct exchange *on_request(void *ctx, struct codec *c, struct message *m)
{
	struct seen *s = ctx;

	s->n++;
	if (s->n > 1 || !message_copy(m, &s->request))
		return NULL;
	return &s->x;
}

static void on_filled(struct exchange *x, struct codec *c)
{
	struct seen *s = c->ctx;

	while (x->up.n) {
		struct span piece = body_peek(&x->up);

		if (piece.n > BODY_MAX - s->body_n)
			abort();
		memcpy(s->body + s->body_n, piece.p, piece.n);
		s->body_n += piece.n;
		body_take(&x->up, piece.n);
	}
	s->ended = x->up.ended;
}

static void on_drained(struct exchange *x, struct codec *c)
{
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	((struct seen *)c->ctx)->failed = true;
}

static void on_done(struct exchange *x, struct codec *c)
{
}

/* NULL, or what is wrong. */
static const char *read_again(const struct wire *text, struct seen *s)
{
	static const struct codec_events events = {
		.request = on_request,
		.body_filled = on_filled,
		.body_drained = on_drained,
		.failed = on_failed,
		.done = on_done,
	};
	struct codec *c = http1_server_new(&events, s);
	enum codec_error error;
	size_t taken;

	if (!c)
		abort();
	c->tls = true;
	error = c->ops->receive(c, span_of(text->p, text->n), &taken);
	c->ops->free(c);
	if (error || s->failed)
		return "the text is malformed";
	return taken == text->n ? NULL : "something is left behind the request";
}

/* ---- The same request? ---- */

static const char *compare_fields(const struct message *a, const struct message *b)
{
	if (a->n_fields != b->n_fields)
		return "there are other fields";
	for (size_t i = 0; i < a->n_fields; i++)
		if (!span_equal(a->fields[i].name, b->fields[i].name) ||
		    !span_equal(a->fields[i].value, b->fields[i].value))
			return "a field is another";
	return NULL;
}

static bool same_host(const struct message *a, const struct message *b)
{
	if (a->has_host != b->has_host || a->port != b->port)
		return false;
	return a->has_host ? name_equal(&a->host, &b->host) : addr_equal(&a->address, &b->address);
}

static const char *compare_heads(const struct message *a, const struct message *b)
{
	if (!span_equal(a->method, b->method) || !span_equal(a->path, b->path))
		return "the request line is another";
	if (!span_equal(a->scheme, b->scheme) || !span_equal(a->protocol, b->protocol))
		return "the protocol is another";
	if (!same_host(a, b) || !span_equal(a->authority, b->authority))
		return "the host is another";
	if (a->body == MESSAGE_BODY_LENGTH && a->length && b->length != a->length)
		return "the length is another";
	/* What the handshake of HTTP/1.1 needs comes to it (RFC 6455, 4.1). */
	return a->protocol.n ? NULL : compare_fields(a, b);
}

static const char *compare(const struct seen *a, const struct seen *b)
{
	const char *wrong = compare_heads(&a->request, &b->request);

	if (wrong || a->request.protocol.n)
		return wrong;
	if (a->failed)
		return b->ended && a->request.body == MESSAGE_BODY_STREAM ? "a cut body looks whole"
									  : NULL;
	if (a->body_n != b->body_n || memcmp(a->body, b->body, a->body_n) != 0)
		return "the body is another";
	return b->ended ? NULL : "the body has no end";
}

struct crossing crossing_try(struct span way)
{
	static struct wire in, text;
	struct seen *judged = calloc(1, sizeof(*judged)), *again = calloc(1, sizeof(*again));
	struct crossing c = {0};

	if (!judged || !again)
		abort();
	in.n = text.n = 0;
	make_frames(way, &in, judged);
	pass_through(&in, judged, &text);
	c.crossed = text.n > 0;
	if (judged->n > 1)
		c.wrong = "one request became two";
	else if (c.crossed && judged->n == 0)
		c.wrong = "a request that was not judged";
	else if (c.crossed)
		c.wrong = read_again(&text, again);
	if (c.crossed && !c.wrong)
		c.wrong = again->n == 1 ? compare(judged, again) : "it is not one request";
	free_seen(judged);
	free_seen(again);
	return c;
}
