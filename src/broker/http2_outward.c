/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2.h"

enum {
	PAID_BY_DATA = 4, /* frames of noise: WINDOW_UPDATE for both, PING and its like */
	PAYS_FROM = 1024, /* octets; a smaller frame pays when it was not the window that cut it */
};

static size_t copy_body(struct body *b, uint8_t *out, size_t room)
{
	size_t n = 0;

	for (;;) {
		struct span piece = body_peek(b);
		size_t take = piece.n < room - n ? piece.n : room - n;

		if (take == 0)
			return n;
		memcpy(out + n, piece.p, take);
		body_take(b, take);
		n += take;
	}
}

/* The end of the body, with trailers or without. False: it must not look whole. */
static bool finish(struct http2_stream *s, const struct message *trailers, uint32_t *flags)
{
	struct http2_fields fields;

	if (s->has_length && s->sent != s->length)
		return false;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (!trailers || trailers->n_fields == 0)
		return true;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	http2_fields_of_trailers(trailers, &fields);
	return nghttp2_submit_trailer(s->h->session, s->id, fields.nv, fields.n) == 0;
}

static void note_sent(struct http2_stream *s, size_t n, size_t room)
{
	s->sent += n;
	if (n < room || n >= PAYS_FROM)
		http2_limit_pay(&s->h->limit, PAID_BY_DATA);
	s->drained_out = true;
	http2_stream_note(s);
}

/* Anything but octets, an end or "later" ends in RST_STREAM: a cut body never looks whole. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *out, size_t room,
			 uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, id);
	struct body *b;
	size_t n;

	if (!s || !s->x || s->failure)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	b = http2_body_out(s);
	if (b->failed)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = copy_body(b, out, room);
	if (n)
		note_sent(s, n, room);
	if (body_is_done(b))
		return finish(s, b->trailers, flags) ? (ssize_t)n
						     : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
}

bool http2_outward_begin(struct http2_stream *s, const struct message *m)
{
	s->has_length = m->body == MESSAGE_BODY_LENGTH;
	s->length = m->length;
	return m->body == MESSAGE_BODY_STREAM || (s->has_length && m->length);
}

nghttp2_data_provider http2_outward_provider(void)
{
	return (nghttp2_data_provider){.read_callback = read_body};
}
