/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head is parsed in one pass when it is whole. Functions that find fault answer
 * with the sentence piece that says so, NULL meaning that all is well.
 */
#include "gate/http_head.h"

#include <strings.h>

#include "base/compiler.h"

enum { LENGTH_DIGITS_MAX = 19 /* of 2^63-1 */, PORT_DIGITS_MAX = 5 };

bool http_is_token_octet(uint8_t c)
{
	if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
		return true;
	return c && strchr("!#$%&'*+-.^_`|~", c);
}

static bool is_token(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_token_octet(s.p[i]))
			return false;
	return s.n > 0;
}

static bool is_word(struct span s, const char *word)
{
	return s.n == strlen(word) && strncasecmp((const char *)s.p, word, s.n) == 0;
}

static struct span span_from(struct span s, size_t at)
{
	return span_of(s.p + at, s.n - at);
}

/* The octets before the first `c`, which is passed; all when there is none. */
static struct span take_until(struct span *s, uint8_t c)
{
	const uint8_t *end = s->n ? memchr(s->p, c, s->n) : NULL;
	struct span head = *s;

	if (!end) {
		*s = span_from(*s, s->n);
		return head;
	}
	head.n = (size_t)(end - s->p);
	*s = span_from(*s, head.n + 1);
	return head;
}

/* Without spaces and tabs at its ends (OWS, RFC 9110, 5.6.3). */
static struct span trim(struct span s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = span_from(s, 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* Digits only, as many as `digits_max` at most; no sign, space or separator. */
static bool parse_number(struct span s, unsigned digits_max, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (s.n == 0 || s.n > digits_max)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	}
	*out = v;
	return v <= max;
}

/* ---- The host: an authority without userinfo (RFC 3986, 3.2; RFC 9110, 4.2.4) ---- */

struct authority {
	enum http_host kind;
	struct name name;
	struct addr addr;
	uint16_t port; /* 0: none */
};

static const char *parse_port(struct span s, uint16_t *port)
{
	uint64_t v;

	if (!parse_number(s, PORT_DIGITS_MAX, UINT16_MAX, &v) || v == 0)
		return "the port of the host is not a number from 1 to 65535";
	*port = (uint16_t)v;
	return NULL;
}

/* "[2001:db8::1]" or "[2001:db8::1]:80". */
static const char *parse_bracketed(struct span s, struct authority *out)
{
	struct span rest = span_from(s, 1), text = take_until(&rest, ']');

	if (text.n == s.n - 1 || !addr_parse((const char *)text.p, text.n, &out->addr) ||
	    addr_is_v4(&out->addr))
		return "the host in brackets is not an IPv6 address";
	out->kind = HTTP_HOST_ADDRESS;
	if (rest.n == 0)
		return NULL;
	if (rest.p[0] != ':')
		return "the host in brackets is followed by something else";
	return parse_port(span_from(rest, 1), &out->port);
}

static const char *parse_authority(struct span s, struct authority *out)
{
	struct span port = s, host;

	out->port = 0;
	if (s.n == 0)
		return "the host is empty";
	if (memchr(s.p, '@', s.n))
		return "the host has a user name before it";
	if (s.p[0] == '[')
		return parse_bracketed(s, out);
	host = take_until(&port, ':');
	if (addr_parse((const char *)host.p, host.n, &out->addr))
		out->kind = HTTP_HOST_ADDRESS;
	else if (name_parse_ascii((const char *)host.p, host.n, &out->name) == NAME_OK)
		out->kind = HTTP_HOST_NAME;
	else
		return "the host is not a host name";
	return host.n == s.n ? NULL : parse_port(port, &out->port);
}

static bool same_authority(const struct http_request *r, const struct authority *a)
{
	enum { DEFAULT_PORT = 80 };

	if ((r->port ? r->port : DEFAULT_PORT) != (a->port ? a->port : DEFAULT_PORT) ||
	    r->host != a->kind)
		return false;
	return a->kind == HTTP_HOST_NAME ? name_equal(&r->name, &a->name)
					 : addr_equal(&r->addr, &a->addr);
}

static void set_authority(struct http_request *r, const struct authority *a)
{
	r->host = a->kind;
	r->port = a->port;
	if (a->kind == HTTP_HOST_NAME)
		r->name = a->name;
	else
		r->addr = a->addr;
}

/* ---- The request line (RFC 9112, 3) ---- */

/* "http://authority/path": the authority becomes the request's, to be compared with Host. */
static const char *parse_absolute_form(struct span target, struct http_request *out)
{
	enum { SCHEME_OCTETS = sizeof("http://") - 1 };
	struct authority a;
	const char *why;
	size_t n;

	if (target.n < SCHEME_OCTETS || !is_word(span_of(target.p, SCHEME_OCTETS), "http://"))
		return "the target is neither a path nor an http address";
	target = span_from(target, SCHEME_OCTETS);
	for (n = 0; n < target.n && target.p[n] != '/'; n++)
		if (target.p[n] == '?')
			return "the target has a query without a path";
	why = parse_authority(span_of(target.p, n), &a);
	if (why)
		return why;
	set_authority(out, &a);
	out->path = n < target.n ? span_from(target, n) : span_of_string("/");
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

enum http_head_result http_request_line_parse(struct span line, struct http_request *out,
					      const char **why)
{
	struct span method;

	out->host = HTTP_HOST_ABSENT;
	out->port = 0;
	out->websocket = false;
	if (!take_version(&line, &out->minor)) {
		*why = "the first line is not a request of HTTP/1.0 or HTTP/1.1";
		return HTTP_HEAD_NOT_HTTP;
	}
	method = take_until(&line, ' ');
	if (!is_token(method) || method.n > HTTP_METHOD_MAX) {
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
	struct authority a;
	const char *why;

	if (h->host)
		return "there are two Host fields";
	h->host = true;
	why = parse_authority(value, &a);
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
	if (!parse_number(value, LENGTH_DIGITS_MAX, INT64_MAX, &h->body->length))
		return "the Content-Length is not a number below 2^63";
	return NULL;
}

static const char *read_transfer_encoding(struct head *h, struct span value)
{
	if (h->coding)
		return "there are two Transfer-Encoding fields";
	h->coding = true;
	return is_word(value, "chunked") ? NULL : "the Transfer-Encoding is not exactly chunked";
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
	h->request->websocket = is_word(value, "websocket");
	while (!h->request->websocket && value.n)
		if (is_word(trim(take_until(&value, ',')), "websocket"))
			return "Upgrade names another protocol beside websocket";
	return NULL;
}

/* A field that Connection names is taken out by the next proxy: not one that was judged by. */
static const char *read_connection(struct head *h, struct span value)
{
	static const char *const judged[] = {"host", "content-length", "transfer-encoding"};

	(void)h;
	while (value.n) {
		struct span option = trim(take_until(&value, ','));

		for (size_t i = 0; i < sg_array_len(judged); i++)
			if (is_word(option, judged[i]))
				return "Connection names a field that frames or routes";
	}
	return NULL;
}

/* "name: value"; a line that begins with a space is obs-fold and has no name (RFC 9112, 5.2). */
static const char *split_field(struct span line, struct span *name, struct span *value)
{
	*value = line;
	*name = take_until(value, ':');
	if (name->n == line.n)
		return "a field has no colon";
	if (!is_token(*name))
		return "the name of a field has a character it must not have";
	*value = trim(*value);
	for (size_t i = 0; i < value->n; i++)
		if ((value->p[i] < ' ' && value->p[i] != '\t') || value->p[i] == 0x7f)
			return "the value of a field has a control character";
	return NULL;
}

/* Some servers take "_" for "-" in names: "Content_Length" must not pass for an unknown field. */
static bool is_field(struct span name, const char *known)
{
	if (name.n != strlen(known))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i] == '_' ? '-' : (char)name.p[i];

		if (c != known[i] && !(c >= 'A' && c <= 'Z' && (c | 0x20) == known[i]))
			return false;
	}
	return true;
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
	const char *why = split_field(line, &name, &value);

	for (size_t i = 0; !why && i < sg_array_len(fields); i++) {
		if (!is_field(name, fields[i].name))
			continue;
		if (memchr(name.p, '_', name.n))
			return "the name of a field imitates one that frames";
		return fields[i].read(h, value);
	}
	return why;
}

/* ---- The whole ---- */

/* The next line without its CRLF. */
static struct span take_line(struct span *section)
{
	struct span line = take_until(section, '\n');

	if (line.n)
		line.n--;
	return line;
}

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

enum http_head_result http_head_parse(struct span head, struct http_request *out,
				      struct http_body *body, const char **why)
{
	struct head h = {.request = out, .body = body};
	enum http_head_result result = http_request_line_parse(take_line(&head), out, why);

	if (result != HTTP_HEAD_OK)
		return result;
	body->length = 0;
	for (;;) {
		struct span line = take_line(&head);

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

const char *http_trailers_check(struct span section)
{
	static const char *const forbidden[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"trailer",
		"te",
		"connection",
		"upgrade",
		"expect",
		"content-encoding",
		"cookie",
		"proxy-authorization",
		"authorization",
		"range",
		"content-type",
		"content-range",
	};

	for (;;) {
		struct span line = take_line(&section), name, value;
		const char *why;

		if (line.n == 0)
			return NULL;
		why = split_field(line, &name, &value);
		if (why)
			return why;
		for (size_t i = 0; i < sg_array_len(forbidden); i++)
			if (is_field(name, forbidden[i]))
				return "a field that frames, routes or authenticates is a trailer";
	}
}
