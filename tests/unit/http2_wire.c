/* SPDX-License-Identifier: Apache-2.0 */
#include "http2_wire.h"

#include <stdlib.h>

static void put(struct wire *w, const void *p, size_t n)
{
	if (n > WIRE_MAX - w->n)
		abort();
	if (n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

void wire_frame(struct wire *w, uint8_t type, uint8_t flags, uint32_t id, struct span payload)
{
	uint8_t head[WIRE_FRAME_HEAD];
	struct buf b = buf_of(head, sizeof(head));

	buf_put_u8(&b, (uint8_t)(payload.n >> 16));
	buf_put_u16(&b, (uint16_t)payload.n);
	buf_put_u8(&b, type);
	buf_put_u8(&b, flags);
	buf_put_u32(&b, id);
	put(w, head, sizeof(head));
	put(w, payload.p, payload.n);
}

void wire_preface(struct wire *w)
{
	put(w, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", WIRE_PREFACE);
	wire_frame(w, SETTINGS, 0, 0, span_of(NULL, 0));
}

void wire_u32_frame(struct wire *w, uint8_t type, uint32_t id, uint32_t value)
{
	uint8_t p[4];
	struct buf b = buf_of(p, sizeof(p));

	buf_put_u32(&b, value);
	wire_frame(w, type, 0, id, span_of(p, sizeof(p)));
}

static void put_string(struct buf *b, const char *s)
{
	if (strlen(s) > 126)
		abort();
	buf_put_u8(b, (uint8_t)strlen(s));
	buf_put_text(b, s);
}

void wire_field(struct buf *b, const char *name, const char *value)
{
	buf_put_u8(b, 0);
	put_string(b, name);
	put_string(b, value);
}

void wire_headers(struct wire *w, uint32_t id, uint8_t flags, const char *const *fields)
{
	static uint8_t block[16384];
	struct buf b = buf_of(block, sizeof(block));

	for (; *fields; fields += 2)
		wire_field(&b, fields[0], fields[1]);
	if (b.full)
		abort();
	wire_frame(w, HEADERS, flags | END_HEADERS, id, buf_span(&b));
}

void wire_get(struct wire *w, uint32_t id)
{
	const char *const fields[] = {":method",   "GET",   ":scheme", "https", ":authority",
				      "a.example", ":path", "/",       NULL};

	wire_headers(w, id, END_STREAM, fields);
}

void wire_post(struct wire *w, uint32_t id)
{
	const char *const fields[] = {":method",   "POST",  ":scheme", "https", ":authority",
				      "a.example", ":path", "/",       NULL};

	wire_headers(w, id, 0, fields);
}

bool wire_next(struct reader *r, struct wire_seen *out)
{
	uint32_t n;

	if (reader_left(r) < WIRE_FRAME_HEAD)
		return false;
	n = reader_u24(r);
	out->type = reader_u8(r);
	out->flags = reader_u8(r);
	out->id = reader_u32(r);
	out->payload = reader_take(r, n);
	return !r->bad;
}

bool wire_find(const struct wire *w, uint8_t type, uint32_t id, struct wire_seen *out)
{
	struct reader r = reader_of(span_of(w->p, w->n));

	while (wire_next(&r, out))
		if (out->type == type && (id == 0 || out->id == id))
			return true;
	return false;
}

uint32_t wire_error(const struct wire *w, uint8_t type, uint32_t id)
{
	struct wire_seen seen;
	struct reader r;

	if (!wire_find(w, type, id, &seen))
		return UINT32_MAX;
	r = reader_of(seen.payload);
	if (type == GOAWAY)
		reader_u32(&r); /* the last stream */
	return reader_u32(&r);
}

void wire_collect(struct codec *c, struct wire *out)
{
	struct buf b;
	size_t n;

	do {
		b = buf_of(out->p + out->n, WIRE_MAX - out->n);
		n = c->ops->produce(c, &b);
		out->n += n;
	} while (n);
}

enum codec_error wire_feed(struct codec *c, const struct wire *in, size_t step, struct wire *out)
{
	enum codec_error error = CODEC_OK;
	size_t taken;

	for (size_t at = 0; at < in->n && !error; at += taken) {
		size_t n = step && step < in->n - at ? step : in->n - at;

		error = c->ops->receive(c, span_of(in->p + at, n), &taken);
		wire_collect(c, out);
	}
	wire_collect(c, out);
	return error;
}
