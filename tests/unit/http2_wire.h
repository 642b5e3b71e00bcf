/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_wire: frames of HTTP/2 made and read by hand (RFC 9113, 4.1), as no library would send
 * them.
 */
#ifndef SG_TESTS_HTTP2_WIRE_H
#define SG_TESTS_HTTP2_WIRE_H

#include "base/buf.h"
#include "broker/codec.h"

enum { WIRE_MAX = 1 << 20, WIRE_PREFACE = 24, WIRE_FRAME_HEAD = 9 };

enum wire_type {
	DATA,
	HEADERS,
	PRIORITY,
	RST_STREAM,
	SETTINGS,
	PUSH_PROMISE,
	PING,
	GOAWAY,
	WINDOW_UPDATE,
	CONTINUATION,
	ALTSVC = 10,
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8 };

struct wire {
	uint8_t p[WIRE_MAX];
	size_t n;
};

void wire_preface(struct wire *w); /* of a client, and empty SETTINGS */
void wire_frame(struct wire *w, uint8_t type, uint8_t flags, uint32_t id, struct span payload);
void wire_u32_frame(struct wire *w, uint8_t type, uint32_t id, uint32_t value);
/* A field, literal, no table, no Huffman code (RFC 7541, 6.2.2). Names and values under 127 octets.
 */
void wire_field(struct buf *b, const char *name, const char *value);
/* "name", "value", ..., NULL in one HEADERS frame. */
void wire_headers(struct wire *w, uint32_t id, uint8_t flags, const char *const *fields);
/* GET https://a.example/ with END_STREAM, or POST without. */
void wire_get(struct wire *w, uint32_t id);
void wire_post(struct wire *w, uint32_t id);

struct wire_seen {
	uint8_t type, flags;
	uint32_t id;
	struct span payload;
};
/* The next frame; false: no whole one is left. */
bool wire_next(struct reader *r, struct wire_seen *out);
/* The first of a type (and stream, unless 0) in it; false: none. */
bool wire_find(const struct wire *w, uint8_t type, uint32_t id, struct wire_seen *out);
/* Of RST_STREAM or GOAWAY; UINT32_MAX when there is none. */
uint32_t wire_error(const struct wire *w, uint8_t type, uint32_t id);

/* Feeds all of `in` in steps of that size (0: at once), and collects what is produced. */
enum codec_error wire_feed(struct codec *c, const struct wire *in, size_t step, struct wire *out);
void wire_collect(struct codec *c, struct wire *out);

#endif
