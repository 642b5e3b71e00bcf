/* SPDX-License-Identifier: Apache-2.0 */
/* http2_client: the role that faces the real server. */
#include "broker/http2.h"
#include "broker/http2_head.h"

enum {
	STREAMS_UNTOLD = 100, /* that a server takes before its SETTINGS came (RFC 9113, 6.5.2) */
	INTERIM_COST = 5,     /* of which a block pays 4 */
};

/* ---- Answers ---- */

static const char *read_answer(struct http2_stream *s, bool ends, struct message *m)
{
	const char *why = http2_head_read_answer(&s->h->block, ends, m);

	if (why || !s->websocket || m->status < 200 || m->status >= 300)
		return why;
	if (ends)
		return "a WebSocket is granted, and ends";
	s->x->opaque = true;
	m->status = 101;
	m->body = MESSAGE_BODY_NONE;
	return NULL;
}

static void take_answer(struct http2_stream *s, bool ends)
{
	struct message m;
	const char *why;

	message_init(&m);
	why = read_answer(s, ends, &m);
	if (why) {
		http2_stream_refuse(s, CODEC_MALFORMED, why);
	} else {
		s->answered = m.status >= 200 || (s->websocket && m.status == 101);
		s->in_over = ends;
		if (!s->answered && !http2_limit_count_noise(&s->h->limit, INTERIM_COST))
			http2_break(s->h, CODEC_FLOOD, "too many interim answers");
		/* Told before the body is, which may be at its end already. */
		s->busy = true;
		s->h->codec.events->answer(s->x, &m);
		s->busy = false;
		if (s->dead)
			http2_stream_free(s);
		else if (ends)
			http2_stream_note(s);
	}
	message_free(&m);
}

static void take_head(struct http2_stream *s, bool ends)
{
	if (!s->x)
		return;
	if (s->answered)
		http2_inward_trailers(s, ends);
	else if (s->h->block.too_large)
		http2_stream_refuse(s, CODEC_TOO_LARGE, "the head of the answer is too large");
	else
		take_answer(s, ends);
}

/* ---- Requests ---- */

static bool has_room(const struct http2 *h)
{
	uint32_t max = STREAMS_UNTOLD;

	if (h->settings_known)
		max = nghttp2_session_get_remote_settings(h->session,
							  NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	return h->n_streams < max && h->n_streams < HTTP2_STREAMS_MAX;
}

static bool may_send(const struct http2 *h, const struct message *request)
{
	return h->codec.persistent && has_room(h) &&
	       nghttp2_session_check_request_allowed(h->session) &&
	       (request->protocol.n == 0 || h->settings_known);
}

static bool takes_websocket(const struct http2 *h)
{
	return nghttp2_session_get_remote_settings(h->session,
						   NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

/* Fails by the next produce: to send it anyway would be a fault of ours (RFC 8441, 3). */
static void refuse_websocket(struct http2_stream *s)
{
	s->closed = true;
	s->h->codec.why = "the server takes no WebSocket over HTTP/2";
	http2_stream_fail(s, CODEC_PEER);
}

static void submit(struct http2_stream *s, const struct message *request)
{
	nghttp2_data_provider body = http2_outward_provider();
	bool sends = http2_outward_begin(s, request) || s->websocket;
	struct http2_fields fields;
	struct http2 *h = s->h;
	int32_t id;

	http2_fields_of_request(request, &fields);
	id = nghttp2_submit_request(h->session, NULL, fields.nv, fields.n, sends ? &body : NULL, s);
	if (id > 0) {
		s->id = id;
		return;
	}
	s->closed = true;
	http2_stream_fail(s, CODEC_RETRY);
	if (id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE)
		h->codec.persistent = false;
	else
		http2_check(h, id);
}

static bool send_request(struct codec *c, struct exchange *x, const struct message *request)
{
	struct http2 *h = http2_of(c);
	struct http2_stream *s = may_send(h, request) ? http2_stream_new(h, 0) : NULL;

	if (!s)
		return false;
	http2_stream_bind(s, x);
	s->websocket = request->protocol.n > 0;
	if (s->websocket && !takes_websocket(h))
		refuse_websocket(s);
	else
		submit(s, request);
	return true;
}

static const struct codec_ops ops = {
	.receive = http2_receive,
	.receive_end = http2_receive_end,
	.produce = http2_produce,
	.send_request = send_request,
	.resume_send = http2_resume_send,
	.resume_receive = http2_resume_receive,
	.reset = http2_reset,
	.shut = http2_shut,
	.idle = http2_idle,
	.free = http2_free,
};

struct codec *http2_client_new(const struct codec_events *events, void *ctx)
{
	static const struct http2_role role = {.ops = &ops, .head = take_head};

	return http2_new(&role, events, ctx);
}
