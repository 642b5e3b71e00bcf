/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_server: the role that faces the sandbox's client. A head that is too large is answered with
 * 431 here: nobody else ever hears of it.
 */
#include "broker/http2.h"
#include "broker/http2_head.h"

#include "base/compiler.h"

/* ---- Requests ---- */

static void answer_too_large(struct http2_stream *s, bool ends)
{
	struct message m;
	struct http2_fields fields;
	struct http2 *h = s->h;

	message_init(&m);
	m.status = 431;
	http2_fields_of_answer(&m, false, &fields);
	s->in_over = ends;
	if (!http2_limit_count_reset(&h->limit))
		http2_break(h, CODEC_FLOOD, "too many requests are too large");
	else
		http2_check(h,
			    nghttp2_submit_response(h->session, s->id, fields.nv, fields.n, NULL));
}

static const char *read_request(struct http2 *h, bool ends, struct message *m)
{
	const char *why = http2_head_read_request(&h->block, ends, m);

	if (!why && !span_equal(m->scheme, span_of_string(h->codec.tls ? "https" : "http")))
		why = "the :scheme is not the connection's";
	return why;
}

/* NULL: nobody takes it, and it was surely not worked on. */
static struct exchange *offer(struct http2_stream *s, struct message *m)
{
	struct http2 *h = s->h;
	struct exchange *x;

	h->opening = s;
	x = h->codec.events->request(h->codec.ctx, &h->codec, m);
	h->opening = NULL;
	if (x && !s->x && !s->dead)
		http2_stream_bind(s, x);
	return x;
}

static void begin_exchange(struct http2_stream *s, struct message *m, bool ends)
{
	struct http2 *h = s->h;

	s->websocket = m->protocol.n > 0;
	s->head = span_equal(m->method, span_of_string("HEAD"));
	s->expects = m->expects_continue;
	s->busy = true;
	if (!offer(s, m) && !s->dead) {
		http2_check(h, nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id,
							 NGHTTP2_REFUSED_STREAM));
		http2_stream_free(s);
	}
	s->busy = false;
	if (s->dead) {
		http2_stream_free(s);
		return;
	}
	if (!ends)
		return;
	s->in_over = true;
	http2_stream_note(s);
}

static void take_request(struct http2_stream *s, bool ends)
{
	struct message m;
	const char *why;

	message_init(&m);
	why = read_request(s->h, ends, &m);
	if (why)
		http2_stream_refuse(s, CODEC_MALFORMED, why);
	else
		begin_exchange(s, &m, ends);
	message_free(&m);
}

static void take_head(struct http2_stream *s, bool ends)
{
	if (s->x)
		http2_inward_trailers(s, ends);
	else if (s->h->block.too_large)
		answer_too_large(s, ends);
	else
		take_request(s, ends);
}

/* ---- Answers ---- */

static void send_interim(struct http2_stream *s, const struct message *answer)
{
	struct http2_fields fields;

	if (answer->status == 100 && !s->expects)
		return;
	if (answer->status == 100)
		s->expects = false;
	http2_fields_of_answer(answer, false, &fields);
	http2_check(s->h, nghttp2_submit_headers(s->h->session, NGHTTP2_FLAG_NONE, s->id, NULL,
						 fields.nv, fields.n, NULL));
}

static bool has_body(struct http2_stream *s, const struct message *answer)
{
	return !s->head && answer->status != 204 && answer->status != 304 &&
	       http2_outward_begin(s, answer);
}

static void send_final(struct http2_stream *s, const struct message *answer, bool granted)
{
	nghttp2_data_provider body = http2_outward_provider();
	bool sends = granted || has_body(s, answer);
	struct http2_fields fields;

	s->answered = true;
	s->x->opaque = granted;
	http2_fields_of_answer(answer, granted, &fields);
	http2_check(s->h, nghttp2_submit_response(s->h->session, s->id, fields.nv, fields.n,
						  sends ? &body : NULL));
}

static void send_answer(struct codec *c, struct exchange *x, const struct message *answer)
{
	struct http2_stream *s = http2_stream_of(http2_of(c), x);
	bool granted;

	if (!s || s->closed || s->answered)
		return;
	granted = s->websocket && answer->status == 101;
	if (answer->status < 200 && !granted)
		send_interim(s, answer);
	else
		send_final(s, answer, granted);
}

static void resume_receive(struct codec *c, struct exchange *x)
{
	struct http2_stream *s = http2_stream_of(http2_of(c), x);
	struct message go_on;

	if (s && s->expects && !s->answered && !s->closed) {
		message_init(&go_on);
		go_on.status = 100;
		send_interim(s, &go_on);
	}
	http2_resume_receive(c, x);
}

static const struct codec_ops ops = {
	.receive = http2_receive,
	.receive_end = http2_receive_end,
	.produce = http2_produce,
	.send_answer = send_answer,
	.resume_send = http2_resume_send,
	.resume_receive = resume_receive,
	.reset = http2_reset,
	.shut = http2_shut,
	.idle = http2_idle,
	.free = http2_free,
};

struct codec *http2_server_new(const struct codec_events *events, void *ctx)
{
	static const struct http2_role role = {.ops = &ops, .head = take_head, .server = true};

	return http2_new(&role, events, ctx);
}
