/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The guard is at one place of the client's stream: in a head, in a body of one
 * of two framings, or past the end of what it can judge (held, opaque, ended).
 *
 * Heads and trailer sections are sections: lines that end in CRLF, the last one
 * empty. A section is held by the caller until it is whole; `scanned`, `line` and
 * `lines` remember the place in it. The scan accepts CR and LF as CRLF only and no
 * NUL, so that the parsers of http_head.c may split at LF. Of a body, only the
 * octets that frame it are looked at.
 *
 * HEAD -> HEAD, LENGTH, CHUNK_LINE or HOLD, by the head that was read
 * LENGTH -> HEAD
 * CHUNK_LINE -> CHUNK_DATA -> CHUNK_END -> CHUNK_LINE, or CHUNK_LINE -> TRAILERS -> HEAD
 * HOLD -> OPAQUE or HEAD, by the server's answer
 * any but OPAQUE -> ENDED
 *
 * A switch to WebSocket is honoured for the first request of a connection only:
 * the first status line of the server is then the answer to it and to nothing
 * else. After other requests the octets of an earlier answer, which the client may
 * have chosen, could pass for it.
 */
#include "gate/http_guard.h"

enum { CODE_SWITCHING_PROTOCOLS = 101 };

static enum http_event end_with(struct http_guard *g, enum http_event event, const char *why)
{
	g->phase = HTTP_PHASE_ENDED;
	g->ended = event;
	g->why = why;
	return event;
}

static enum http_event malformed(struct http_guard *g, const char *why)
{
	return end_with(g, HTTP_MALFORMED, why);
}

/* ---- Sections ---- */

enum scan { SCAN_MORE, SCAN_LINE, SCAN_WHOLE, SCAN_BAD };

static const char *octet_fault(uint8_t before, uint8_t c)
{
	if (c == 0)
		return "there is a NUL";
	if (before == '\r' && c != '\n')
		return "there is a CR without LF";
	if (before != '\r' && c == '\n')
		return "there is a LF without CR";
	return NULL;
}

/*
 * Scans on to the end of a line. SCAN_LINE: `*line` is it, without CRLF. SCAN_WHOLE: the empty one
 * was met, `scanned` is the size of the section. SCAN_BAD: the guard has ended.
 */
static enum scan scan_line(struct http_guard *g, struct span in, struct span *line)
{
	while (g->scanned < in.n && g->scanned < HTTP_HEAD_MAX) {
		uint8_t before = g->scanned > g->line ? in.p[g->scanned - 1] : 0;
		uint8_t c = in.p[g->scanned];
		const char *fault = octet_fault(before, c);

		if (fault) {
			malformed(g, fault);
			return SCAN_BAD;
		}
		g->scanned++;
		if (c != '\n')
			continue;
		*line = span_of(in.p + g->line, g->scanned - g->line - 2);
		g->line = g->scanned;
		g->lines++;
		return line->n ? SCAN_LINE : SCAN_WHOLE;
	}
	if (g->scanned < HTTP_HEAD_MAX)
		return SCAN_MORE;
	/* At once, since the caller does not see more than this. */
	malformed(g, "the fields are larger than 64 KiB");
	return SCAN_BAD;
}

static struct span take_section(struct http_guard *g, struct span in)
{
	struct span section = span_of(in.p, g->scanned);

	g->scanned = g->line = g->lines = 0;
	return section;
}

/* ---- Heads ---- */

/* Junk where the first request should be is another protocol; later it is a broken request. */
static enum http_event not_a_request(struct http_guard *g, const char *why)
{
	return end_with(g, g->later ? HTTP_MALFORMED : HTTP_NOT_HTTP, why);
}

/* A method and a space, as far as they are here, so that another protocol is told at once. */
static bool begins_as_request(struct span in)
{
	for (size_t i = 0; i < in.n; i++) {
		if (in.p[i] == ' ')
			return i > 0;
		if (i == HTTP_METHOD_MAX || !http_is_token_octet(in.p[i]))
			return false;
	}
	return true;
}

static enum http_event event_of(struct http_guard *g, enum http_head_result result, const char *why)
{
	switch (result) {
	case HTTP_HEAD_OK:
		return HTTP_REQUEST;
	case HTTP_HEAD_CONNECT:
		return end_with(g, HTTP_CONNECT, "CONNECT");
	case HTTP_HEAD_NOT_HTTP:
		return not_a_request(g, why);
	case HTTP_HEAD_MALFORMED:
		break;
	}
	return malformed(g, why);
}

static void enter_body(struct http_guard *g, const struct http_body *body)
{
	switch (body->framing) {
	case HTTP_FRAMING_NONE:
		g->phase = HTTP_PHASE_HEAD;
		break;
	case HTTP_FRAMING_LENGTH:
		g->phase = HTTP_PHASE_LENGTH;
		g->left = body->length;
		break;
	case HTTP_FRAMING_CHUNKED:
		g->phase = HTTP_PHASE_CHUNK_LINE;
		break;
	}
}

static enum http_event finish_head(struct http_guard *g, struct span head,
				   struct http_request *request, size_t *pass)
{
	struct http_body body;
	const char *why = NULL;
	enum http_event event = event_of(g, http_head_parse(head, request, &body, &why), why);

	if (event != HTTP_REQUEST)
		return event;
	if (request->websocket && g->later)
		return malformed(g, "WebSocket is asked for after other requests");
	enter_body(g, &body);
	if (request->websocket)
		g->phase = HTTP_PHASE_HOLD;
	g->later = true;
	*pass = head.n;
	return HTTP_REQUEST;
}

static enum http_event feed_head(struct http_guard *g, struct span in, struct http_request *request,
				 size_t *pass)
{
	const char *why = NULL;
	struct span line;

	if (g->lines == 0 && !begins_as_request(in))
		return not_a_request(g, "the octets do not begin with a method");
	for (;;) {
		enum http_event event;

		switch (scan_line(g, in, &line)) {
		case SCAN_MORE:
			return HTTP_MORE;
		case SCAN_BAD:
			return g->ended;
		case SCAN_WHOLE:
			return finish_head(g, take_section(g, in), request, pass);
		case SCAN_LINE:
			break;
		}
		if (g->lines > HTTP_FIELDS_MAX + 1)
			return malformed(g, "there are more than 128 fields");
		if (g->lines > 1)
			continue;
		event = event_of(g, http_request_line_parse(line, request, &why), why);
		if (event != HTTP_REQUEST)
			return event;
	}
}

/* ---- Bodies. A step passes octets, or 0 when it must see more or has ended. ---- */

static size_t pass_data(struct http_guard *g, struct span in)
{
	size_t n = in.n < g->left ? in.n : (size_t)g->left;

	http_guard_skip(g, n);
	return n;
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a2b" or "1a2b;name=value" (RFC 9112, 7.1). */
static const char *parse_chunk_line(struct span line, uint64_t *size)
{
	size_t digits = 0;

	*size = 0;
	for (; digits < line.n && hex_value(line.p[digits]) >= 0; digits++) {
		if (*size > INT64_MAX >> 4)
			return "the size of a chunk is too large";
		*size = *size << 4 | (uint64_t)hex_value(line.p[digits]);
	}
	if (digits == 0 || (digits < line.n && line.p[digits] != ';'))
		return "the size of a chunk is not a hexadecimal number";
	for (size_t i = digits; i < line.n; i++)
		if ((line.p[i] < ' ' && line.p[i] != '\t') || line.p[i] == 0x7f)
			return "the extension of a chunk has a control character";
	return NULL;
}

static size_t pass_chunk_line(struct http_guard *g, struct span in)
{
	static const char too_long[] = "the extensions of a chunk are too long";
	const char *why;
	struct span line;
	size_t n;

	switch (scan_line(g, in, &line)) {
	case SCAN_BAD:
		return 0;
	case SCAN_MORE:
		if (g->scanned > HTTP_CHUNK_LINE_MAX)
			malformed(g, too_long);
		return 0;
	default:
		break;
	}
	n = take_section(g, in).n;
	why = line.n > HTTP_CHUNK_LINE_MAX ? too_long : parse_chunk_line(line, &g->left);
	if (why) {
		malformed(g, why);
		return 0;
	}
	g->phase = g->left ? HTTP_PHASE_CHUNK_DATA : HTTP_PHASE_TRAILERS;
	return n;
}

static size_t pass_chunk_end(struct http_guard *g, struct span in)
{
	if (in.p[0] != '\r' || (in.n > 1 && in.p[1] != '\n')) {
		malformed(g, "a chunk is longer than its size");
		return 0;
	}
	if (in.n < 2)
		return 0;
	g->phase = HTTP_PHASE_CHUNK_LINE;
	return 2;
}

static size_t pass_trailers(struct http_guard *g, struct span in)
{
	enum scan scan;
	const char *why;
	struct span section, line;

	do {
		scan = scan_line(g, in, &line);
		if (scan == SCAN_LINE && g->lines > HTTP_FIELDS_MAX) {
			malformed(g, "there are more than 128 trailer fields");
			return 0;
		}
	} while (scan == SCAN_LINE);
	if (scan != SCAN_WHOLE)
		return 0;
	section = take_section(g, in);
	why = http_trailers_check(section);
	if (why) {
		malformed(g, why);
		return 0;
	}
	g->phase = HTTP_PHASE_HEAD;
	return section.n;
}

static size_t pass_body(struct http_guard *g, struct span in)
{
	switch (g->phase) {
	case HTTP_PHASE_LENGTH:
	case HTTP_PHASE_CHUNK_DATA:
		return pass_data(g, in);
	case HTTP_PHASE_CHUNK_LINE:
		return pass_chunk_line(g, in);
	case HTTP_PHASE_CHUNK_END:
		return pass_chunk_end(g, in);
	case HTTP_PHASE_TRAILERS:
		return pass_trailers(g, in);
	default:
		return 0;
	}
}

/* As many steps as pass something; a fault behind them is told by the next call. */
static enum http_event feed_body(struct http_guard *g, struct span in, size_t *pass)
{
	size_t n;

	do {
		n = pass_body(g, span_of(in.p + *pass, in.n - *pass));
		*pass += n;
	} while (n && *pass < in.n);
	if (*pass)
		return HTTP_BODY;
	return g->phase == HTTP_PHASE_ENDED ? g->ended : HTTP_MORE;
}

/* ---- The driver ---- */

enum http_event http_guard_feed(struct http_guard *g, struct span in, struct http_request *request,
				size_t *pass)
{
	*pass = 0;
	if (g->phase == HTTP_PHASE_ENDED)
		return g->ended;
	if (g->phase == HTTP_PHASE_HOLD)
		return HTTP_HOLD;
	if (in.n == 0)
		return HTTP_MORE;
	if (g->phase == HTTP_PHASE_HEAD)
		return feed_head(g, in, request, pass);
	if (g->phase == HTTP_PHASE_OPAQUE) {
		*pass = in.n;
		return HTTP_OPAQUE;
	}
	return feed_body(g, in, pass);
}

uint64_t http_guard_unread(const struct http_guard *g)
{
	switch (g->phase) {
	case HTTP_PHASE_LENGTH:
	case HTTP_PHASE_CHUNK_DATA:
		return g->left;
	case HTTP_PHASE_OPAQUE:
		return UINT64_MAX;
	default:
		return 0;
	}
}

void http_guard_skip(struct http_guard *g, uint64_t n)
{
	if (g->phase != HTTP_PHASE_LENGTH && g->phase != HTTP_PHASE_CHUNK_DATA)
		return;
	g->left -= n < g->left ? n : g->left;
	if (g->left == 0)
		g->phase = g->phase == HTTP_PHASE_LENGTH ? HTTP_PHASE_HEAD : HTTP_PHASE_CHUNK_END;
}

void http_guard_answered(struct http_guard *g, unsigned status)
{
	if (g->phase == HTTP_PHASE_HOLD)
		g->phase = status == CODE_SWITCHING_PROTOCOLS ? HTTP_PHASE_OPAQUE : HTTP_PHASE_HEAD;
}
