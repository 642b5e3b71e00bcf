/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/checksum.h"

static uint64_t add_octets(uint64_t sum, const uint8_t *p, size_t n)
{
	for (; n > 1; p += 2, n -= 2)
		sum += (uint64_t)p[0] << 8 | p[1];
	return n ? sum + ((uint64_t)p[0] << 8) : sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Where in its header a protocol has the field; -1: it has none, or none that is left open. */
static int field_of(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return 16;
	case IPPROTO_UDP:
		return 6;
	case IPPROTO_ICMPV6:
		return 2;
	default:
		return -1;
	}
}

static uint64_t add_address(uint64_t sum, const struct addr *a)
{
	return addr_is_v4(a) ? add_octets(sum, addr_v4_octets(a), 4) : add_octets(sum, a->b, 16);
}

void checksum_complete(const struct frame *f, uint8_t *octets)
{
	int field = field_of(f->proto);
	uint8_t *transport = octets + f->transport;
	uint64_t sum = f->proto;
	size_t n = f->end - f->transport;
	uint16_t value;

	if ((f->kind != FRAME_IPV4 && f->kind != FRAME_IPV6) || f->malformed || f->is_fragment ||
	    field < 0 || n < (size_t)field + 2)
		return;
	sum = add_address(add_address(sum + n, &f->src), &f->dst);
	transport[field] = transport[field + 1] = 0;
	value = fold(add_octets(sum, transport, n));
	/* Zero says that there is none (RFC 768). */
	if (value == 0 && f->proto == IPPROTO_UDP)
		value = 0xffff;
	transport[field] = (uint8_t)(value >> 8);
	transport[field + 1] = (uint8_t)value;
}
