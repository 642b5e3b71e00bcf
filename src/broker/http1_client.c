/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_client: HTTP/1.x towards the real server (RFC 9110, RFC 9112).
 *
 * Theory of operation
 *
 * There is one exchange at a time, or none. Its request goes out while its answer comes in: heads
 * with 1xx, the final head, a body into `down`.
 *
 *	none -> exchange	send_request()
 *	exchange -> none	the answer is whole; the connection goes on if the request went
 *				out whole
 *	any -> over		malformed, reset, the end of the server
 *
 * An octet that no request asked for makes the connection over at once: it would be taken for the
 * begin of the next answer. So does one that comes before the first octet of a request went out.
 *
 * After 101, which only a request for WebSocket may get, the exchange is opaque: octets go both
 * ways until both ends were seen.
 */
#include <stdlib.h>

#include "base/compiler.h"
#include "broker/codec.h"
#include "broker/http1_head.h"
#include "broker/http1_in.h"
#include "broker/http1_out.h"
#include "http/text.h"

enum {
	STATUS_SWITCHING = 101,
	STATUS_FINAL = 200,
	STATUS_NO_CONTENT = 204,
	STATUS_NOT_MODIFIED = 304,
};

struct http1_client {
	struct codec codec;
	struct exchange *x;
	struct http1_in in;
	struct http1_out out;
	bool over;	/* nothing more is read or sent */
	bool begun;	/* an octet of the request went out */
	bool served;	/* an exchange before this one has come to its end */
	bool head;	/* the request is HEAD */
	bool websocket; /* ... asks for it */
	bool opaque;	/* ... and got it */
};

static struct http1_client *client_of(struct codec *c)
{
	return sg_container_of(c, struct http1_client, codec);
}

static struct exchange *forget(struct http1_client *s)
{
	struct exchange *x = s->x;

	s->x = NULL;
	if (x)
		x->upstream.stream = NULL;
	return x;
}

static void end(struct http1_client *s)
{
	s->over = s->codec.finished = true;
	s->codec.persistent = false;
	http1_in_release(&s->in);
	http1_out_drop(&s->out);
}

/* In the middle of an exchange: neither side of it may look whole. */
static enum codec_error fail(struct http1_client *s, enum codec_error error, const char *why)
{
	struct exchange *x = forget(s);

	s->codec.why = why;
	s->codec.cut = x != NULL;
	end(s);
	if (!x)
		return error;
	x->down.failed = true;
	s->codec.events->failed(x, &s->codec, error);
	return error;
}

/* ---- Requests ---- */

static bool is_method(const struct message *m, const char *method)
{
	return span_equal(m->method, span_of_string(method));
}

/* Without a length some servers answer these with 411 (RFC 9110, 8.6). */
static bool wants_length(const struct message *m)
{
	return is_method(m, "POST") || is_method(m, "PUT") || is_method(m, "PATCH");
}

static enum http1_framing framing_of(const struct message *m)
{
	switch (m->body) {
	case MESSAGE_BODY_LENGTH:
		return HTTP1_FRAMING_LENGTH;
	case MESSAGE_BODY_STREAM:
		return HTTP1_FRAMING_CHUNKED;
	case MESSAGE_BODY_NONE:
		break;
	}
	return wants_length(m) ? HTTP1_FRAMING_LENGTH : HTTP1_FRAMING_NONE;
}

static const char *connection_of(const struct message *m)
{
	if (m->protocol.n)
		return "upgrade";
	return message_find(m, "te", NULL) ? "te" : NULL;
}

static bool client_send_request(struct codec *c, struct exchange *x, const struct message *m)
{
	struct http1_client *s = client_of(c);
	enum http1_framing framing = framing_of(m);

	if (s->x || s->over || !c->persistent)
		return false;
	if (!http1_is_sound_request(m)) {
		c->why = "the request cannot be written in HTTP/1.1";
		c->persistent = false;
		return false;
	}
	if (!http1_print_request(&s->out.text, m, framing, connection_of(m)))
		return false;
	http1_out_begin(&s->out, framing, m->length, &x->up);
	s->x = x;
	x->upstream.stream = s;
	s->begun = s->opaque = false;
	c->stale = s->served;
	s->head = is_method(m, "HEAD");
	s->websocket = m->protocol.n > 0;
	s->in.phase = HTTP1_HEAD;
	return true;
}

/* The answer is whole. A request that did not go out whole ends with the connection. */
static void finish_exchange(struct http1_client *s)
{
	struct exchange *x = forget(s);

	s->served = true;
	if (!http1_out_is_done(&s->out) || !s->codec.persistent)
		end(s);
	s->codec.events->done(x, &s->codec);
}

static void finish_sending(struct http1_client *s)
{
	s->codec.finished = true;
	if (s->in.phase == HTTP1_END)
		finish_exchange(s);
}

static size_t client_produce(struct codec *c, struct buf *out)
{
	struct http1_client *s = client_of(c);
	size_t before = out->n;

	if (http1_out_produce(&s->out, out) && s->x)
		c->events->body_drained(s->x, c);
	s->begun = s->begun || out->n > before;
	if (s->x && s->out.failed)
		fail(s, CODEC_PEER, "the client ended in the middle of a body");
	else if (s->x && s->opaque && http1_out_is_done(&s->out))
		finish_sending(s);
	return out->n - before;
}

/* ---- Answers ---- */

static bool has_no_body(const struct http1_client *s, uint16_t status)
{
	return s->head || status == STATUS_NO_CONTENT || status == STATUS_NOT_MODIFIED;
}

static void begin_body(struct http1_client *s, struct message *m, const struct http1_hop *hop)
{
	if (has_no_body(s, m->status)) {
		if (m->body == MESSAGE_BODY_STREAM || m->status == STATUS_NO_CONTENT)
			m->body = MESSAGE_BODY_NONE;
		s->in.phase = HTTP1_END;
		return;
	}
	http1_in_begin(&s->in, m, hop);
}

/* The end of the answer was put into `down`: it is told, and is that of the exchange. */
static void answer_is_whole(struct http1_client *s)
{
	s->x->down.ended = true;
	s->codec.events->body_filled(s->x, &s->codec);
	if (s->x)
		finish_exchange(s);
}

static void take_final(struct http1_client *s, struct message *m, const struct http1_hop *hop)
{
	begin_body(s, m, hop);
	if (!hop->persistent || s->in.phase == HTTP1_UNTIL_END)
		s->codec.persistent = false;
	s->codec.events->answer(s->x, m);
	if (s->x && s->in.phase == HTTP1_END)
		answer_is_whole(s);
}

static void take_switch(struct http1_client *s, struct message *m)
{
	m->body = MESSAGE_BODY_NONE;
	s->opaque = s->x->opaque = true;
	s->codec.persistent = false;
	s->in.phase = HTTP1_UNTIL_END;
	s->x->up.ended = false;
	http1_out_begin(&s->out, HTTP1_FRAMING_CLOSE, 0, &s->x->up);
	s->codec.events->answer(s->x, m);
}

static void take_interim(struct http1_client *s, struct message *m)
{
	m->body = MESSAGE_BODY_NONE;
	s->codec.events->answer(s->x, m);
}

static const char *take_answer(struct http1_client *s, struct message *m,
			       const struct http1_hop *hop)
{
	if (m->status == STATUS_SWITCHING) {
		if (!s->websocket || !hop->upgrade || http1_text_left(&s->out.text))
			return "the server switches to a protocol that was not asked for";
		take_switch(s, m);
	} else if (m->status < STATUS_FINAL) {
		take_interim(s, m);
	} else {
		take_final(s, m, hop);
	}
	return NULL;
}

static enum codec_error read_section(struct http1_client *s, struct span section)
{
	struct message m;
	struct http1_hop hop;
	const char *why;

	message_init(&m);
	why = http1_read_answer(section, &m, &hop);
	http1_in_release(&s->in);
	if (!why)
		why = take_answer(s, &m, &hop);
	message_free(&m);
	return why ? fail(s, CODEC_MALFORMED, why) : CODEC_OK;
}

static enum codec_error read_head(struct http1_client *s, struct span in, size_t *taken)
{
	const char *why = NULL;
	struct span section;
	enum http1_head_result result = http1_in_head(&s->in, in, taken, &section, &why);
	enum codec_error error = http1_head_error(result, &why);

	if (error)
		return fail(s, error, why);
	return result == HTTP1_HEAD_WHOLE ? read_section(s, section) : CODEC_OK;
}

static enum codec_error read_body(struct http1_client *s, struct span in, size_t *taken)
{
	const char *why = "there is no memory for the body";
	enum codec_error error = http1_in_body(&s->in, &s->x->down, in, taken, &why);

	if (error)
		return fail(s, error, why);
	if (s->in.phase == HTTP1_END)
		answer_is_whole(s);
	else if (*taken)
		s->codec.events->body_filled(s->x, &s->codec);
	return CODEC_OK;
}

static enum codec_error step(void *codec, struct span in, size_t *taken)
{
	struct http1_client *s = codec;

	if (s->over) {
		*taken = in.n;
		return CODEC_OK;
	}
	s->codec.stale = false;
	if (!s->x || !s->begun)
		return fail(s, CODEC_MALFORMED, "the server sent what no request asked for");
	if (s->in.phase == HTTP1_HEAD)
		return read_head(s, in, taken);
	return s->in.phase == HTTP1_END ? CODEC_OK : read_body(s, in, taken);
}

/*
 * What lies behind a whole answer is refused here even when `done` has already brought the next
 * request: of that no octet has gone out yet.
 */
static enum codec_error client_receive(struct codec *c, struct span in, size_t *taken)
{
	*taken = 0;
	return http1_drive(client_of(c), step, in, taken);
}

static bool end_opaque(struct http1_client *s)
{
	s->in.phase = HTTP1_END;
	s->x->down.ended = true;
	s->codec.events->body_filled(s->x, &s->codec);
	if (s->x && http1_out_is_done(&s->out))
		finish_exchange(s);
	return true;
}

static bool client_receive_end(struct codec *c)
{
	struct http1_client *s = client_of(c);

	c->persistent = false;
	if (s->over)
		return true;
	if (!s->x) {
		end(s);
		return true;
	}
	if (s->in.phase == HTTP1_END)
		return true;
	if (s->opaque)
		return end_opaque(s);
	if (s->in.phase == HTTP1_UNTIL_END) {
		s->in.phase = HTTP1_END;
		answer_is_whole(s);
		return true;
	}
	fail(s, CODEC_PEER, "the server ended in the middle of an answer");
	return false;
}

/* ---- The rest of codec_ops ---- */

/* Produce looks into the one body; what did not fit the other is with the caller. */
static void client_resume(struct codec *c, struct exchange *x)
{
}

static void client_reset(struct codec *c, struct exchange *x, enum codec_error why)
{
	struct http1_client *s = client_of(c);

	if (!s->x || s->x != x)
		return;
	forget(s);
	end(s);
	c->cut = true;
}

static void client_shut(struct codec *c)
{
	struct http1_client *s = client_of(c);

	c->persistent = false;
	if (!s->x)
		end(s);
}

static bool client_idle(const struct codec *c)
{
	return !sg_container_of(c, struct http1_client, codec)->x;
}

static void client_free(struct codec *c)
{
	struct http1_client *s = client_of(c);

	forget(s);
	http1_in_release(&s->in);
	http1_out_drop(&s->out);
	free(s);
}

struct codec *http1_client_new(const struct codec_events *events, void *ctx)
{
	static const struct codec_ops ops = {
		.receive = client_receive,
		.receive_end = client_receive_end,
		.produce = client_produce,
		.send_request = client_send_request,
		.resume_send = client_resume,
		.resume_receive = client_resume,
		.reset = client_reset,
		.shut = client_shut,
		.idle = client_idle,
		.free = client_free,
	};
	struct http1_client *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->codec = (struct codec){.ops = &ops, .events = events, .ctx = ctx, .persistent = true};
	return &s->codec;
}
