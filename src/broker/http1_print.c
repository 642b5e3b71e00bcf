/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http1_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "http/text.h"

void http1_text_free(struct http1_text *t)
{
	if (t->p)
		explicit_bzero(t->p, t->n);
	free(t->p);
	*t = (struct http1_text){0};
}

/* Room for `more` octets behind those that wait; what was taken is left behind. */
static bool begin(struct http1_text *t, size_t more, struct buf *out)
{
	size_t left = http1_text_left(t);
	uint8_t *p = malloc(left + more);

	if (!p)
		return false;
	*out = buf_of(p, left + more);
	buf_put(out, t->p ? t->p + t->at : NULL, left);
	return true;
}

static bool finish(struct http1_text *t, struct buf *out)
{
	if (out->full) {
		explicit_bzero(out->p, out->n);
		free(out->p);
		return false;
	}
	http1_text_free(t);
	*t = (struct http1_text){.p = out->p, .n = out->n};
	return true;
}

static void put_field(struct buf *out, struct span name, struct span value)
{
	buf_put_span(out, name);
	buf_put(out, ": ", 2);
	buf_put_span(out, value);
	buf_put(out, "\r\n", 2);
}

static void put_words(struct buf *out, const char *name, const char *value)
{
	put_field(out, span_of_string(name), span_of_string(value));
}

/*
 * What frames or is of this hop is written by the functions below and by nobody else: a field of
 * that name in a message would be a second one.
 */
static bool is_own(struct span name)
{
	static const char *const own[] = {
		"connection",	    "content-length",	 "expect",  "host", "keep-alive",
		"proxy-connection", "transfer-encoding", "upgrade",
	};

	for (size_t i = 0; i < sg_array_len(own); i++)
		if (http_is_word(name, own[i]))
			return true;
	return false;
}

static void put_fields(struct buf *out, const struct message *m)
{
	for (size_t i = 0; i < m->n_fields; i++)
		if (!is_own(m->fields[i].name))
			put_field(out, m->fields[i].name, m->fields[i].value);
}

static void put_framing(struct buf *out, const struct message *m, enum http1_framing framing)
{
	char length[24];

	if (framing == HTTP1_FRAMING_LENGTH) {
		snprintf(length, sizeof(length), "%" PRIu64, m->length);
		put_words(out, "content-length", length);
	}
	if (framing == HTTP1_FRAMING_CHUNKED)
		put_words(out, "transfer-encoding", "chunked");
}

/* An upper bound of the octets that a head takes up. */
static size_t size_of_head(const struct message *m)
{
	enum { LINE = 64 /* version, status and the usual phrase */, OWN = 256, PER_FIELD = 4 };
	size_t n = LINE + OWN + m->method.n + m->path.n + m->authority.n + m->phrase.n;

	for (size_t i = 0; i < m->n_fields; i++)
		n += m->fields[i].name.n + m->fields[i].value.n + PER_FIELD;
	return n;
}

static void put_connection(struct buf *out, const char *connection)
{
	if (connection)
		put_words(out, "connection", connection);
}

bool http1_print_request(struct http1_text *t, const struct message *m, enum http1_framing framing,
			 const char *connection)
{
	struct buf out;

	if (!begin(t, size_of_head(m), &out))
		return false;
	buf_put_span(&out, m->method);
	buf_put(&out, " ", 1);
	buf_put_span(&out, m->path);
	buf_put_text(&out, " HTTP/1.1\r\n");
	put_field(&out, span_of_string("host"), m->authority);
	put_fields(&out, m);
	put_framing(&out, m, framing);
	if (m->expects_continue)
		put_words(&out, "expect", "100-continue");
	if (m->protocol.n)
		put_words(&out, "upgrade", "websocket");
	put_connection(&out, connection);
	buf_put(&out, "\r\n", 2);
	return finish(t, &out);
}

/* The phrases of those that people read most; it may be empty (RFC 9112, 4). */
static const char *phrase_of(uint16_t status)
{
	static const struct {
		uint16_t status;
		const char *phrase;
	} phrases[] = {
		{100, "Continue"},
		{101, "Switching Protocols"},
		{103, "Early Hints"},
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{204, "No Content"},
		{206, "Partial Content"},
		{301, "Moved Permanently"},
		{302, "Found"},
		{303, "See Other"},
		{304, "Not Modified"},
		{307, "Temporary Redirect"},
		{308, "Permanent Redirect"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{409, "Conflict"},
		{413, "Content Too Large"},
		{417, "Expectation Failed"},
		{421, "Misdirected Request"},
		{422, "Unprocessable Content"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sg_array_len(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "";
}

bool http1_print_answer(struct http1_text *t, const struct message *m, enum http1_framing framing,
			const char *connection)
{
	struct span usual = span_of_string(phrase_of(m->status));
	char line[32];
	struct buf out;

	if (!http_is_text(m->phrase) || !begin(t, size_of_head(m), &out))
		return false;
	snprintf(line, sizeof(line), "HTTP/1.1 %u ", m->status);
	buf_put_text(&out, line);
	buf_put_span(&out, m->phrase.n ? m->phrase : usual);
	buf_put_text(&out, "\r\n");
	put_fields(&out, m);
	put_framing(&out, m, framing);
	if (m->status == 101)
		put_words(&out, "upgrade", "websocket");
	put_connection(&out, connection);
	buf_put(&out, "\r\n", 2);
	return finish(t, &out);
}

bool http1_print_last_chunk(struct http1_text *t, const struct message *trailers)
{
	struct buf out;

	if (!begin(t, sizeof("0\r\n\r\n") + (trailers ? size_of_head(trailers) : 0), &out))
		return false;
	buf_put(&out, "0\r\n", 3);
	if (trailers)
		put_fields(&out, trailers);
	buf_put(&out, "\r\n", 2);
	return finish(t, &out);
}

bool http1_print_octets(struct http1_text *t, struct span octets)
{
	struct buf out;

	if (!begin(t, octets.n, &out))
		return false;
	buf_put_span(&out, octets);
	return finish(t, &out);
}

static bool is_visible(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] == 0x7f)
			return false;
	return s.n > 0;
}

/*
 * CONNECT would make the connection a tunnel (RFC 9110, 9.3.6); a switch to another protocol than
 * WebSocket could be one to HTTP/2, whose requests nobody sees.
 */
static bool is_sound_switch(const struct message *m)
{
	if (m->protocol.n && !(span_equal(m->protocol, span_of_string("websocket")) &&
			       span_equal(m->method, span_of_string("GET"))))
		return false;
	return !span_equal(m->method, span_of_string("CONNECT"));
}

bool http1_is_sound_request(const struct message *m)
{
	return is_sound_switch(m) && http_is_token(m->method) && is_visible(m->path) &&
	       is_visible(m->authority) &&
	       (m->path.p[0] == '/' || span_equal(m->path, span_of_string("*")));
}
