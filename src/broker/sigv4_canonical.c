/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sigv4_canonical.h"

#include <stdlib.h>

#include "base/hex.h"
#include "broker/carrier.h"
#include "http/text.h"

enum { PIECES_MAX = 256, SEGMENTS_MAX = 512 };

static int compare(struct span a, struct span b)
{
	int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return c ? c : a.n < b.n ? -1 : a.n > b.n;
}

static struct span since(const struct buf *b, size_t from)
{
	return span_of(b->p + from, b->n - from);
}

/* ---- Encoding ---- */

/* Decoded and encoded again, so that there is one text for whatever the client left as it was. */
static void put_again(struct buf *b, struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		int hi = s.p[i] == '%' && i + 2 < s.n ? hex_value(s.p[i + 1]) : -1;
		int lo = hi >= 0 ? hex_value(s.p[i + 2]) : -1;
		uint8_t octet = lo >= 0 ? (uint8_t)(hi << 4 | lo) : s.p[i];

		query_put_encoded(b, span_of(&octet, 1));
		i += lo >= 0 ? 2 : 0;
	}
}

/* ---- The path ---- */

static void put_plain_path(struct buf *b, struct span path)
{
	for (size_t i = 0; i < path.n; i++) {
		size_t n = 0;

		if (path.p[i] == '/') {
			buf_put_u8(b, '/');
			continue;
		}
		while (i + n < path.n && path.p[i + n] != '/')
			n++;
		put_again(b, span_of(path.p + i, n));
		i += n - 1;
	}
}

/* RFC 3986, 5.2.4, and no empty segments. */
static size_t segments_of(struct span path, struct span out[SEGMENTS_MAX])
{
	size_t n = 0;

	while (path.n) {
		struct span s = http_take_until(&path, '/');

		if (s.n == 0 || span_equal(s, span_of(".", 1)))
			continue;
		if (span_equal(s, span_of("..", 2)))
			n -= n > 0;
		else if (n < SEGMENTS_MAX)
			out[n++] = s;
	}
	return n;
}

/* Each segment is encoded twice. */
static void put_normal_path(struct buf *b, struct span path)
{
	struct span segments[SEGMENTS_MAX];
	size_t n = segments_of(path, segments);

	for (size_t i = 0; i < n; i++) {
		size_t from;

		buf_put_u8(b, '/');
		from = b->n;
		put_again(b, segments[i]);
		for (size_t at = from; at < b->n && !b->full; at++)
			if (b->p[at] == '%') {
				buf_put(b, "25", 2);
				if (b->full)
					return;
				memmove(b->p + at + 3, b->p + at + 1, b->n - at - 3);
				memcpy(b->p + at + 1, "25", 2);
			}
	}
	if (n == 0 || path.p[path.n - 1] == '/')
		buf_put_u8(b, '/');
}

/* ---- The query ---- */

struct piece {
	struct span key, value; /* encoded */
};

static int by_key(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = compare(x->key, y->key);

	return c ? c : compare(x->value, y->value);
}

static size_t read_pieces(struct span query, struct buf *b, struct piece *pieces)
{
	size_t n = 0;

	while (query.n && n < PIECES_MAX) {
		struct span value = http_take_until(&query, '&');
		struct span key = http_take_until(&value, '=');
		size_t from = b->n;

		put_again(b, key);
		pieces[n].key = since(b, from);
		from = b->n;
		put_again(b, value);
		pieces[n++].value = since(b, from);
	}
	return query.n ? PIECES_MAX + 1 : n;
}

/* `room` holds the pieces while they are sorted. */
static bool put_query(struct buf *b, struct span query, struct buf *room)
{
	struct piece pieces[PIECES_MAX];
	size_t n = read_pieces(query, room, pieces);

	if (n > PIECES_MAX || room->full)
		return false;
	qsort(pieces, n, sizeof(*pieces), by_key);
	for (size_t i = 0; i < n; i++) {
		buf_put_text(b, i ? "&" : "");
		buf_put_span(b, pieces[i].key);
		buf_put_text(b, "=");
		buf_put_span(b, pieces[i].value);
	}
	return true;
}

/* ---- The fields ---- */

static bool is_listed(struct span names, struct span name)
{
	while (names.n)
		if (span_equal(http_take_until(&names, ';'), name))
			return true;
	return false;
}

static bool begins_with(struct span s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && memcmp(s.p, with, n) == 0;
}

static bool is_signed(struct span name, struct span had_signed)
{
	return begins_with(name, "x-amz-") || span_equal(name, span_of_string("content-type")) ||
	       is_listed(had_signed, name);
}

static int by_name(const void *a, const void *b)
{
	return compare(*(const struct span *)a, *(const struct span *)b);
}

bool sigv4_put_names(const struct message *request, struct span had_signed, struct buf *b,
		     struct span *names)
{
	struct span list[MESSAGE_FIELDS_MAX + 1] = {span_of_string("host")};
	size_t n = 1, from = b->n;

	for (size_t i = 0; i < request->n_fields; i++)
		if (is_signed(request->fields[i].name, had_signed))
			list[n++] = request->fields[i].name;
	qsort(list, n, sizeof(*list), by_name);
	for (size_t i = 0; i < n; i++) {
		if (i && span_equal(list[i], list[i - 1]))
			continue;
		buf_put_text(b, i ? ";" : "");
		buf_put_span(b, list[i]);
	}
	*names = since(b, from);
	return !b->full;
}

/* Runs of spaces become one. */
static void put_value(struct buf *b, struct span value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] != ' ' || i == 0 || value.p[i - 1] != ' ')
			buf_put_u8(b, value.p[i]);
}

static void put_field(const struct message *m, struct span name, struct buf *b)
{
	bool more = false;

	buf_put_span(b, name);
	buf_put_text(b, ":");
	if (span_equal(name, span_of_string("host")))
		buf_put_span(b, m->authority);
	for (size_t i = 0; i < m->n_fields; i++) {
		if (!span_equal(m->fields[i].name, name))
			continue;
		buf_put_text(b, more ? "," : "");
		put_value(b, m->fields[i].value);
		more = true;
	}
	buf_put_text(b, "\n");
}

/* ---- All of it ---- */

static void put_line(struct buf *b, struct span s)
{
	buf_put_span(b, s);
	buf_put_text(b, "\n");
}

static bool put_all(const struct message *m, struct span names, struct span hash, bool plain_path,
		    struct buf *b, struct buf *room)
{
	struct span query = m->path, path = http_take_until(&query, '?'), left = names;

	put_line(b, m->method);
	if (plain_path)
		put_plain_path(b, path);
	else
		put_normal_path(b, path);
	buf_put_text(b, "\n");
	if (!put_query(b, query, room))
		return false;
	buf_put_text(b, "\n");
	while (left.n)
		put_field(m, http_take_until(&left, ';'), b);
	buf_put_text(b, "\n");
	put_line(b, names);
	buf_put_span(b, hash);
	return !b->full;
}

bool sigv4_put_canonical(const struct message *request, struct span names, struct span hash,
			 bool plain_path, struct buf *b, struct span *out)
{
	/* Three characters for each octet of the query, at most. */
	size_t cap = request->path.n * 3 + 1, from = b->n;
	uint8_t *room = malloc(cap);
	struct buf pieces = buf_of(room, cap);
	bool ok = room && put_all(request, names, hash, plain_path, b, &pieces);

	free(room);
	*out = since(b, from);
	return ok;
}
