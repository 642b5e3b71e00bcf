/* SPDX-License-Identifier: Apache-2.0 */
#include "http/authority.h"

#include "http/text.h"

enum { PORT_DIGITS_MAX = 5 };

static const char *parse_port(struct span s, uint16_t *port)
{
	uint64_t v;

	if (!http_parse_number(s, PORT_DIGITS_MAX, UINT16_MAX, &v) || v == 0)
		return "the port of the host is not a number from 1 to 65535";
	*port = (uint16_t)v;
	return NULL;
}

/* "[2001:db8::1]" or "[2001:db8::1]:80". */
static const char *parse_bracketed(struct span s, struct http_authority *out)
{
	struct span rest = http_span_from(s, 1), text = http_take_until(&rest, ']');

	if (text.n == s.n - 1 || !addr_parse((const char *)text.p, text.n, &out->addr) ||
	    addr_is_v4(&out->addr))
		return "the host in brackets is not an IPv6 address";
	out->kind = HTTP_HOST_ADDRESS;
	if (rest.n == 0)
		return NULL;
	if (rest.p[0] != ':')
		return "the host in brackets is followed by something else";
	return parse_port(http_span_from(rest, 1), &out->port);
}

const char *http_authority_parse(struct span s, struct http_authority *out)
{
	struct span port = s, host;

	out->port = 0;
	if (s.n == 0)
		return "the host is empty";
	if (memchr(s.p, '@', s.n))
		return "the host has a user name before it";
	if (s.p[0] == '[')
		return parse_bracketed(s, out);
	host = http_take_until(&port, ':');
	if (addr_parse((const char *)host.p, host.n, &out->addr))
		out->kind = HTTP_HOST_ADDRESS;
	else if (name_parse_ascii((const char *)host.p, host.n, &out->name) == NAME_OK)
		out->kind = HTTP_HOST_NAME;
	else
		return "the host is not a host name";
	return host.n == s.n ? NULL : parse_port(port, &out->port);
}
