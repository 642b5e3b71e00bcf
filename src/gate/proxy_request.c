/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/proxy_request.h"

#include "http/text.h"

enum { STATUS_MALFORMED = 400, STATUS_TOO_LARGE = 431 };

static enum proxy_asks wrong(struct proxy_request *r, uint16_t status, const char *why)
{
	r->status = status;
	r->why = why;
	return PROXY_ASKS_WRONG;
}

/* RFC 9110, 9.3.6: the port is always written. */
static const char *read_authority(struct proxy_request *r, struct span target)
{
	const char *why = http_authority_parse(target, &r->to);

	if (why)
		return why;
	return r->to.port ? NULL : "CONNECT names a host and its port: HOST:PORT";
}

/* A Host without a port means the one that was asked for, where that is a web port. */
static void set_host(struct http_request *head, const struct http_authority *to)
{
	head->scheme = to->port == 443 ? HTTP_SCHEME_HTTPS : HTTP_SCHEME_HTTP;
	head->host = to->kind;
	head->port = to->port;
	if (to->kind == HTTP_HOST_NAME)
		head->name = to->name;
	else
		head->addr = to->addr;
}

/* What has a body could be read as two things: the body, or the first octets of the tunnel. */
static enum proxy_asks read_tunnel(struct proxy_request *r, struct span fields)
{
	struct http_body body;
	const char *why = read_authority(r, r->head.target);

	if (why)
		return wrong(r, STATUS_MALFORMED, why);
	set_host(&r->head, &r->to);
	if (http_fields_parse(fields, &r->head, &body, &why) != HTTP_HEAD_OK)
		return wrong(r, STATUS_MALFORMED, why);
	if (body.framing != HTTP_FRAMING_NONE)
		return wrong(r, STATUS_MALFORMED, "CONNECT has no body");
	return PROXY_ASKS_TUNNEL;
}

static bool begins_with(struct span s, const char *word)
{
	size_t n = strlen(word);

	return s.n >= n && http_is_word(span_of(s.p, n), word);
}

/* The target of the first line, judged before anything else is: what a person got wrong. */
static const char *find_misuse(struct span line)
{
	struct span target = line;

	http_take_until(&target, ' ');
	if (begins_with(target, "https://"))
		return "this proxy opens https:// with CONNECT only";
	if (target.n && (target.p[0] == '/' || target.p[0] == '*'))
		return "this is a proxy: it is asked with the whole address, http://HOST/PATH, or "
		       "with CONNECT HOST:PORT";
	return NULL;
}

static enum proxy_asks read_absolute(struct proxy_request *r, struct span head)
{
	struct http_request *q = &r->head;
	struct http_body body;
	const char *why;

	if (http_head_parse(head, HTTP_SCHEME_HTTP, q, &body, &why) != HTTP_HEAD_OK)
		return wrong(r, STATUS_MALFORMED, why);
	r->to.kind = q->host;
	r->to.port = q->port ? q->port : http_scheme_port(HTTP_SCHEME_HTTP);
	if (q->host == HTTP_HOST_NAME)
		r->to.name = q->name;
	else
		r->to.addr = q->addr;
	return PROXY_ASKS_ABSOLUTE;
}

static enum proxy_asks read_head(struct proxy_request *r, struct span head)
{
	struct span fields = head, line = http_section_line(&fields);
	const char *why;

	switch (http_request_line_parse(line, HTTP_SCHEME_HTTP, &r->head, &why)) {
	case HTTP_HEAD_CONNECT:
		return read_tunnel(r, fields);
	case HTTP_HEAD_OK:
	case HTTP_HEAD_MALFORMED:
		break;
	case HTTP_HEAD_NOT_HTTP:
		return wrong(r, STATUS_MALFORMED, why);
	}
	why = find_misuse(line);
	return why ? wrong(r, STATUS_MALFORMED, why) : read_absolute(r, head);
}

enum proxy_asks proxy_request_read(struct proxy_request *r, struct span seen)
{
	static const char large[] = "the head is larger than 64 KiB or has more than 128 fields";
	const char *why;
	struct span line;
	enum http_scan scan;

	do
		scan = http_section_scan(&r->place, seen, &line, &why);
	while (scan == HTTP_SCAN_LINE && r->place.lines <= HTTP_FIELDS_MAX + 1);
	switch (scan) {
	case HTTP_SCAN_MORE:
		return PROXY_ASKS_MORE;
	case HTTP_SCAN_BAD:
		return wrong(r, STATUS_MALFORMED, why);
	case HTTP_SCAN_LINE:
	case HTTP_SCAN_LARGE:
		return wrong(r, STATUS_TOO_LARGE, large);
	case HTTP_SCAN_WHOLE:
		break;
	}
	r->octets = r->place.scanned;
	return read_head(r, span_of(seen.p, r->octets));
}
