/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr: IPv4 and IPv6 addresses and prefixes in one shape.
 *
 * An IPv4 address is kept as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), so that one
 * comparison and one table serve both. A mapped address that came over the wire
 * as IPv6 must be unwrapped or refused before it becomes a `struct addr`.
 */
#ifndef SG_BASE_ADDR_H
#define SG_BASE_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct addr {
	uint8_t b[16];
};

struct prefix {
	struct addr addr; /* host bits are zero */
	uint8_t bits;	  /* 0..128; an IPv4 /n is 96 + n */
};

struct endpoint {
	struct addr addr;
	uint16_t port; /* host byte order */
};

enum {
	ADDR_TEXT_MAX = INET6_ADDRSTRLEN,
	PREFIX_TEXT_MAX = INET6_ADDRSTRLEN + 4,
	ENDPOINT_TEXT_MAX = INET6_ADDRSTRLEN + 8,
};

static inline bool addr_is_v4(const struct addr *a)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(a->b, mapped, 12) == 0;
}

static inline bool addr_equal(const struct addr *a, const struct addr *b)
{
	return memcmp(a->b, b->b, 16) == 0;
}

/* From network-order octets as they stand in a packet or a record. */
static inline struct addr addr_from_v4(const uint8_t b[4])
{
	struct addr a = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, b[0], b[1], b[2], b[3]}};

	return a;
}

static inline struct addr addr_from_v6(const uint8_t b[16])
{
	struct addr a;

	memcpy(a.b, b, 16);
	return a;
}

/* The four octets of an IPv4 address. */
static inline const uint8_t *addr_v4_octets(const struct addr *a)
{
	return a->b + 12;
}

/*
 * Parses the canonical spelling only: inet_pton, no leading zeros, no zone. For IPv6 text that
 * spells a mapped address, false. n octets at s, no NUL needed.
 */
bool addr_parse(const char *s, size_t n, struct addr *out);

/* RFC 5952 text for IPv6, dotted quad for IPv4. Returns out. */
char *addr_format(const struct addr *a, char out[ADDR_TEXT_MAX]);

/* "10.0.0.0/8", "2001:db8::/32"; false when host bits are set or the text is not canonical. */
bool prefix_parse(const char *s, size_t n, struct prefix *out);
char *prefix_format(const struct prefix *p, char out[PREFIX_TEXT_MAX]);
bool prefix_contains(const struct prefix *p, const struct addr *a);

/* The address with everything after the first `bits` cleared. */
struct addr addr_masked(const struct addr *a, unsigned bits);

/* "203.0.113.10:443", "[2001:db8::10]:443". */
char *endpoint_format(const struct endpoint *e, char out[ENDPOINT_TEXT_MAX]);

/* sockaddr_in for an IPv4 address, else sockaddr_in6. Returns its length. */
socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *out);

/* False for another family. A mapped IPv6 sockaddr becomes the IPv4 address. */
bool endpoint_from_sockaddr(const struct sockaddr_storage *s, struct endpoint *out);

#endif
