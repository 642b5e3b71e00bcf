/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2_fields.h"

#include <inttypes.h>
#include <stdio.h>

static void put(struct http2_fields *o, struct span name, struct span value, bool sensitive)
{
	o->nv[o->n++] = (nghttp2_nv){
		.name = (uint8_t *)name.p,
		.value = (uint8_t *)value.p,
		.namelen = name.n,
		.valuelen = value.n,
		.flags = sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
	};
}

static void put_text(struct http2_fields *o, const char *name, struct span value)
{
	put(o, span_of_string(name), value, false);
}

static void put_number(struct http2_fields *o, const char *name, char text[24], uint64_t v)
{
	int n = snprintf(text, 24, "%" PRIu64, v);

	put_text(o, name, span_of(text, (size_t)n));
}

/* What of WebSocket belongs to HTTP/1.1 only (RFC 8441, 5). */
static bool is_handshake(struct span name)
{
	return span_equal(name, span_of_string("sec-websocket-key")) ||
	       span_equal(name, span_of_string("sec-websocket-accept"));
}

static void put_fields(struct http2_fields *o, const struct message *m, bool websocket)
{
	for (size_t i = 0; i < m->n_fields; i++) {
		const struct field *f = &m->fields[i];

		if (!websocket || !is_handshake(f->name))
			put(o, f->name, f->value, f->sensitive);
	}
}

static void put_length(struct http2_fields *o, const struct message *m)
{
	if (m->body == MESSAGE_BODY_LENGTH)
		put_number(o, "content-length", o->number[1], m->length);
}

void http2_fields_of_request(const struct message *m, struct http2_fields *o)
{
	bool websocket = m->protocol.n > 0;

	o->n = 0;
	put_text(o, ":method", websocket ? span_of_string("CONNECT") : m->method);
	put_text(o, ":scheme", m->scheme);
	put_text(o, ":authority", m->authority);
	put(o, span_of_string(":path"), m->path, m->path_sensitive);
	if (websocket)
		put_text(o, ":protocol", m->protocol);
	put_fields(o, m, websocket);
	put_length(o, m);
	if (m->expects_continue)
		put_text(o, "expect", span_of_string("100-continue"));
}

void http2_fields_of_answer(const struct message *m, bool granted, struct http2_fields *o)
{
	o->n = 0;
	put_number(o, ":status", o->number[0], granted ? 200 : m->status);
	put_fields(o, m, granted);
	if (m->status >= 200 && m->status != 204)
		put_length(o, m);
}

void http2_fields_of_trailers(const struct message *m, struct http2_fields *o)
{
	o->n = 0;
	put_fields(o, m, false);
}
