/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns_special.h"

#include "base/compiler.h"
#include "base/hex.h"

struct special {
	const char *zone; /* it and every name below */
	enum dns_special kind;
};

/* The first match counts. */
static const struct special specials[] = {
	{"localhost", DNS_SPECIAL_LOOPBACK},
	{"host.sandgate.internal", DNS_SPECIAL_GATE},
	{"gateway.sandgate.internal", DNS_SPECIAL_GATE},
	{"sandgate.internal", DNS_SPECIAL_NXDOMAIN},
	{"invalid", DNS_SPECIAL_NXDOMAIN}, /* RFC 6761, 6.4 */
	{"test", DNS_SPECIAL_NXDOMAIN},	   /* RFC 6761, 6.2 */
	{"onion", DNS_SPECIAL_NXDOMAIN},   /* RFC 7686 */
	{"local", DNS_SPECIAL_NXDOMAIN},   /* RFC 6762: multicast, which does not leave the link */
	{"alt", DNS_SPECIAL_NXDOMAIN},	   /* RFC 9476 */
	{"resolver.arpa",
	 DNS_SPECIAL_NODATA}, /* RFC 9462: there is no encrypted resolver to find */
	{"ipv4only.arpa", DNS_SPECIAL_IPV4ONLY},
	/* Asked by browsers before they take another resolver than the system's. */
	{"use-application-dns.net", DNS_SPECIAL_NXDOMAIN},
	{"mask.icloud.com", DNS_SPECIAL_NXDOMAIN},
	{"mask-h2.icloud.com", DNS_SPECIAL_NXDOMAIN},
};

static bool is_at_or_below(const struct name *name, const char *zone)
{
	size_t n = strlen(zone), skip;

	if (name->n < n)
		return false;
	skip = name->n - n;
	return memcmp(name->s + skip, zone, n) == 0 && (skip == 0 || name->s[skip - 1] == '.');
}

enum dns_special dns_special_find(const struct name *name)
{
	for (size_t i = 0; i < sg_array_len(specials); i++)
		if (is_at_or_below(name, specials[i].zone))
			return specials[i].kind;
	return DNS_SPECIAL_NONE;
}

/* "10.113.0.203" before ".in-addr.arpa": the octets backwards, written canonically. */
static bool parse_reverse_v4(const char *s, size_t n, struct addr *out)
{
	struct addr backwards;
	uint8_t octets[4];

	if (!addr_parse(s, n, &backwards) || !addr_is_v4(&backwards))
		return false;
	for (size_t i = 0; i < 4; i++)
		octets[i] = addr_v4_octets(&backwards)[3 - i];
	*out = addr_from_v4(octets);
	return true;
}

/* 32 nibbles backwards with dots between. A mapped address is none that was asked for. */
static bool parse_reverse_v6(const char *s, size_t n, struct addr *out)
{
	if (n != 63)
		return false;
	for (size_t i = 0; i < 32; i++) {
		int v = hex_value((uint8_t)s[2 * i]);

		if (v < 0 || (i < 31 && s[2 * i + 1] != '.'))
			return false;
		if (i % 2 == 0)
			out->b[15 - i / 2] = (uint8_t)v;
		else
			out->b[15 - i / 2] |= (uint8_t)(v << 4);
	}
	return !addr_is_v4(out);
}

enum dns_reverse dns_reverse_parse(const struct name *name, struct addr *out)
{
	static const char v4[] = "in-addr.arpa", v6[] = "ip6.arpa";
	bool whole;

	if (is_at_or_below(name, v4))
		whole = name->n > sizeof(v4) &&
			parse_reverse_v4(name->s, name->n - sizeof(v4), out);
	else if (is_at_or_below(name, v6))
		whole = name->n > sizeof(v6) &&
			parse_reverse_v6(name->s, name->n - sizeof(v6), out);
	else
		return REVERSE_NOT;
	return whole ? REVERSE_ADDR : REVERSE_OTHER;
}
