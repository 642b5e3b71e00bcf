/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is judged by http/head.c, which the gate judges by too. A second pass over the same
 * lines copies what goes on.
 */
#include "broker/http1_head.h"

#include <strings.h>

#include "http/head.h"
#include "http/text.h"

static const char no_room[] = "the head does not fit into memory";

/* ---- Connection (RFC 9110, 7.6.1) ---- */

enum { OPTIONS_MAX = 32 };

struct options {
	struct span named[OPTIONS_MAX];
	size_t n;
};

static bool is_named(const struct options *o, struct span name)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->named[i].n == name.n &&
		    strncasecmp((const char *)o->named[i].p, (const char *)name.p, name.n) == 0)
			return true;
	return false;
}

static bool has_option(const struct options *o, const char *word)
{
	return is_named(o, span_of_string(word));
}

static const char *add_options(struct options *o, struct span value)
{
	while (value.n) {
		struct span option = http_trim(http_take_until(&value, ','));

		if (option.n == 0)
			continue;
		if (!http_is_token(option))
			return "Connection has an option that is not a word";
		if (o->n == OPTIONS_MAX)
			return "Connection names more than 32 options";
		o->named[o->n++] = option;
	}
	return NULL;
}

/* Of all Connection fields in lines that each have a colon, or are malformed. */
static const char *read_options(struct span lines, struct options *o)
{
	struct span line, name, value;
	const char *why;

	o->n = 0;
	for (line = http_section_line(&lines); line.n; line = http_section_line(&lines)) {
		why = http_field_split(line, &name, &value);
		if (!why && http_is_word(name, "connection"))
			why = add_options(o, value);
		if (why)
			return why;
	}
	return NULL;
}

static bool is_persistent(const struct options *o, bool old)
{
	if (has_option(o, "close"))
		return false;
	return !old || has_option(o, "keep-alive");
}

/* ---- Copying ---- */

static bool store_lower(struct message *m, struct span name, struct span *out)
{
	uint8_t *p;

	if (!message_store(m, name, out))
		return false;
	p = m->memory + (out->p - m->memory);
	for (size_t i = 0; i < out->n; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] |= 0x20;
	return true;
}

/* The name is a token and the value text: http_field_split() has seen to both. */
static const char *add_field(struct message *m, struct span name, struct span value)
{
	struct field *f = &m->fields[m->n_fields];

	if (m->n_fields == MESSAGE_FIELDS_MAX)
		return "there are more than 128 fields";
	*f = (struct field){0};
	if (!store_lower(m, name, &f->name) || !message_store(m, value, &f->value))
		return no_room;
	m->n_fields++;
	return NULL;
}

static bool is_one_of(struct span name, const char *const *words)
{
	for (; *words; words++)
		if (http_is_word(name, *words))
			return true;
	return false;
}

/* Of te only "trailers" goes on, which is true of this hop too (RFC 9110, 10.1.4). */
static const char *copy_te(struct message *m, struct span value)
{
	while (value.n)
		if (http_is_word(http_trim(http_take_until(&value, ',')), "trailers") &&
		    !message_find(m, "te", NULL))
			return add_field(m, span_of_string("te"), span_of_string("trailers"));
	return NULL;
}

/* All lines but those in `hop`, and those that Connection names; `expect` and `te` are read. */
static const char *copy_fields(struct span lines, const struct options *o, const char *const *hop,
			       struct message *m)
{
	struct span line, name, value;
	const char *why = NULL;

	while (!why && (line = http_section_line(&lines)).n) {
		why = http_field_split(line, &name, &value);
		if (why)
			return why;
		if (http_is_word(name, "te") && m->status == 0)
			why = copy_te(m, value);
		else if (!is_one_of(name, hop) && !is_named(o, name))
			why = add_field(m, name, value);
	}
	return why;
}

/* ---- Requests ---- */

enum {
	STATUS_MALFORMED = 400,
	STATUS_EXPECTATION = 417,
	STATUS_TOO_LARGE = 431,
	STATUS_NOT_IMPLEMENTED = 501,
	STATUS_VERSION = 505,
};

static const char *const request_hop[] = {
	"connection",
	"keep-alive",
	"proxy-connection",
	"proxy-authorization",
	"transfer-encoding",
	"content-length",
	"upgrade",
	"host",
	"expect",
	"http2-settings",
	NULL,
};

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Of a first line that ends in neither HTTP/1.0 nor HTTP/1.1. */
static uint16_t status_of_version(struct span line)
{
	static const char prefix[] = " HTTP/";
	enum { PREFIX = sizeof(prefix) - 1, ALL = PREFIX + 3 /* "2.0" */ };
	const uint8_t *p;

	if (line.n < ALL)
		return STATUS_MALFORMED;
	p = line.p + line.n - ALL;
	if (memcmp(p, prefix, PREFIX) != 0 || p[PREFIX + 1] != '.' || !is_digit(p[PREFIX]) ||
	    !is_digit(p[PREFIX + 2]))
		return STATUS_MALFORMED;
	return STATUS_VERSION;
}

static uint16_t status_of(enum http_head_result result, struct span section, const char **why)
{
	switch (result) {
	case HTTP_HEAD_OK:
		return 0;
	case HTTP_HEAD_CONNECT:
		*why = "CONNECT is for proxies";
		return STATUS_NOT_IMPLEMENTED;
	case HTTP_HEAD_NOT_HTTP:
		return status_of_version(http_section_line(&section));
	case HTTP_HEAD_MALFORMED:
		break;
	}
	return *why == http_coding_unknown ? STATUS_NOT_IMPLEMENTED : STATUS_MALFORMED;
}

static struct span find_line(struct span lines, const char *wanted)
{
	struct span line, name, value;

	for (line = http_section_line(&lines); line.n; line = http_section_line(&lines))
		if (!http_field_split(line, &name, &value) && http_is_word(name, wanted))
			return value;
	return span_of(NULL, 0);
}

/* HTTP/1.0 has no 100 (RFC 9110, 10.1.1). */
static uint16_t read_expect(struct span lines, struct message *m, const struct http1_hop *hop,
			    const char **why)
{
	struct span value = find_line(lines, "expect");

	if (!value.p || hop->old)
		return 0;
	if (!http_is_word(value, "100-continue")) {
		*why = "Expect asks for something else than 100-continue";
		return STATUS_EXPECTATION;
	}
	m->expects_continue = m->body != MESSAGE_BODY_NONE;
	return 0;
}

static void set_body(struct message *m, struct http1_hop *hop, const struct http_body *body,
		     bool has_length)
{
	hop->chunked = body->framing == HTTP_FRAMING_CHUNKED;
	m->length = body->length;
	if (hop->chunked)
		m->body = MESSAGE_BODY_STREAM;
	else
		m->body = has_length ? MESSAGE_BODY_LENGTH : MESSAGE_BODY_NONE;
}

static void set_host(struct message *m, const struct http_request *r)
{
	m->has_host = r->host == HTTP_HOST_NAME;
	if (m->has_host)
		m->host = r->name;
	else
		m->address = r->addr;
	m->port = r->port ? r->port : http_scheme_port(r->scheme);
	m->scheme = span_of_string(r->scheme == HTTP_SCHEME_HTTPS ? "https" : "http");
}

static bool store_line(struct message *m, const struct http_request *r, struct span host)
{
	return message_store(m, span_of_string(r->method), &m->method) &&
	       message_store(m, r->path, &m->path) && message_store(m, host, &m->authority);
}

/* Without "Connection: upgrade" the field Upgrade says nothing (RFC 9110, 7.8). */
static void set_protocol(struct message *m, const struct http_request *r, const struct options *o)
{
	if (r->websocket && has_option(o, "upgrade"))
		m->protocol = span_of_string("websocket");
}

static uint16_t fill_request(struct span lines, const struct http_request *r,
			     const struct http_body *body, struct message *m, struct http1_hop *hop,
			     const char **why)
{
	struct options options;
	struct span host = find_line(lines, "host");

	*why = host.p ? read_options(lines, &options) : "there is no Host field";
	if (*why)
		return STATUS_MALFORMED;
	hop->old = r->minor == 0;
	hop->persistent = is_persistent(&options, hop->old);
	set_host(m, r);
	set_body(m, hop, body, find_line(lines, "content-length").p != NULL);
	set_protocol(m, r, &options);
	*why = store_line(m, r, host) ? copy_fields(lines, &options, request_hop, m) : no_room;
	return *why ? STATUS_TOO_LARGE : read_expect(lines, m, hop, why);
}

uint16_t http1_read_request(struct span section, bool tls, struct message *m, struct http1_hop *hop,
			    const char **why)
{
	struct http_request r;
	struct http_body body;
	struct span lines = section;
	uint16_t status =
		status_of(http_head_parse(section, tls ? HTTP_SCHEME_HTTPS : HTTP_SCHEME_HTTP, &r,
					  &body, why),
			  section, why);

	*hop = (struct http1_hop){0};
	if (status)
		return status;
	http_section_line(&lines);
	return fill_request(lines, &r, &body, m, hop, why);
}

/* ---- Answers ---- */

static const char *const answer_hop[] = {
	"connection",
	"keep-alive",
	"proxy-connection",
	"proxy-authenticate",
	"transfer-encoding",
	"content-length",
	"upgrade",
	"alt-svc",
	NULL,
};

/* "HTTP/1.1 200 OK"; the phrase may be missing, and the space before it (RFC 9112, 4). */
static const char *read_status_line(struct span line, struct message *m, struct http1_hop *hop)
{
	static const char version[] = "HTTP/1.";
	enum { PREFIX = sizeof(version) - 1, CODE = PREFIX + 2, END = CODE + 3 };
	uint64_t code;

	if (line.n < END || memcmp(line.p, version, PREFIX) != 0 || line.p[CODE - 1] != ' ' ||
	    (line.p[PREFIX] != '0' && line.p[PREFIX] != '1'))
		return "the first line is not an answer of HTTP/1.0 or HTTP/1.1";
	hop->old = line.p[PREFIX] == '0';
	if (!http_parse_number(span_of(line.p + CODE, 3), 3, 599, &code) || code < 100)
		return "the status is not a number from 100 to 599";
	if (line.n > END && (line.p[END] != ' ' || !http_is_text(http_span_from(line, END))))
		return "the status is followed by something else than a phrase";
	m->status = (uint16_t)code;
	return NULL;
}

struct framing {
	bool length, coding, upgrade;
};

static const char *read_length(struct framing *f, struct span value, struct message *m)
{
	enum { DIGITS_MAX = 19 /* of 2^63-1 */ };

	if (f->length)
		return "there are two Content-Length fields";
	f->length = true;
	if (!http_parse_number(value, DIGITS_MAX, INT64_MAX, &m->length))
		return "the Content-Length is not a number below 2^63";
	return NULL;
}

static const char *read_coding(struct framing *f, struct span value)
{
	if (f->coding)
		return "there are two Transfer-Encoding fields";
	f->coding = true;
	return http_is_word(value, "chunked") ? NULL : http_coding_unknown;
}

static const char *read_framing_field(struct framing *f, struct span name, struct span value,
				      struct message *m)
{
	bool length = http_field_is(name, "content-length");
	bool coding = http_field_is(name, "transfer-encoding");

	if ((length || coding) && memchr(name.p, '_', name.n))
		return "the name of a field imitates one that frames";
	if (length)
		return read_length(f, value, m);
	if (coding)
		return read_coding(f, value);
	if (http_is_word(name, "upgrade"))
		f->upgrade = http_is_word(value, "websocket");
	return NULL;
}

static const char *read_framing(struct span lines, struct message *m, struct http1_hop *hop,
				struct framing *f)
{
	struct span line, name, value;
	const char *why = NULL;

	while (!why && (line = http_section_line(&lines)).n) {
		why = http_field_split(line, &name, &value);
		if (!why)
			why = read_framing_field(f, name, value, m);
	}
	if (!why && f->coding && f->length)
		why = "there are both Transfer-Encoding and Content-Length";
	if (!why && f->coding && hop->old)
		why = "HTTP/1.0 has no Transfer-Encoding";
	hop->chunked = f->coding;
	m->body = f->length ? MESSAGE_BODY_LENGTH : MESSAGE_BODY_STREAM;
	return why;
}

const char *http1_read_answer(struct span section, struct message *m, struct http1_hop *hop)
{
	struct framing framing = {0};
	struct options options;
	const char *why;

	*hop = (struct http1_hop){0};
	why = read_status_line(http_section_line(&section), m, hop);
	if (!why)
		why = read_options(section, &options);
	if (!why)
		why = read_framing(section, m, hop, &framing);
	if (why)
		return why;
	hop->persistent = is_persistent(&options, hop->old);
	hop->upgrade = framing.upgrade && has_option(&options, "upgrade");
	return copy_fields(section, &options, answer_hop, m);
}

const char *http1_read_trailers(struct span section, struct message *m)
{
	static const char *const none[] = {NULL};
	const struct options options = {.n = 0};
	const char *why = http_trailers_check(section);

	return why ? why : copy_fields(section, &options, none, m);
}
