/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the block: pseudo-header fields first, then the others, each by its row in a table.
 * Then what only the whole can tell. Functions that find fault answer with the sentence piece that
 * says so, NULL meaning that all is well.
 */
#include "broker/http2_head.h"

#include "base/compiler.h"
#include "http/authority.h"
#include "http/head.h"
#include "http/text.h"

enum { LENGTH_DIGITS_MAX = 19 /* of 2^63-1 */ };

static const char no_room[] = "the head does not fit into memory";

struct head {
	const struct http2_block *block;
	struct message *m;
	struct span method, scheme, authority, path, protocol, status; /* .p NULL: not there */
	struct span host;
	struct span crumbs[HTTP2_BLOCK_FIELDS]; /* of cookie */
	size_t n_crumbs;
	bool crumbs_sensitive;
	bool has_length, fields_begun;
};

static bool is(struct span s, const char *text)
{
	return span_equal(s, span_of_string(text));
}

/* ---- Names and values (RFC 9113, 8.2.1) ---- */

static const char *check_name(struct span name)
{
	if (!http_is_token(name))
		return "the name of a field has a character it must not have";
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] >= 'A' && name.p[i] <= 'Z')
			return "the name of a field has an upper-case letter";
	return NULL;
}

static const char *check_value(struct span value)
{
	if (http_trim(value).n != value.n)
		return "the value of a field has white space at an end";
	return http_is_text(value) ? NULL : "the value of a field has a control character";
}

static const char *add(struct head *h, const struct field *f)
{
	if (h->m->n_fields == MESSAGE_FIELDS_MAX)
		return "there are more than 128 fields";
	if (!message_add(h->m, f->name, f->value))
		return no_room;
	h->m->fields[h->m->n_fields - 1].sensitive = f->sensitive;
	return NULL;
}

/* ---- Pseudo-header fields (RFC 9113, 8.3) ---- */

static const char *read_pseudo(struct head *h, const struct field *f)
{
	struct {
		const char *name;
		struct span *slot;
	} request[] =
		{
			{":method", &h->method},       {":scheme", &h->scheme},
			{":authority", &h->authority}, {":path", &h->path},
			{":protocol", &h->protocol},
		},
	  answer[] = {{":status", &h->status}}, *known = h->m->status ? answer : request;
	size_t n = h->m->status ? sg_array_len(answer) : sg_array_len(request);

	if (h->fields_begun)
		return "a pseudo-header field comes after other fields";
	for (size_t i = 0; i < n; i++) {
		if (!is(f->name, known[i].name))
			continue;
		if (known[i].slot->p)
			return "a pseudo-header field comes twice";
		*known[i].slot = f->value;
		h->m->path_sensitive |= f->sensitive && known[i].slot == &h->path;
		return NULL;
	}
	return "there is a pseudo-header field that does not belong here";
}

/* ---- The other fields ---- */

static const char *refuse_hop(struct head *h, const struct field *f)
{
	return "a field belongs to connections of HTTP/1.1";
}

static const char *drop(struct head *h, const struct field *f)
{
	return NULL;
}

static const char *read_te(struct head *h, const struct field *f)
{
	if (!http_is_word(f->value, "trailers"))
		return "TE is something else than trailers";
	if (message_find(h->m, "te", NULL))
		return NULL;
	return add(h, &(struct field){f->name, span_of_string("trailers"), f->sensitive});
}

static const char *read_host(struct head *h, const struct field *f)
{
	if (h->host.p)
		return "there are two Host fields";
	h->host = f->value;
	return NULL;
}

static const char *read_length(struct head *h, const struct field *f)
{
	if (h->has_length)
		return "there are two Content-Length fields";
	h->has_length = true;
	if (!http_parse_number(f->value, LENGTH_DIGITS_MAX, INT64_MAX, &h->m->length))
		return "the Content-Length is not a number below 2^63";
	return NULL;
}

static const char *read_expect(struct head *h, const struct field *f)
{
	if (!http_is_word(f->value, "100-continue"))
		return "Expect asks for something else than 100-continue";
	h->m->expects_continue = true;
	return NULL;
}

/* One cookie may come in crumbs, and leaves as one field (RFC 9113, 8.2.3). */
static const char *read_cookie(struct head *h, const struct field *f)
{
	h->crumbs[h->n_crumbs++] = f->value;
	h->crumbs_sensitive |= f->sensitive;
	return NULL;
}

/* Fields that are not simply copied. The first rows frame or route: no other name may imitate them.
 */
struct special {
	const char *name;
	const char *(*request)(struct head *h, const struct field *f);
	const char *(*answer)(struct head *h, const struct field *f); /* NULL: copied */
	bool strict;
};

static const struct special specials[] = {
	{"connection", refuse_hop, refuse_hop, true},
	{"content-length", read_length, read_length, true},
	{"host", read_host, NULL, true},
	{"transfer-encoding", refuse_hop, refuse_hop, true},
	{"upgrade", refuse_hop, refuse_hop, true},
	{"alt-svc", add, drop, false},
	{"cookie", read_cookie, NULL, false},
	{"expect", read_expect, NULL, false},
	{"http2-settings", drop, NULL, false},
	{"keep-alive", refuse_hop, refuse_hop, false},
	{"proxy-authenticate", add, drop, false},
	{"proxy-authorization", drop, NULL, false},
	{"proxy-connection", refuse_hop, refuse_hop, false},
	{"te", read_te, NULL, false},
};

static const char *read_field(struct head *h, const struct field *f)
{
	const struct special *end = specials + sg_array_len(specials);

	for (const struct special *s = specials; s < end; s++) {
		if (is(f->name, s->name)) {
			if (h->m->status)
				return s->answer ? s->answer(h, f) : add(h, f);
			return s->request(h, f);
		}
		if (s->strict && http_field_is(f->name, s->name))
			return "the name of a field imitates one that frames";
	}
	return add(h, f);
}

static const char *read_any(struct head *h, const struct field *f)
{
	bool pseudo = f->name.n && f->name.p[0] == ':';
	const char *why = pseudo ? NULL : check_name(f->name);

	if (!why)
		why = check_value(f->value);
	if (why)
		return why;
	if (pseudo)
		return read_pseudo(h, f);
	h->fields_begun = true;
	return read_field(h, f);
}

static const char *read_all(struct head *h)
{
	const struct http2_block *b = h->block;
	const char *why = b->fault;

	if (b->no_memory)
		return no_room;
	for (size_t i = 0; !why && i < b->n_fields; i++)
		why = read_any(h, &b->fields[i]);
	return why;
}

/* The pieces are stored one after the other, so they lie in one. */
static const char *join_cookie(struct head *h)
{
	struct field f = {.name = span_of_string("cookie"), .sensitive = h->crumbs_sensitive};
	struct span piece, value = {0};

	for (size_t i = 0; i < h->n_crumbs; i++) {
		if (i && !message_store(h->m, span_of_string("; "), &piece))
			return no_room;
		if (!message_store(h->m, h->crumbs[i], &piece))
			return no_room;
		if (i == 0)
			value.p = piece.p;
		value.n = (size_t)(piece.p + piece.n - value.p);
	}
	if (h->n_crumbs == 0)
		return NULL;
	if (h->m->n_fields == MESSAGE_FIELDS_MAX)
		return "there are more than 128 fields";
	if (!message_store(h->m, f.name, &f.name))
		return no_room;
	f.value = value;
	h->m->fields[h->m->n_fields++] = f;
	return NULL;
}

/* ---- A request ---- */

static const char *set_host(struct message *m, const struct http_authority *a)
{
	m->has_host = a->kind == HTTP_HOST_NAME;
	if (m->has_host)
		m->host = a->name;
	else
		m->address = a->addr;
	m->port = a->port;
	return NULL;
}

static uint16_t default_port(const struct head *h)
{
	return http_scheme_port(is(h->scheme, "https") ? HTTP_SCHEME_HTTPS : HTTP_SCHEME_HTTP);
}

static const char *parse_authority(const struct head *h, struct span s, struct http_authority *a)
{
	const char *why = http_authority_parse(s, a);

	if (!why && a->port == 0)
		a->port = default_port(h);
	return why;
}

static bool same_authority(const struct http_authority *a, const struct http_authority *b)
{
	if (a->kind != b->kind || a->port != b->port)
		return false;
	return a->kind == HTTP_HOST_NAME ? name_equal(&a->name, &b->name)
					 : addr_equal(&a->addr, &b->addr);
}

static const char *read_authority(struct head *h)
{
	struct span s = h->authority.p ? h->authority : h->host;
	struct http_authority a, host;
	const char *why;

	if (!s.p)
		return "there is no host";
	why = parse_authority(h, s, &a);
	if (!why && h->authority.p && h->host.p) {
		why = parse_authority(h, h->host, &host);
		if (!why && !same_authority(&a, &host))
			why = "the Host field is not the :authority";
	}
	return why ? why : set_host(h->m, &a);
}

static const char *check_path(const struct head *h)
{
	struct span p = h->path;

	if (!p.p || p.n == 0)
		return "there is no :path";
	for (size_t i = 0; i < p.n; i++)
		if (p.p[i] <= ' ' || p.p[i] == 0x7f || p.p[i] == '#')
			return "the :path has a control character, a space or a fragment";
	if (p.p[0] == '/')
		return NULL;
	return is(p, "*") && is(h->method, "OPTIONS") ? NULL : "the :path does not begin with /";
}

static const char *check_method(const struct head *h)
{
	if (!h->method.p || !http_is_token(h->method) || h->method.n > HTTP_METHOD_MAX)
		return "the :method is not a word";
	if (is(h->method, "CONNECT") != (h->protocol.p != NULL))
		return h->protocol.p ? ":protocol comes without CONNECT" : "CONNECT is for proxies";
	if (h->protocol.p && !is(h->protocol, "websocket"))
		return "the :protocol is not websocket";
	return NULL;
}

static const char *check_pseudo(const struct head *h)
{
	const char *why = check_method(h);

	if (!why && (!h->scheme.p || (!is(h->scheme, "https") && !is(h->scheme, "http"))))
		why = "the :scheme is neither https nor http";
	return why ? why : check_path(h);
}

static const char *store_pseudo(struct head *h)
{
	struct message *m = h->m;
	struct span method = h->protocol.p ? span_of_string("GET") : h->method;

	m->protocol = span_of_string(h->protocol.p ? "websocket" : "");
	if (message_store(m, method, &m->method) && message_store(m, h->scheme, &m->scheme) &&
	    message_store(m, h->authority.p ? h->authority : h->host, &m->authority) &&
	    message_store(m, h->path, &m->path))
		return NULL;
	return no_room;
}

static const char *set_request_body(struct head *h, bool ends)
{
	struct message *m = h->m;

	if (h->protocol.p) {
		m->body = MESSAGE_BODY_NONE;
		return ends || h->has_length ? "a request for WebSocket has a body, or ends" : NULL;
	}
	if (ends && m->length)
		return "the body is shorter than its Content-Length";
	if (h->has_length)
		m->body = MESSAGE_BODY_LENGTH;
	else
		m->body = ends ? MESSAGE_BODY_NONE : MESSAGE_BODY_STREAM;
	m->expects_continue = m->expects_continue && !ends;
	return NULL;
}

const char *http2_head_read_request(const struct http2_block *b, bool ends, struct message *m)
{
	struct head h = {.block = b, .m = m};
	const char *why = read_all(&h);

	if (!why)
		why = check_pseudo(&h);
	if (!why)
		why = read_authority(&h);
	if (!why)
		why = store_pseudo(&h);
	if (!why)
		why = join_cookie(&h);
	return why ? why : set_request_body(&h, ends);
}

/* ---- An answer ---- */

static const char *read_status(struct head *h)
{
	uint64_t status;

	if (!h->status.p || h->status.n != 3 || !http_parse_number(h->status, 3, 599, &status) ||
	    status < 100)
		return "the :status is not a number from 100 to 599";
	if (status == 101)
		return "101 does not exist in HTTP/2";
	h->m->status = (uint16_t)status;
	return NULL;
}

static const char *set_answer_body(struct head *h, bool ends)
{
	struct message *m = h->m;

	if (m->status < 200 && ends)
		return "an answer ends with an interim status";
	if (m->status < 200 || m->status == 204) {
		m->body = MESSAGE_BODY_NONE;
		m->length = 0;
	} else if (h->has_length) {
		m->body = MESSAGE_BODY_LENGTH;
	} else {
		m->body = ends ? MESSAGE_BODY_NONE : MESSAGE_BODY_STREAM;
	}
	return NULL;
}

const char *http2_head_read_answer(const struct http2_block *b, bool ends, struct message *m)
{
	struct head h = {.block = b, .m = m};
	const char *why;

	m->status = UINT16_MAX; /* not a request; the real one is read below */
	why = read_all(&h);
	if (!why)
		why = read_status(&h);
	return why ? why : set_answer_body(&h, ends);
}

/* ---- Trailers ---- */

const char *http2_head_read_trailers(const struct http2_block *b, struct message *m)
{
	struct head h = {.block = b, .m = m};
	const char *why = b->no_memory ? no_room : b->fault;

	for (size_t i = 0; !why && i < b->n_fields; i++) {
		const struct field *f = &b->fields[i];

		why = check_name(f->name);
		if (!why)
			why = check_value(f->value);
		if (!why && !http_field_may_trail(f->name))
			why = "a field that frames, routes or authenticates is a trailer";
		if (!why)
			why = add(&h, f);
	}
	return why;
}
