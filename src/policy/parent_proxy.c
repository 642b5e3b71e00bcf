/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/parent_proxy.h"

#include <stdlib.h>
#include <string.h>

#include "policy/quote.h"

enum { ADDR_BITS = 128, HTTP_PORT = 80, URL_MAX = 1024, PORT_DIGITS = 5 };

#define SCHEME "http://"

/* ---- What goes without it ---- */

static int parse_name(const char *text, size_t n, struct name *out, struct err *e)
{
	enum name_error r = name_parse(text, n, out, NULL);

	return r == NAME_OK ? 0 : err_set(e, "%s", name_error_text(r));
}

int parent_exception_parse(const char *text, struct parent_exception *out, struct err *e)
{
	char shown[QUOTE_MAX];
	struct err why;

	*out = (struct parent_exception){.is_prefix = true, .prefix.bits = ADDR_BITS};
	if (addr_parse(text, strlen(text), &out->prefix.addr) ||
	    prefix_parse(text, strlen(text), &out->prefix))
		return 0;
	*out = (struct parent_exception){.below = text[0] == '.' || strncmp(text, "*.", 2) == 0};
	text += out->below ? strspn(text, "*") + 1 : 0;
	if (parse_name(text, strlen(text), &out->name, &why) == 0)
		return 0;
	return err_set(e,
		       "%s: %s; write a host, `*.example.com`, an address or a network in its "
		       "canonical form",
		       quote_string(text, shown), why.text);
}

static bool is_loopback(const struct addr *a)
{
	static const struct addr v6 = {{[15] = 1}};

	return addr_is_v4(a) ? addr_v4_octets(a)[0] == 127 : addr_equal(a, &v6);
}

bool parent_proxy_carries(const struct parent_proxy *p, const struct name *name,
			  const struct addr *a)
{
	for (size_t i = 0; i < p->n_exceptions; i++) {
		const struct parent_exception *x = &p->exception[i];

		if (x->is_prefix ? prefix_contains(&x->prefix, a)
		    : !name	 ? false
		    : x->below	 ? name_is_below(name, &x->name)
				 : name_equal(name, &x->name))
			return false;
	}
	return p->n > 0 && !is_loopback(a);
}

/* ---- Where it is ---- */

static int refuse(const char *why, struct err *e)
{
	return err_set(e, "%s; write `http://HOST:PORT` or `http://USER@HOST:PORT`", why);
}

static int take_user(const char *text, size_t n, struct parent_url *out, struct err *e)
{
	if (n == 0 || n > PARENT_USER_MAX)
		return refuse("its user is empty or too long", e);
	if (memchr(text, ':', n))
		return err_set(e,
			       "a password does not belong into a setting; write the user alone, "
			       "and in `upstream_proxy_from` where the password comes from");
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return refuse("its user holds something else than visible ASCII", e);
	memcpy(out->user, text, n);
	return 0;
}

static int take_port(const char *text, size_t n, struct parent_url *out, struct err *e)
{
	char digits[PORT_DIGITS + 1] = "";
	unsigned long port;

	if (n == 0 || n > PORT_DIGITS || strspn(text, "0123456789") < n)
		return refuse("its port is no number from 1 to 65535", e);
	memcpy(digits, text, n);
	port = strtoul(digits, NULL, 10);
	if (port == 0 || port > UINT16_MAX)
		return refuse("its port is no number from 1 to 65535", e);
	out->at.port = (uint16_t)port;
	return 0;
}

static int take_host(const char *text, size_t n, bool bracketed, struct parent_url *out,
		     struct err *e)
{
	struct name name;
	struct err why;

	out->is_address = addr_parse(text, n, &out->at.addr);
	if (bracketed && (!out->is_address || addr_is_v4(&out->at.addr)))
		return refuse("what is in brackets is no IPv6 address", e);
	if (out->is_address && n < sizeof(out->host)) {
		memcpy(out->host, text, n);
		return 0;
	}
	if (parse_name(text, n, &name, &why))
		return refuse(why.text, e);
	memcpy(out->host, name.s, name.n);
	return 0;
}

static int take_authority(const char *text, size_t n, struct parent_url *out, struct err *e)
{
	const char *close = text[0] == '[' ? memchr(text, ']', n) : NULL;
	const char *host = close ? text + 1 : text;
	size_t host_n = close ? (size_t)(close - host) : strcspn(text, ":/");
	const char *rest = close ? close + 1 : text + (host_n < n ? host_n : n);
	size_t rest_n = n - (size_t)(rest - text);

	if (host_n == 0)
		return refuse("it has no host", e);
	if (rest_n && rest[0] != ':')
		return refuse("behind its host is something else than a port", e);
	if (rest_n && take_port(rest + 1, rest_n - 1, out, e))
		return -1;
	return take_host(host, host_n < n ? host_n : n, close != NULL, out, e);
}

int parent_url_parse(const char *text, struct parent_url *out, struct err *e)
{
	const char *rest = text + sizeof(SCHEME) - 1, *at;
	size_t n = strlen(text);

	*out = (struct parent_url){.at = {.port = HTTP_PORT}};
	if (n > URL_MAX || strncmp(text, SCHEME, sizeof(SCHEME) - 1) != 0)
		return refuse("it is no URL of the scheme http", e);
	n -= sizeof(SCHEME) - 1;
	if (n && rest[n - 1] == '/')
		n--;
	at = memrchr(rest, '@', n);
	if (at && take_user(rest, (size_t)(at - rest), out, e))
		return -1;
	n -= at ? (size_t)(at + 1 - rest) : 0;
	return take_authority(at ? at + 1 : rest, n, out, e);
}
