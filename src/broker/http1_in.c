/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * HEAD -> LENGTH, CHUNK_LINE, UNTIL_END or END, by the head
 * LENGTH -> END
 * CHUNK_LINE -> CHUNK_DATA -> CHUNK_CR -> CHUNK_LF -> CHUNK_LINE, or CHUNK_LINE -> TRAILERS -> END
 * UNTIL_END -> END, by whoever knows that the connection has ended
 * END -> HEAD, by whoever knows that the next message may come
 *
 * Octets are looked at where they lie. Only of a section or chunk line that is cut by the end of
 * what came a copy is held, HTTP_HEAD_MAX octets at most, until the rest is there.
 */
#include "broker/http1_in.h"

#include <stdlib.h>

#include "http/chunk.h"
#include "http/text.h"

void http1_in_release(struct http1_in *in)
{
	free(in->held);
	in->held = NULL;
	in->held_n = in->held_cap = 0;
}

/* ---- Sections and lines that may come in pieces ---- */

static bool reserve(struct http1_in *in, size_t n)
{
	enum { FIRST = 512 };
	size_t cap = in->held_cap ? in->held_cap : FIRST;
	uint8_t *p;

	while (cap < n)
		cap *= 2;
	if (cap == in->held_cap)
		return true;
	p = realloc(in->held, cap);
	if (!p)
		return false;
	in->held = p;
	in->held_cap = cap;
	return true;
}

static bool hold(struct http1_in *in, struct span octets)
{
	size_t room = HTTP_HEAD_MAX - in->held_n, n = octets.n < room ? octets.n : room;

	if (!reserve(in, in->held_n + n))
		return false;
	if (n)
		memcpy(in->held + in->held_n, octets.p, n);
	in->held_n += n;
	return true;
}

enum collected { COLLECTED, COLLECT_MORE, COLLECT_BAD, COLLECT_LARGE, COLLECT_NO_MEMORY };

/* Up to the empty line, or to the end of line number `stop`. */
static enum http_scan scan(struct http1_in *in, struct span view, uint32_t stop, const char **why)
{
	struct span line;
	enum http_scan result;

	do
		result = http_section_scan(&in->place, view, &line, why);
	while (result == HTTP_SCAN_LINE && in->place.lines < stop);
	return result;
}

/* `*section` is what was collected; what lies behind it was not taken. */
static void take_section(struct http1_in *in, struct span view, size_t before, size_t *taken,
			 struct span *section)
{
	*section = span_of(view.p, in->place.scanned);
	*taken += section->n - before;
	if (before)
		in->held_n = section->n;
	in->place = (struct http_section){0};
}

static enum collected collect(struct http1_in *in, struct span octets, uint32_t stop, size_t *taken,
			      struct span *section, const char **why)
{
	size_t before = in->held_n;
	struct span view = octets;

	if (before) {
		if (!hold(in, octets))
			return COLLECT_NO_MEMORY;
		view = span_of(in->held, in->held_n);
	}
	switch (scan(in, view, stop, why)) {
	case HTTP_SCAN_BAD:
		return COLLECT_BAD;
	case HTTP_SCAN_LARGE:
		return COLLECT_LARGE;
	case HTTP_SCAN_LINE:
	case HTTP_SCAN_WHOLE:
		take_section(in, view, before, taken, section);
		return COLLECTED;
	case HTTP_SCAN_MORE:
		break;
	}
	if (!before && !hold(in, octets))
		return COLLECT_NO_MEMORY;
	*taken += octets.n;
	return COLLECT_MORE;
}

/* The place where `stop` cut it short, and not the empty line. */
static bool is_cut(struct span section)
{
	return section.n > 2 && section.p[section.n - 3] != '\n';
}

enum http1_head_result http1_in_head(struct http1_in *in, struct span octets, size_t *taken,
				     struct span *section, const char **why)
{
	enum { TOO_MANY_LINES = 1 + HTTP_FIELDS_MAX + 1 };

	switch (collect(in, octets, TOO_MANY_LINES, taken, section, why)) {
	case COLLECTED:
		return is_cut(*section) ? HTTP1_HEAD_LARGE : HTTP1_HEAD_WHOLE;
	case COLLECT_MORE:
		return HTTP1_HEAD_MORE;
	case COLLECT_BAD:
		return HTTP1_HEAD_MALFORMED;
	case COLLECT_LARGE:
		return in->place.lines ? HTTP1_HEAD_LARGE : HTTP1_HEAD_LONG_LINE;
	case COLLECT_NO_MEMORY:
		break;
	}
	return HTTP1_HEAD_NO_MEMORY;
}

enum codec_error http1_head_error(enum http1_head_result result, const char **why)
{
	switch (result) {
	case HTTP1_HEAD_MORE:
	case HTTP1_HEAD_WHOLE:
		return CODEC_OK;
	case HTTP1_HEAD_MALFORMED:
		return CODEC_MALFORMED;
	case HTTP1_HEAD_LONG_LINE:
		*why = "the first line is larger than 64 KiB";
		return CODEC_TOO_LARGE;
	case HTTP1_HEAD_LARGE:
		*why = "the head is larger than 64 KiB or has more than 128 fields";
		return CODEC_TOO_LARGE;
	case HTTP1_HEAD_NO_MEMORY:
		break;
	}
	*why = "there is no memory for the head";
	return CODEC_NO_MEMORY;
}

void http1_in_begin(struct http1_in *in, const struct message *m, const struct http1_hop *hop)
{
	in->left = 0;
	in->phase = HTTP1_END;
	if (m->body == MESSAGE_BODY_STREAM)
		in->phase = hop->chunked ? HTTP1_CHUNK_LINE : HTTP1_UNTIL_END;
	if (m->body == MESSAGE_BODY_LENGTH && m->length) {
		in->left = m->length;
		in->phase = HTTP1_LENGTH;
	}
}

/* ---- Bodies: a step takes octets, or has nothing to do, or finds fault ---- */

static enum codec_error malformed(const char **why, const char *what)
{
	*why = what;
	return CODEC_MALFORMED;
}

static enum codec_error not_collected(enum collected result, const char **why, const char *large)
{
	switch (result) {
	case COLLECTED:
	case COLLECT_MORE:
		return CODEC_OK;
	case COLLECT_BAD:
		return CODEC_MALFORMED;
	case COLLECT_LARGE:
		return malformed(why, large);
	case COLLECT_NO_MEMORY:
		break;
	}
	return CODEC_NO_MEMORY;
}

/* At most `most` of the octets, as many as there is room for; all when nobody wants them. */
static enum codec_error take_data(struct body *to, struct span octets, uint64_t most, size_t *n)
{
	size_t room = to->failed ? octets.n : body_room(to);

	*n = octets.n < room ? octets.n : room;
	*n = *n < most ? *n : (size_t)most;
	if (to->failed)
		return CODEC_OK;
	return body_put(to, span_of(octets.p, *n)) ? CODEC_OK : CODEC_NO_MEMORY;
}

static enum codec_error take_counted(struct http1_in *in, struct body *to, struct span octets,
				     size_t *taken)
{
	size_t n;
	enum codec_error error = take_data(to, octets, in->left, &n);

	if (error)
		return error;
	*taken += n;
	in->left -= n;
	if (in->left)
		return CODEC_OK;
	in->phase = in->phase == HTTP1_LENGTH ? HTTP1_END : HTTP1_CHUNK_CR;
	to->ended = in->phase == HTTP1_END;
	return CODEC_OK;
}

static enum codec_error take_uncounted(struct body *to, struct span octets, size_t *taken)
{
	size_t n;
	enum codec_error error = take_data(to, octets, UINT64_MAX, &n);

	if (!error)
		*taken += n;
	return error;
}

static enum codec_error take_chunk_line(struct http1_in *in, struct span octets, size_t *taken,
					const char **why)
{
	struct span line;
	enum collected result = collect(in, octets, 1, taken, &line, why);

	if (result == COLLECT_MORE && in->place.scanned > HTTP_CHUNK_LINE_MAX + 2)
		result = COLLECT_LARGE;
	if (result != COLLECTED)
		return not_collected(result, why, http_chunk_line_too_long);
	*why = http_chunk_line_parse(span_of(line.p, line.n - 2), &in->left);
	http1_in_release(in);
	in->phase = in->left ? HTTP1_CHUNK_DATA : HTTP1_TRAILERS;
	return *why ? CODEC_MALFORMED : CODEC_OK;
}

static enum codec_error take_chunk_end(struct http1_in *in, uint8_t octet, size_t *taken,
				       const char **why)
{
	if (octet != (in->phase == HTTP1_CHUNK_CR ? '\r' : '\n'))
		return malformed(why, "a chunk is longer than its size");
	in->phase = in->phase == HTTP1_CHUNK_CR ? HTTP1_CHUNK_LF : HTTP1_CHUNK_LINE;
	*taken += 1;
	return CODEC_OK;
}

static enum codec_error keep_trailers(struct body *to, struct span section, const char **why)
{
	struct message *m = malloc(sizeof(*m));

	if (!m)
		return CODEC_NO_MEMORY;
	message_init(m);
	*why = http1_read_trailers(section, m);
	to->trailers = m;
	return *why ? CODEC_MALFORMED : CODEC_OK;
}

static enum codec_error take_trailers(struct http1_in *in, struct body *to, struct span octets,
				      size_t *taken, const char **why)
{
	static const char large[] = "there are more than 64 KiB or 128 fields of trailers";
	enum codec_error error = CODEC_OK;
	struct span section;
	enum collected result = collect(in, octets, HTTP_FIELDS_MAX + 1, taken, &section, why);

	if (result == COLLECTED && is_cut(section))
		result = COLLECT_LARGE;
	if (result != COLLECTED)
		return not_collected(result, why, large);
	if (section.n > 2)
		error = keep_trailers(to, section, why);
	http1_in_release(in);
	if (error)
		return error;
	in->phase = HTTP1_END;
	to->ended = true;
	return CODEC_OK;
}

struct filling {
	struct http1_in *in;
	struct body *to;
	const char **why;
};

static enum codec_error fill_step(void *filling, struct span octets, size_t *taken)
{
	struct filling *f = filling;
	struct http1_in *in = f->in;
	struct body *to = f->to;
	const char **why = f->why;

	switch (in->phase) {
	case HTTP1_LENGTH:
	case HTTP1_CHUNK_DATA:
		return take_counted(in, to, octets, taken);
	case HTTP1_CHUNK_LINE:
		return take_chunk_line(in, octets, taken, why);
	case HTTP1_CHUNK_CR:
	case HTTP1_CHUNK_LF:
		return take_chunk_end(in, octets.p[0], taken, why);
	case HTTP1_TRAILERS:
		return take_trailers(in, to, octets, taken, why);
	case HTTP1_UNTIL_END:
		return take_uncounted(to, octets, taken);
	case HTTP1_HEAD:
	case HTTP1_END:
		break;
	}
	return CODEC_OK;
}

enum codec_error http1_in_body(struct http1_in *in, struct body *to, struct span octets,
			       size_t *taken, const char **why)
{
	struct filling f = {.in = in, .to = to, .why = why};

	return http1_drive(&f, fill_step, octets, taken);
}

enum codec_error http1_drive(void *codec, http1_step_fn *step, struct span in, size_t *taken)
{
	size_t at = 0;

	while (at < in.n) {
		size_t n = 0;
		enum codec_error error = step(codec, http_span_from(in, at), &n);

		at += n;
		*taken += n;
		if (error || n == 0)
			return error;
	}
	return CODEC_OK;
}
