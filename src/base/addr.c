/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include <arpa/inet.h>
#include <stdio.h>

/* inet_pton accepts "010.0.0.1" in some libraries and never prints it: no leading zeros here. */
static bool has_leading_zero(const char *s)
{
	for (; *s; s++)
		if (s[0] == '0' && s[1] >= '0' && s[1] <= '9')
			return true;
		else
			while (s[1] && s[0] != '.')
				s++;
	return false;
}

bool addr_parse(const char *s, size_t n, struct addr *out)
{
	char text[ADDR_TEXT_MAX];
	uint8_t b[16];

	if (n == 0 || n >= sizeof(text) || memchr(s, 0, n))
		return false;
	memcpy(text, s, n);
	text[n] = 0;
	if (!memchr(s, ':', n)) {
		if (has_leading_zero(text) || inet_pton(AF_INET, text, b) != 1)
			return false;
		*out = addr_from_v4(b);
		return true;
	}
	if (inet_pton(AF_INET6, text, b) != 1)
		return false;
	*out = addr_from_v6(b);
	return !addr_is_v4(out);
}

char *addr_format(const struct addr *a, char out[ADDR_TEXT_MAX])
{
	if (addr_is_v4(a))
		inet_ntop(AF_INET, addr_v4_octets(a), out, ADDR_TEXT_MAX);
	else
		inet_ntop(AF_INET6, a->b, out, ADDR_TEXT_MAX);
	return out;
}

struct addr addr_masked(const struct addr *a, unsigned bits)
{
	struct addr m = *a;

	for (unsigned i = 0; i < 16; i++) {
		unsigned kept = bits > i * 8 ? bits - i * 8 : 0;

		if (kept < 8)
			m.b[i] &= (uint8_t)(0xff00 >> kept);
	}
	return m;
}

/* 1 to 3 digits without a leading zero, at most max. */
static bool parse_bits(const char *s, size_t n, unsigned max, unsigned *out)
{
	unsigned v = 0;

	if (n == 0 || n > 3 || (n > 1 && s[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (unsigned)(s[i] - '0');
	}
	*out = v;
	return v <= max;
}

bool prefix_parse(const char *s, size_t n, struct prefix *out)
{
	const char *slash = memchr(s, '/', n);
	struct addr masked;
	unsigned bits;
	bool v4;

	if (!slash || !addr_parse(s, (size_t)(slash - s), &out->addr))
		return false;
	v4 = addr_is_v4(&out->addr);
	if (!parse_bits(slash + 1, n - (size_t)(slash + 1 - s), v4 ? 32 : 128, &bits))
		return false;
	out->bits = (uint8_t)(v4 ? 96 + bits : bits);
	masked = addr_masked(&out->addr, out->bits);
	return addr_equal(&masked, &out->addr);
}

char *prefix_format(const struct prefix *p, char out[PREFIX_TEXT_MAX])
{
	char text[ADDR_TEXT_MAX];
	bool v4 = addr_is_v4(&p->addr) && p->bits >= 96;

	snprintf(out, PREFIX_TEXT_MAX, "%s/%u", addr_format(&p->addr, text),
		 v4 ? p->bits - 96u : p->bits);
	return out;
}

bool prefix_contains(const struct prefix *p, const struct addr *a)
{
	unsigned whole = p->bits / 8, rest = p->bits % 8;

	if (memcmp(p->addr.b, a->b, whole) != 0)
		return false;
	return rest == 0 || ((p->addr.b[whole] ^ a->b[whole]) & (uint8_t)(0xff00 >> rest)) == 0;
}

char *endpoint_format(const struct endpoint *e, char out[ENDPOINT_TEXT_MAX])
{
	char text[ADDR_TEXT_MAX];

	addr_format(&e->addr, text);
	snprintf(out, ENDPOINT_TEXT_MAX, addr_is_v4(&e->addr) ? "%s:%u" : "[%s]:%u", text, e->port);
	return out;
}

socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (addr_is_v4(&e->addr)) {
		struct sockaddr_in *sin = (struct sockaddr_in *)out;

		sin->sin_family = AF_INET;
		sin->sin_port = htons(e->port);
		memcpy(&sin->sin_addr, addr_v4_octets(&e->addr), 4);
		return sizeof(*sin);
	}
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)out;

	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(e->port);
	memcpy(&sin6->sin6_addr, e->addr.b, 16);
	return sizeof(*sin6);
}

bool endpoint_from_sockaddr(const struct sockaddr_storage *s, struct endpoint *out)
{
	if (s->ss_family == AF_INET) {
		const struct sockaddr_in *sin = (const struct sockaddr_in *)s;

		out->addr = addr_from_v4((const uint8_t *)&sin->sin_addr);
		out->port = ntohs(sin->sin_port);
		return true;
	}
	if (s->ss_family == AF_INET6) {
		const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)s;

		out->addr = addr_from_v6((const uint8_t *)&sin6->sin6_addr);
		out->port = ntohs(sin6->sin6_port);
		return true;
	}
	return false;
}
