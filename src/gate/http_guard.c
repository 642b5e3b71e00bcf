/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The guard is at one place of the client's stream: in a head, in a body of one
 * of two framings, or past the end of what it can judge (held, opaque, ended).
 *
 * Heads and trailer sections are sections: lines that end in CRLF, the last one
 * empty. A section is held by the caller until it is whole. Of a body, only the
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

#include "http/chunk.h"
#include "http/text.h"

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

/* HTTP_SCAN_BAD: the guard has ended. */
static enum http_scan scan_line(struct http_guard *g, struct span in, struct span *line)
{
	const char *why = NULL;
	enum http_scan scan = http_section_scan(&g->section, in, line, &why);

	/* At once, since the caller does not see more than this. */
	if (scan == HTTP_SCAN_LARGE)
		why = "the fields are larger than 64 KiB";
	if (!why)
		return scan;
	malformed(g, why);
	return HTTP_SCAN_BAD;
}

/* The whole section at once, that ended as it did piece by piece. */
static bool is_as_scanned(const struct http_section *s, struct span section, enum http_scan ended)
{
	struct http_section again = {0};
	const char *why = NULL;
	enum http_scan scan;
	struct span line;

	do
		scan = http_section_scan(&again, section, &line, &why);
	while (scan == HTTP_SCAN_LINE && again.scanned < section.n);
	return scan == ended && again.scanned == section.n && again.lines == s->lines;
}

/* False: the guard has ended. A client that changes what it has sent means no good. */
static bool take_section(struct http_guard *g, struct span in, enum http_scan ended,
			 struct span *section)
{
	bool good;

	*section = span_of(in.p, g->section.scanned);
	good = !g->resumed || is_as_scanned(&g->section, *section, ended);
	g->section = (struct http_section){0};
	g->resumed = false;
	if (!good)
		malformed(g, "what was sent has changed since");
	return good;
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
	enum http_event event =
		event_of(g, http_head_parse(head, HTTP_SCHEME_HTTP, request, &body, &why), why);

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
	struct span line, section;

	if (g->section.lines == 0 && !begins_as_request(in))
		return not_a_request(g, "the octets do not begin with a method");
	for (;;) {
		enum http_event event;

		switch (scan_line(g, in, &line)) {
		case HTTP_SCAN_MORE:
			return HTTP_MORE;
		case HTTP_SCAN_BAD:
		case HTTP_SCAN_LARGE:
			return g->ended;
		case HTTP_SCAN_WHOLE:
			if (!take_section(g, in, HTTP_SCAN_WHOLE, &section))
				return g->ended;
			return finish_head(g, section, request, pass);
		case HTTP_SCAN_LINE:
			break;
		}
		if (g->section.lines > HTTP_FIELDS_MAX + 1)
			return malformed(g, "there are more than 128 fields");
		if (g->section.lines > 1)
			continue;
		event = event_of(g, http_request_line_parse(line, HTTP_SCHEME_HTTP, request, &why),
				 why);
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

static size_t pass_chunk_line(struct http_guard *g, struct span in)
{
	enum http_scan scan;
	const char *why;
	struct span line, whole;

	scan = scan_line(g, in, &line);
	switch (scan) {
	case HTTP_SCAN_BAD:
		return 0;
	case HTTP_SCAN_MORE:
		if (g->section.scanned > HTTP_CHUNK_LINE_MAX)
			malformed(g, http_chunk_line_too_long);
		return 0;
	default:
		break;
	}
	if (!take_section(g, in, scan, &whole))
		return 0;
	why = http_chunk_line_parse(line, &g->left);
	if (why) {
		malformed(g, why);
		return 0;
	}
	g->phase = g->left ? HTTP_PHASE_CHUNK_DATA : HTTP_PHASE_TRAILERS;
	return whole.n;
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
	enum http_scan scan;
	const char *why;
	struct span section, line;

	do {
		scan = scan_line(g, in, &line);
		if (scan == HTTP_SCAN_LINE && g->section.lines > HTTP_FIELDS_MAX) {
			malformed(g, "there are more than 128 trailer fields");
			return 0;
		}
	} while (scan == HTTP_SCAN_LINE);
	if (scan != HTTP_SCAN_WHOLE)
		return 0;
	if (!take_section(g, in, scan, &section))
		return 0;
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
	g->resumed = g->section.scanned > 0;
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
