/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head is parsed in one pass when it is whole. Functions that find fault answer
 * with the sentence piece that says so, NULL meaning that all is well.
 */
#include "http/head.h"

#include "base/compiler.h"
#include "http/text.h"

enum { LENGTH_DIGITS_MAX = 19 /* of 2^63-1 */ };

const char http_coding_unknown[] = "the Transfer-Encoding is not exactly chunked";

/* ---- The host ---- */

static bool same_authority(const struct http_request *r, const struct http_authority *a)
{
	uint16_t default_port = http_scheme_port(r->scheme);

	if ((r->port ? r->port : default_port) != (a->port ? a->port : default_port) ||
	    r->host != a->kind)
		return false;
	return a->kind == HTTP_HOST_NAME ? name_equal(&r->name, &a->name)
					 : addr_equal(&r->addr, &a->addr);
}

static void set_authority(struct http_request *r, const struct http_authority *a)
{
	r->host = a->kind;
	r->port = a->port;
	if (a->kind == HTTP_HOST_NAME)
		r->name = a->name;
	else
		r->addr = a->addr;
}

/* ---- The request line (RFC 9112, 3) ---- */

/*
 * "http://authority/path", with the scheme of the connection: the authority becomes the request's,
 * to be compared with Host.
 */
static const char *parse_absolute_form(struct span target, struct http_request *out)
{
	const char *scheme = out->scheme == HTTP_SCHEME_HTTPS ? "https://" : "http://";
	size_t n = strlen(scheme);
	struct http_authority a;
	const char *why;

	if (target.n < n || !http_is_word(span_of(target.p, n), scheme))
		return "the target is neither a path nor an address of the connection's scheme";
	target = http_span_from(target, n);
	for (n = 0; n < target.n && target.p[n] != '/'; n++)
		if (target.p[n] == '?')
			return "the target has a query without a path";
	why = http_authority_parse(span_of(target.p, n), &a);
	if (why)
		return why;
	set_authority(out, &a);
	out->path = n < target.n ? http_span_from(target, n) : span_of_string("/");
	return NULL;
}

static const char *parse_target(struct span target, struct http_request *out)
{
	if (target.n == 0)
		return "the target is empty";
	for (size_t i = 0; i < target.n; i++)
		if (target.p[i] <= ' ' || target.p[i] == 0x7f || target.p[i] == '#')
			return "the target has a control character, a space or a fragment";
	out->target = target;
	if (target.p[0] != '/' && !span_equal(target, span_of_string("*")))
		return parse_absolute_form(target, out);
	if (target.p[0] == '*' && strcmp(out->method, "OPTIONS") != 0)
		return "the target * belongs to OPTIONS only";
	out->path = target;
	return NULL;
}

/* " HTTP/1.x" at the end of the line is taken off it. */
static bool take_version(struct span *line, uint8_t *minor)
{
	static const char version[] = " HTTP/1.";
	enum { PREFIX = sizeof(version) - 1 };
	const uint8_t *p;

	if (line->n < PREFIX + 1)
		return false;
	p = line->p + line->n - PREFIX - 1;
	if (memcmp(p, version, PREFIX) != 0 || (p[PREFIX] != '0' && p[PREFIX] != '1'))
		return false;
	*minor = p[PREFIX] - '0';
	line->n -= PREFIX + 1;
	return true;
}

enum http_head_result http_request_line_parse(struct span line, enum http_scheme scheme,
					      struct http_request *out, const char **why)
{
	struct span method;

	out->scheme = scheme;
	out->host = HTTP_HOST_ABSENT;
	out->port = 0;
	out->websocket = false;
	if (!take_version(&line, &out->minor)) {
		*why = "the first line is not a request of HTTP/1.0 or HTTP/1.1";
		return HTTP_HEAD_NOT_HTTP;
	}
	method = http_take_until(&line, ' ');
	if (!http_is_token(method) || method.n > HTTP_METHOD_MAX) {
		*why = "the method is not a word";
		return HTTP_HEAD_MALFORMED;
	}
	memcpy(out->method, method.p, method.n);
	out->method[method.n] = 0;
	if (strcmp(out->method, "CONNECT") == 0) {
		out->target = out->path = line;
		return HTTP_HEAD_CONNECT;
	}
	*why = parse_target(line, out);
	return *why ? HTTP_HEAD_MALFORMED : HTTP_HEAD_OK;
}

/* ---- The fields (RFC 9110, 5; RFC 9112, 5) ---- */

struct head {
	struct http_request *request;
	struct http_body *body;
	bool host, length, coding, upgrade; /* the field was there */
};

static const char *read_host(struct head *h, struct span value)
{
	struct http_authority a;
	const char *why;

	if (h->host)
		return "there are two Host fields";
	h->host = true;
	why = http_authority_parse(value, &a);
	if (why)
		return why;
	if (h->request->host != HTTP_HOST_ABSENT && !same_authority(h->request, &a))
		return "the host of the target is not the one of the Host field";
	set_authority(h->request, &a);
	return NULL;
}

static const char *read_content_length(struct head *h, struct span value)
{
	if (h->length)
		return "there are two Content-Length fields";
	h->length = true;
	if (!http_parse_number(value, LENGTH_DIGITS_MAX, INT64_MAX, &h->body->length))
		return "the Content-Length is not a number below 2^63";
	return NULL;
}

static const char *read_transfer_encoding(struct head *h, struct span value)
{
	if (h->coding)
		return "there are two Transfer-Encoding fields";
	h->coding = true;
	return http_is_word(value, "chunked") ? NULL : http_coding_unknown;
}

/*
 * Only WebSocket may switch the connection. A list could be answered with another protocol of it,
 * HTTP/2 for one, in which requests would pass unseen. Other protocols alone are not held against
 * the request: it is an ordinary one, and what a client sends after a switch to one of them does
 * not parse as the next.
 */
static const char *read_upgrade(struct head *h, struct span value)
{
	if (h->upgrade)
		return "there are two Upgrade fields";
	h->upgrade = true;
	h->request->websocket = http_is_word(value, "websocket");
	while (!h->request->websocket && value.n)
		if (http_is_word(http_trim(http_take_until(&value, ',')), "websocket"))
			return "Upgrade names another protocol beside websocket";
	return NULL;
}

/* A field that Connection names is taken out by the next proxy: not one that was judged by. */
static const char *read_connection(struct head *h, struct span value)
{
	static const char *const judged[] = {"host", "content-length", "transfer-encoding"};

	(void)h;
	while (value.n) {
		struct span option = http_trim(http_take_until(&value, ','));

		for (size_t i = 0; i < sg_array_len(judged); i++)
			if (http_is_word(option, judged[i]))
				return "Connection names a field that frames or routes";
	}
	return NULL;
}

static const char *read_field(struct head *h, struct span line)
{
	static const struct {
		const char *name;
		const char *(*read)(struct head *h, struct span value);
	} fields[] = {
		{"host", read_host},
		{"content-length", read_content_length},
		{"transfer-encoding", read_transfer_encoding},
		{"upgrade", read_upgrade},
		{"connection", read_connection},
	};
	struct span name, value;
	const char *why = http_field_split(line, &name, &value);

	for (size_t i = 0; !why && i < sg_array_len(fields); i++) {
		if (!http_field_is(name, fields[i].name))
			continue;
		if (memchr(name.p, '_', name.n))
			return "the name of a field imitates one that frames";
		return fields[i].read(h, value);
	}
	return why;
}

/* ---- The whole ---- */

static const char *check_whole(const struct head *h)
{
	const struct http_request *r = h->request;
	bool has_body = h->coding || h->body->length;

	if (h->coding && h->length)
		return "there are both Transfer-Encoding and Content-Length";
	if (h->coding && r->minor == 0)
		return "HTTP/1.0 has no Transfer-Encoding";
	if (!h->host && r->minor == 1)
		return "there is no Host field";
	if (r->websocket && (has_body || r->minor == 0 || strcmp(r->method, "GET") != 0))
		return "a request for WebSocket is a GET of HTTP/1.1 without a body";
	return NULL;
}

static enum http_framing framing_of(const struct head *h)
{
	if (h->coding)
		return HTTP_FRAMING_CHUNKED;
	return h->body->length ? HTTP_FRAMING_LENGTH : HTTP_FRAMING_NONE;
}

enum http_head_result http_fields_parse(struct span fields, struct http_request *request,
					struct http_body *body, const char **why)
{
	struct head h = {.request = request, .body = body};

	body->length = 0;
	for (;;) {
		struct span line = http_section_line(&fields);

		if (line.n == 0)
			break;
		*why = read_field(&h, line);
		if (*why)
			return HTTP_HEAD_MALFORMED;
	}
	*why = check_whole(&h);
	if (*why)
		return HTTP_HEAD_MALFORMED;
	body->framing = framing_of(&h);
	return HTTP_HEAD_OK;
}

enum http_head_result http_head_parse(struct span head, enum http_scheme scheme,
				      struct http_request *out, struct http_body *body,
				      const char **why)
{
	enum http_head_result result =
		http_request_line_parse(http_section_line(&head), scheme, out, why);

	return result == HTTP_HEAD_OK ? http_fields_parse(head, out, body, why) : result;
}
