/* SPDX-License-Identifier: Apache-2.0 */
#include "http2_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 160 };

static uint8_t octet_at(uint64_t offset)
{
	return (uint8_t)(offset * 31 + (offset >> 8) + (offset >> 19));
}

static struct peer_stream *stream_at(struct peer *p, int32_t id)
{
	int32_t i = (id - 1) / 2;

	if (id < 1 || i >= PEER_STREAMS)
		abort();
	return &p->streams[i];
}

/* ---- Bodies out ---- */

static size_t make_fields(const char *const *text, nghttp2_nv *nv)
{
	size_t n = 0;

	for (; text[0] && n < FIELDS_MAX; text += 2)
		nv[n++] = (nghttp2_nv){(uint8_t *)text[0], (uint8_t *)text[1], strlen(text[0]),
				       strlen(text[1]), NGHTTP2_NV_FLAG_NONE};
	return n;
}

static void submit_trailers(struct peer *p, struct peer_stream *s)
{
	char sum[24];
	const char *const echoed[] = {"grpc-status", "0", NULL};
	const char *const counted[] = {"x-sum", sum, NULL};
	nghttp2_nv nv[1];

	snprintf(sum, sizeof(sum), "%" PRIu64, s->sent);
	make_fields(s->echo ? echoed : counted, nv);
	if (nghttp2_submit_trailer(p->session, s->id, nv, 1) != 0)
		abort();
}

static ssize_t read_octets(nghttp2_session *session, int32_t id, uint8_t *out, size_t room,
			   uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct peer_stream *s = stream_at(ctx, id);
	size_t n = s->to_send < room ? (size_t)s->to_send : room;

	for (size_t i = 0; i < n; i++)
		out[i] = octet_at(s->sent + i);
	s->sent += n;
	s->to_send -= n;
	if (s->to_send || s->open)
		return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (s->trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		submit_trailers(ctx, s);
	}
	return (ssize_t)n;
}

void peer_send(struct peer *p, struct peer_stream *s, uint64_t octets, bool end)
{
	s->to_send += octets;
	s->open = s->open && !end;
	nghttp2_session_resume_data(p->session, s->id);
}

/* ---- What a server does ---- */

static void answer(struct peer *p, struct peer_stream *s, const char *const *fields, bool body)
{
	nghttp2_data_provider provider = {.read_callback = read_octets};
	nghttp2_nv nv[FIELDS_MAX];
	size_t n = make_fields(fields, nv);

	s->began = true;
	if (nghttp2_submit_response(p->session, s->id, nv, n, body ? &provider : NULL) != 0)
		abort();
}

static void say_interim(struct peer *p, struct peer_stream *s)
{
	const char *const early[] = {":status", "103", "link", "</a>", NULL};
	nghttp2_nv nv[2];

	make_fields(early, nv);
	if (nghttp2_submit_headers(p->session, 0, s->id, NULL, nv, 2, NULL) != 0)
		abort();
}

static void serve_head(struct peer *p, struct peer_stream *s)
{
	const char *const ok[] = {":status", "200", NULL};
	const char *const too_large[] = {":status", "413", NULL};
	const char *const refused[] = {
		":status", "200", "content-type", "application/grpc", "grpc-status", "12", NULL};

	if (sscanf(s->path, "/octets/%" SCNu64, &s->to_send) == 1) {
		s->trailers = true;
		answer(p, s, ok, true);
	} else if (strcmp(s->path, "/echo") == 0) {
		s->open = s->echo = s->trailers = true;
		answer(p, s, ok, true);
	} else if (strcmp(s->path, "/early") == 0) {
		answer(p, s, too_large, false);
	} else if (strcmp(s->path, "/trailers") == 0) {
		answer(p, s, refused, false);
	} else if (strcmp(s->path, "/interim") == 0) {
		say_interim(p, s);
		say_interim(p, s);
		answer(p, s, ok, false);
	}
}

static void serve_end(struct peer *p, struct peer_stream *s)
{
	char n[24];
	const char *const count[] = {":status", "204", "x-count", n, NULL};

	if (s->echo)
		peer_send(p, s, 0, true);
	if (s->began)
		return;
	snprintf(n, sizeof(n), "%" PRIu64, s->received);
	answer(p, s, count, false);
}

/* ---- What comes in ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	struct peer_stream *s = stream_at(ctx, frame->hd.stream_id);

	s->heads_n += (size_t)snprintf(s->heads + s->heads_n, PEER_HEADS - s->heads_n, "%s: %s\n",
				       (const char *)name, (const char *)value);
	if (s->heads_n >= PEER_HEADS)
		s->heads_n = PEER_HEADS - 1;
	if (strcmp((const char *)name, ":path") == 0)
		snprintf(s->path, sizeof(s->path), "%s", (const char *)value);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct peer *p = ctx;
	struct peer_stream *s = frame->hd.stream_id ? stream_at(p, frame->hd.stream_id) : NULL;

	if (frame->hd.type == NGHTTP2_GOAWAY) {
		p->goaway = true;
		p->goaway_error = frame->goaway.error_code;
	}
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		p->resets++;
	if (!s || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && s->heads_n + 1 < PEER_HEADS)
		s->heads[s->heads_n++] = '\n';
	s->id = frame->hd.stream_id;
	if (p->server && frame->hd.type == NGHTTP2_HEADERS &&
	    frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		serve_head(p, s);
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s->in_ended = true;
	if (p->server)
		serve_end(p, s);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *octets,
		   size_t n, void *ctx)
{
	struct peer *p = ctx;
	struct peer_stream *s = stream_at(p, id);

	for (size_t i = 0; i < n; i++)
		s->corrupt |= octets[i] != octet_at(s->received + i);
	s->received += n;
	p->received += n;
	if (s->echo)
		peer_send(p, s, n, false);
	if (p->hold)
		s->held += n;
	else
		nghttp2_session_consume(session, id, n);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
	struct peer *p = ctx;
	struct peer_stream *s = stream_at(p, id);

	s->closed = true;
	s->error = error;
	p->closed++;
	return 0;
}

/* ---- The session ---- */

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb) != 0)
		abort();
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	return cb;
}

static void say_settings(struct peer *p, int32_t window)
{
	const nghttp2_settings_entry entries[] = {
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)window},
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100},
		{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
	};

	if (nghttp2_submit_settings(p->session, 0, window ? entries : entries + 1,
				    (window ? 2 : 1) + (size_t)p->server) != 0)
		abort();
	if (window && nghttp2_session_set_local_window_size(p->session, 0, 0, window) != 0)
		abort();
}

void peer_open(struct peer *p, bool server, int32_t window)
{
	nghttp2_session_callbacks *cb = make_callbacks();
	nghttp2_option *options;

	*p = (struct peer){.server = server};
	p->streams = calloc(PEER_STREAMS, sizeof(*p->streams));
	if (!p->streams || nghttp2_option_new(&options) != 0)
		abort();
	nghttp2_option_set_no_auto_window_update(options, 1);
	if ((server ? nghttp2_session_server_new2(&p->session, cb, p, options)
		    : nghttp2_session_client_new2(&p->session, cb, p, options)) != 0)
		abort();
	nghttp2_option_del(options);
	nghttp2_session_callbacks_del(cb);
	say_settings(p, window);
}

void peer_close(struct peer *p)
{
	nghttp2_session_del(p->session);
	free(p->streams);
}

struct peer_stream *peer_request(struct peer *p, const char *const *fields, uint64_t octets,
				 bool open)
{
	nghttp2_data_provider provider = {.read_callback = read_octets};
	bool body = octets != UINT64_MAX;
	nghttp2_nv nv[FIELDS_MAX];
	struct peer_stream *s;
	int32_t id = nghttp2_submit_request(p->session, NULL, nv, make_fields(fields, nv),
					    body ? &provider : NULL, NULL);

	if (id < 0)
		abort();
	s = stream_at(p, id);
	s->id = id;
	s->open = open;
	s->to_send = body ? octets : 0;
	return s;
}

void peer_release(struct peer *p)
{
	p->hold = false;
	for (size_t i = 0; i < PEER_STREAMS; i++) {
		nghttp2_session_consume(p->session, p->streams[i].id, p->streams[i].held);
		p->streams[i].held = 0;
	}
}

void peer_receive(struct peer *p, struct span in)
{
	if (nghttp2_session_mem_recv(p->session, in.p, in.n) < 0)
		abort();
}

struct span peer_produce(struct peer *p, size_t max)
{
	struct span out;
	const uint8_t *octets;
	ssize_t n;

	if (p->unsent.n == 0) {
		n = nghttp2_session_mem_send(p->session, &octets);
		if (n < 0)
			abort();
		p->unsent = span_of(octets, (size_t)n);
	}
	out = span_of(p->unsent.p, p->unsent.n < max ? p->unsent.n : max);
	if (out.n)
		p->unsent = span_of(p->unsent.p + out.n, p->unsent.n - out.n);
	return out;
}
