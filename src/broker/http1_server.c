/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_server: HTTP/1.x towards the sandbox's client (RFC 9110, RFC 9112).
 *
 * Theory of operation
 *
 * There is one exchange at a time, or none. Without one the next head is read; with one its body
 * is read into `up`, and then nothing: a request that was pipelined stays with the caller until the
 * answer before it is out. So answers are in order, and no queue can grow.
 *
 *	none -> exchange	a head came and events.request() took it
 *	exchange -> none	the answer is out and the request's body is whole
 *	exchange -> over	the same, and a side wanted to close; or the body is not whole
 *	any -> over		malformed, refused, reset, the end of the client
 *
 * Over is final: what the client sends is dropped, what is left to say is produced, then the codec
 * is `finished`. An answer that was begun and cannot be ended makes it `cut`.
 *
 * After 101 the exchange is opaque: octets go both ways until both ends were seen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "broker/codec.h"
#include "broker/http1_head.h"
#include "broker/http1_in.h"
#include "broker/http1_out.h"
#include "http/text.h"
#include "policy/decide.h"

enum {
	STATUS_CONTINUE = 100,
	STATUS_SWITCHING = 101,
	STATUS_NO_CONTENT = 204,
	STATUS_NOT_MODIFIED = 304,
	STATUS_MALFORMED = 400,
	STATUS_TIMEOUT = 408,
	STATUS_LONG_TARGET = 414,
	STATUS_TOO_LARGE = 431,
	STATUS_NO_MEMORY = 503,
};

struct http1_server {
	struct codec codec;
	struct exchange *x;
	struct http1_in in;
	struct http1_out out;
	bool opening;	/* in events.request() */
	bool over;	/* nothing more is read */
	bool old;	/* the request is of HTTP/1.0 */
	bool head;	/* ... is HEAD */
	bool websocket; /* ... asks for it */
	bool expecting; /* ... waits for 100, which was not sent */
	bool answered;	/* the final head was given to `out` */
	bool opaque;	/* that was 101 */
};

static struct http1_server *server_of(struct codec *c)
{
	return sg_container_of(c, struct http1_server, codec);
}

static void end_reading(struct http1_server *s)
{
	s->over = true;
	s->codec.persistent = false;
	http1_in_release(&s->in);
}

/* The exchange is the codec's no more. */
static struct exchange *forget(struct http1_server *s)
{
	struct exchange *x = s->x;

	s->x = NULL;
	if (x)
		x->client.stream = NULL;
	return x;
}

static void cut(struct http1_server *s)
{
	end_reading(s);
	http1_out_drop(&s->out);
	s->codec.cut = s->codec.finished = true;
}

/* ---- Refusals of what could not be read ---- */

static enum codec_error error_of(uint16_t status)
{
	if (status == STATUS_NO_MEMORY)
		return CODEC_NO_MEMORY;
	return status == STATUS_TOO_LARGE || status == STATUS_LONG_TARGET ? CODEC_TOO_LARGE
									  : CODEC_MALFORMED;
}

static bool print_refusal(struct http1_server *s, uint16_t status, const char *why)
{
	struct message m;
	char text[256];
	int n = snprintf(text, sizeof(text), "sandgate: request: %s\n", why);
	bool ok;

	message_init(&m);
	m.status = status;
	m.length = (uint64_t)n;
	ok = message_add(&m, span_of_string("content-type"), span_of_string("text/plain")) &&
	     message_add(&m, span_of_string("sandgate-reason"),
			 span_of_string(reason_word(REASON_MALFORMED_HTTP))) &&
	     http1_print_answer(&s->out.text, &m, HTTP1_FRAMING_LENGTH, "close") &&
	     http1_print_octets(&s->out.text, span_of(text, (size_t)n));
	message_free(&m);
	return ok;
}

static enum codec_error refuse(struct http1_server *s, uint16_t status, const char *why)
{
	s->codec.why = why;
	end_reading(s);
	if (!print_refusal(s, status, why))
		s->codec.finished = true;
	return error_of(status);
}

/* ---- Heads ---- */

static bool is_method(const struct message *m, const char *method)
{
	return span_equal(m->method, span_of_string(method));
}

static void note_request(struct http1_server *s, const struct message *m,
			 const struct http1_hop *hop)
{
	s->old = hop->old;
	s->head = is_method(m, "HEAD");
	s->websocket = m->protocol.n > 0;
	s->expecting = m->expects_continue;
	s->answered = s->opaque = false;
	s->codec.persistent = s->codec.persistent && hop->persistent;
	http1_in_begin(&s->in, m, hop);
}

static void adopt(struct http1_server *s, struct exchange *x)
{
	s->x = x;
	x->client.stream = s;
	x->head_request = s->head;
	x->connect = s->websocket;
}

/* The body of a request for WebSocket is what comes after 101: its end is not yet. */
static void begin_body(struct http1_server *s, struct exchange *x)
{
	if (s->in.phase != HTTP1_END || s->websocket)
		return;
	x->up.ended = true;
	s->codec.events->body_filled(x, &s->codec);
}

static enum codec_error open_exchange(struct http1_server *s, struct message *m)
{
	struct exchange *x;

	s->opening = true;
	x = s->codec.events->request(s->codec.ctx, &s->codec, m);
	s->opening = false;
	if (!x || s->over) { /* refused, or reset at once */
		end_reading(s);
		return CODEC_OK;
	}
	adopt(s, x);
	begin_body(s, x);
	return CODEC_OK;
}

/* The request line of a whole section: "GET http://…". */
static bool is_absolute(struct span section)
{
	struct span target = http_section_line(&section);

	http_take_until(&target, ' ');
	return target.n && target.p[0] != '/' && target.p[0] != '*';
}

static enum codec_error read_section(struct http1_server *s, struct span section)
{
	struct message m;
	struct http1_hop hop;
	const char *why = NULL;
	enum codec_error error;
	uint16_t status;

	message_init(&m);
	status = http1_read_request(section, s->codec.tls, &m, &hop, &why);
	if (status == 0 && s->codec.absolute && !is_absolute(section)) {
		status = STATUS_MALFORMED;
		why = "a proxy is asked with the whole address";
	}
	/* The next request may be for another host, which the gate judges and dials. */
	hop.persistent = hop.persistent && !s->codec.absolute;
	http1_in_release(&s->in);
	if (status == 0)
		note_request(s, &m, &hop);
	error = status ? refuse(s, status, why) : open_exchange(s, &m);
	message_free(&m);
	return error;
}

static uint16_t status_of(enum http1_head_result result)
{
	switch (result) {
	case HTTP1_HEAD_LONG_LINE:
		return STATUS_LONG_TARGET;
	case HTTP1_HEAD_LARGE:
		return STATUS_TOO_LARGE;
	case HTTP1_HEAD_NO_MEMORY:
		return STATUS_NO_MEMORY;
	default:
		return STATUS_MALFORMED;
	}
}

static enum codec_error read_head(struct http1_server *s, struct span in, size_t *taken)
{
	const char *why = NULL;
	struct span section;
	enum http1_head_result result = http1_in_head(&s->in, in, taken, &section, &why);

	if (http1_head_error(result, &why))
		return refuse(s, status_of(result), why);
	return result == HTTP1_HEAD_WHOLE ? read_section(s, section) : CODEC_OK;
}

/* ---- Bodies ---- */

/* The rest of the request cannot be read: 400 if nothing was answered, else the answer is cut. */
static enum codec_error fail_request(struct http1_server *s, enum codec_error error,
				     const char *why)
{
	struct exchange *x = forget(s);

	if (s->answered) {
		s->codec.why = why;
		cut(s);
	} else {
		refuse(s, error == CODEC_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_MALFORMED, why);
	}
	x->up.failed = true;
	s->codec.events->failed(x, &s->codec, error);
	return error;
}

static enum codec_error read_body(struct http1_server *s, struct span in, size_t *taken)
{
	const char *why = "there is no memory for the body";
	enum codec_error error = http1_in_body(&s->in, &s->x->up, in, taken, &why);

	if (error)
		return fail_request(s, error, why);
	if (*taken)
		s->expecting = false;
	if (*taken)
		s->codec.events->body_filled(s->x, &s->codec);
	return CODEC_OK;
}

static enum codec_error step(void *codec, struct span in, size_t *taken)
{
	struct http1_server *s = codec;

	if (s->over) {
		*taken = in.n;
		return CODEC_OK;
	}
	if (!s->x)
		return read_head(s, in, taken);
	return s->in.phase == HTTP1_END ? CODEC_OK : read_body(s, in, taken);
}

static enum codec_error server_receive(struct codec *c, struct span in, size_t *taken)
{
	*taken = 0;
	return http1_drive(server_of(c), step, in, taken);
}

/* ---- Ends ---- */

static void finish_exchange(struct http1_server *s)
{
	struct exchange *x = forget(s);
	bool whole = s->in.phase == HTTP1_END;

	if (!whole)
		x->up.failed = true;
	s->in.phase = HTTP1_HEAD;
	if (!whole || !s->codec.persistent)
		end_reading(s);
	s->codec.events->done(x, &s->codec);
}

static bool end_opaque(struct http1_server *s)
{
	s->in.phase = HTTP1_END;
	s->x->up.ended = true;
	s->codec.events->body_filled(s->x, &s->codec);
	if (s->x && http1_out_is_done(&s->out))
		finish_exchange(s);
	return true;
}

static bool server_receive_end(struct codec *c)
{
	struct http1_server *s = server_of(c);
	bool whole = s->in.held_n == 0;

	c->persistent = false;
	if (!s->x) {
		end_reading(s);
		return whole;
	}
	if (s->opaque)
		return s->in.phase == HTTP1_END || end_opaque(s);
	if (s->in.phase == HTTP1_END) /* it closed its side and waits for the answer */
		return true;
	fail_request(s, CODEC_PEER, "the client ended in the middle of a body");
	return false;
}

/* ---- Answers ---- */

static void answer_is_out(struct http1_server *s)
{
	if (s->opaque && s->in.phase != HTTP1_END)
		s->codec.finished = true;
	else
		finish_exchange(s);
}

static void answer_failed(struct http1_server *s)
{
	struct exchange *x = forget(s);

	cut(s);
	s->codec.events->failed(x, &s->codec, CODEC_PEER);
}

static void after_produce(struct http1_server *s)
{
	if (s->x && s->answered && s->out.failed)
		answer_failed(s);
	else if (s->x && s->answered && !s->codec.finished && http1_out_is_done(&s->out))
		answer_is_out(s);
	if (!s->x && s->over && http1_out_is_done(&s->out))
		s->codec.finished = true;
}

static size_t server_produce(struct codec *c, struct buf *out)
{
	struct http1_server *s = server_of(c);
	size_t before = out->n;

	if (http1_out_produce(&s->out, out) && s->x)
		c->events->body_drained(s->x, c);
	after_produce(s);
	return out->n - before;
}

static bool has_no_body(const struct http1_server *s, uint16_t status)
{
	return s->head || status == STATUS_NO_CONTENT || status == STATUS_NOT_MODIFIED;
}

static enum http1_framing framing_of(const struct http1_server *s, const struct message *m)
{
	bool bodyless = has_no_body(s, m->status);

	if (m->status == STATUS_NO_CONTENT)
		return HTTP1_FRAMING_NONE;
	if (m->body == MESSAGE_BODY_LENGTH || (m->body == MESSAGE_BODY_NONE && !bodyless))
		return HTTP1_FRAMING_LENGTH;
	if (bodyless)
		return HTTP1_FRAMING_NONE;
	return s->old ? HTTP1_FRAMING_CLOSE : HTTP1_FRAMING_CHUNKED;
}

/* NULL when the version says it all. */
static const char *connection_of(const struct http1_server *s)
{
	if (!s->codec.persistent)
		return "close";
	return s->old ? "keep-alive" : NULL;
}

static void send_final(struct http1_server *s, struct exchange *x, const struct message *m)
{
	enum http1_framing framing = framing_of(s, m);
	struct body *from = has_no_body(s, m->status) ? NULL : &x->down;

	/* Whether an unread body still comes is not known, so nothing may come after it. */
	if (framing == HTTP1_FRAMING_CLOSE || s->in.phase != HTTP1_END)
		s->codec.persistent = false;
	s->answered = true;
	s->expecting = false;
	if (s->websocket)
		x->up.ended = true;
	if (!http1_print_answer(&s->out.text, m, framing, connection_of(s)))
		cut(s);
	else
		http1_out_begin(&s->out, framing, m->length, from);
}

static void send_switch(struct http1_server *s, struct exchange *x, const struct message *m)
{
	s->answered = s->opaque = x->opaque = true;
	s->codec.persistent = false;
	s->in.phase = HTTP1_UNTIL_END;
	x->up.ended = false;
	if (!http1_print_answer(&s->out.text, m, HTTP1_FRAMING_NONE, "upgrade"))
		cut(s);
	else
		http1_out_begin(&s->out, HTTP1_FRAMING_CLOSE, 0, &x->down);
}

/*
 * HTTP/1.0 knows none. One that finds many others waiting is dropped, which it may be (RFC 9110,
 * 15.2), so that a client that does not read bounds what waits for it.
 */
static void send_interim(struct http1_server *s, const struct message *m)
{
	if (m->status == STATUS_CONTINUE)
		s->expecting = false;
	if (!s->old && http1_text_left(&s->out.text) < MESSAGE_HEAD_MAX)
		(void)http1_print_answer(&s->out.text, m, HTTP1_FRAMING_NONE, NULL);
}

static bool is_mine(const struct http1_server *s, const struct exchange *x)
{
	return !s->over && (s->opening || (s->x && s->x == x));
}

static void server_send_answer(struct codec *c, struct exchange *x, const struct message *m)
{
	struct http1_server *s = server_of(c);

	if (!is_mine(s, x) || s->answered)
		return;
	if (m->status == STATUS_SWITCHING && s->websocket)
		send_switch(s, x, m);
	else if (m->status >= 200)
		send_final(s, x, m);
	else if (m->status != STATUS_SWITCHING)
		send_interim(s, m);
}

/* ---- The rest of codec_ops ---- */

/* Nothing is kept of it: produce looks into the body. */
static void server_resume_send(struct codec *c, struct exchange *x)
{
}

static void server_resume_receive(struct codec *c, struct exchange *x)
{
	struct http1_server *s = server_of(c);
	struct message m;

	if (!is_mine(s, x) || !s->expecting)
		return;
	message_init(&m);
	m.status = STATUS_CONTINUE;
	send_interim(s, &m);
}

static void server_reset(struct codec *c, struct exchange *x, enum codec_error why)
{
	struct http1_server *s = server_of(c);

	if (!is_mine(s, x))
		return;
	forget(s);
	if (s->answered)
		cut(s);
	else
		end_reading(s);
	if (http1_out_is_done(&s->out))
		c->finished = true;
}

static void server_shut(struct codec *c)
{
	struct http1_server *s = server_of(c);

	c->persistent = false;
	if (s->x || s->opening)
		return;
	if (s->in.held_n) {
		refuse(s, STATUS_TIMEOUT, "its head did not come to its end in time");
		return;
	}
	end_reading(s);
	if (http1_out_is_done(&s->out))
		c->finished = true;
}

static bool server_idle(const struct codec *c)
{
	const struct http1_server *s = sg_container_of(c, struct http1_server, codec);

	return !s->x && s->in.held_n == 0 && http1_out_is_done(&s->out);
}

static void server_free(struct codec *c)
{
	struct http1_server *s = server_of(c);

	forget(s);
	http1_in_release(&s->in);
	http1_out_drop(&s->out);
	free(s);
}

struct codec *http1_server_new(const struct codec_events *events, void *ctx)
{
	static const struct codec_ops ops = {
		.receive = server_receive,
		.receive_end = server_receive_end,
		.produce = server_produce,
		.send_answer = server_send_answer,
		.resume_send = server_resume_send,
		.resume_receive = server_resume_receive,
		.reset = server_reset,
		.shut = server_shut,
		.idle = server_idle,
		.free = server_free,
	};
	struct http1_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->codec = (struct codec){
		.ops = &ops, .events = events, .ctx = ctx, .server = true, .persistent = true};
	return &s->codec;
}
