/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2.h"

#include <stdlib.h>

#include "base/compiler.h"

enum {
	ACKS_MAX = 128, /* answers to PING and SETTINGS that may wait */
	/* As a list in the sense of RFC 9113, 6.5.2: with 32 octets a field. */
	LIST_SIZE = MESSAGE_HEAD_MAX + HTTP2_BLOCK_FIELDS * 32,
};

/* ---- The end of all ---- */

uint32_t http2_wire_error(enum codec_error why)
{
	switch (why) {
	case CODEC_OK:
		return NGHTTP2_NO_ERROR;
	case CODEC_FLOOD:
		return NGHTTP2_ENHANCE_YOUR_CALM;
	case CODEC_MALFORMED:
	case CODEC_TOO_LARGE:
		return NGHTTP2_PROTOCOL_ERROR;
	case CODEC_RETRY:
		return NGHTTP2_REFUSED_STREAM;
	case CODEC_PEER:
		return NGHTTP2_CANCEL;
	case CODEC_NO_MEMORY:
		break;
	}
	return NGHTTP2_INTERNAL_ERROR;
}

static void cut_all(struct http2 *h, enum codec_error why)
{
	for (struct http2_stream *s = h->streams; s; s = s->next)
		http2_stream_cut(s, why);
}

void http2_set_error(struct http2 *h, enum codec_error why, const char *text)
{
	h->error = why;
	h->codec.why = text;
	h->codec.persistent = false;
	cut_all(h, why);
}

void http2_break(struct http2 *h, enum codec_error why, const char *text)
{
	if (h->error)
		return;
	nghttp2_session_terminate_session(h->session, http2_wire_error(why));
	http2_set_error(h, why, text);
}

static enum codec_error error_of(int rv)
{
	switch (rv) {
	case NGHTTP2_ERR_NOMEM:
		return CODEC_NO_MEMORY;
	case NGHTTP2_ERR_FLOODED:
	case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
		return CODEC_FLOOD;
	default:
		return CODEC_MALFORMED;
	}
}

bool http2_check(struct http2 *h, int rv)
{
	if (rv < 0)
		http2_break(h, error_of(rv), nghttp2_strerror(rv));
	return rv >= 0;
}

/* ---- Making one ---- */

static nghttp2_option *make_options(void)
{
	nghttp2_option *o;

	if (nghttp2_option_new(&o) != 0)
		return NULL;
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_outbound_ack(o, ACKS_MAX);
	/* HPACK may need a few octets more than the fields have. */
	nghttp2_option_set_max_send_header_block_length(o, 2 * MESSAGE_HEAD_MAX);
	return o;
}

static bool make_session(struct http2 *h)
{
	nghttp2_mem mem = http2_memory_of(h);
	nghttp2_session_callbacks *cb = http2_frames_callbacks();
	nghttp2_option *options = make_options();
	int rv = NGHTTP2_ERR_NOMEM;

	if (cb && options)
		rv = h->codec.server
			     ? nghttp2_session_server_new3(&h->session, cb, h, options, &mem)
			     : nghttp2_session_client_new3(&h->session, cb, h, options, &mem);
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(options);
	return rv == 0;
}

static bool say_settings(struct http2 *h)
{
	static const nghttp2_settings_entry server[] =
		{
			{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX},
			{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_WINDOW},
			{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIST_SIZE},
			{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
			{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
		},
					    client[] = {
						    {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
						    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
						     HTTP2_WINDOW},
						    {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
						     LIST_SIZE},
					    };
	bool s = h->codec.server;

	return nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, s ? server : client,
				       s ? sg_array_len(server) : sg_array_len(client)) == 0 &&
	       nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
						     HTTP2_WINDOW_CONNECTION) == 0;
}

struct codec *http2_new(const struct http2_role *role, const struct codec_events *events, void *ctx)
{
	struct http2 *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->codec = (struct codec){
		.ops = role->ops, .events = events, .ctx = ctx, .server = role->server};
	h->codec.persistent = true;
	h->role = role;
	h->news_end = &h->news;
	h->pool = HTTP2_POOL;
	http2_limit_begin(&h->limit, role->server, mono_now());
	if (make_session(h) && say_settings(h))
		return &h->codec;
	http2_free(&h->codec);
	return NULL;
}

void http2_free(struct codec *c)
{
	struct http2 *h = http2_of(c);

	while (h->streams)
		http2_stream_free(h->streams);
	http2_block_free(&h->block);
	nghttp2_session_del(h->session);
	free(h);
}

/* ---- Operations that the roles share ---- */

enum codec_error http2_receive(struct codec *c, struct span in, size_t *taken)
{
	struct http2 *h = http2_of(c);
	ssize_t rv;

	*taken = in.n;
	if (h->error)
		return h->error;
	http2_limit_tick(&h->limit, mono_now());
	if (http2_limit_scan(&h->limit, in)) {
		rv = nghttp2_session_mem_recv(h->session, in.p, in.n);
		http2_check(h, (int)(rv < 0 ? rv : 0));
	} else {
		http2_break(h, CODEC_FLOOD, "too many frames say nothing of a request");
	}
	http2_tell_news(h);
	return h->error;
}

bool http2_receive_end(struct codec *c)
{
	struct http2 *h = http2_of(c);
	bool whole = h->n_streams == 0;

	cut_all(h, CODEC_PEER);
	http2_tell_news(h);
	return whole;
}

/* The frame that is under way first; then the next. False: nothing to say. */
static bool produce_some(struct http2 *h, struct buf *out)
{
	size_t room = out->cap - out->n, n;
	const uint8_t *p;
	ssize_t rv;

	if (h->unsent.n == 0) {
		rv = nghttp2_session_mem_send(h->session, &p);
		http2_check(h, (int)(rv < 0 ? rv : 0));
		if (rv <= 0)
			return false;
		h->unsent = span_of(p, (size_t)rv);
	}
	n = h->unsent.n < room ? h->unsent.n : room;
	buf_put(out, h->unsent.p, n);
	h->unsent = span_of(h->unsent.p + n, h->unsent.n - n);
	return true;
}

static bool has_exchanges(const struct http2 *h)
{
	for (const struct http2_stream *s = h->streams; s; s = s->next)
		if (s->x)
			return true;
	return false;
}

static bool is_silent(const struct http2 *h)
{
	return h->unsent.n == 0 && !nghttp2_session_want_write(h->session);
}

size_t http2_produce(struct codec *c, struct buf *out)
{
	struct http2 *h = http2_of(c);
	size_t before = out->n;

	http2_tell_news(h);
	while (out->n < out->cap && produce_some(h, out))
		;
	http2_tell_news(h);
	c->finished = !c->persistent && !has_exchanges(h) && is_silent(h);
	return out->n - before;
}

void http2_resume_send(struct codec *c, struct exchange *x)
{
	struct http2_stream *s = http2_stream_of(http2_of(c), x);

	/* No error: it may not have been held, or its head is yet to go. */
	if (s && !s->closed)
		nghttp2_session_resume_data(s->h->session, s->id);
}

void http2_resume_receive(struct codec *c, struct exchange *x)
{
	struct http2_stream *s = http2_stream_of(http2_of(c), x);

	if (!s)
		return;
	http2_inward_credit(s);
	if (s->spill.n || (s->in_over && !s->in_told))
		http2_stream_note(s);
}

void http2_reset(struct codec *c, struct exchange *x, enum codec_error why)
{
	struct http2 *h = http2_of(c);
	struct http2_stream *s = http2_stream_of(h, x);
	int32_t id;

	if (!s)
		return;
	id = s->closed ? 0 : s->id;
	http2_stream_free(s);
	if (id)
		http2_check(h, nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id,
							 http2_wire_error(why)));
}

void http2_shut(struct codec *c)
{
	struct http2 *h = http2_of(c);

	if (!h->codec.persistent)
		return;
	h->codec.persistent = false;
	http2_check(h, nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
					     nghttp2_session_get_last_proc_stream_id(h->session),
					     NGHTTP2_NO_ERROR, NULL, 0));
}

bool http2_idle(const struct codec *c)
{
	const struct http2 *h = (const struct http2 *)c;

	return !h->streams && is_silent(h);
}
