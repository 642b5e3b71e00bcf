/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/router_message.h"

enum { SOLICIT = 133, ADVERT = 134, HOPS = 255, UNIT = 8 /* octets, of an option's length */ };

/* RFC 4861, 4.6; RDNSS: RFC 8106, 5.1. */
enum option { OPTION_SOURCE = 1, OPTION_PREFIX = 3, OPTION_MTU = 5, OPTION_RDNSS = 25 };

enum { PREFIX_ON_LINK = 0x80, PREFIX_AUTONOMOUS = 0x40, HOST_HOPS = 64, MTU_LEAST = 1280 };

static bool options_valid(struct reader *r, bool may_have_source)
{
	while (reader_left(r) > 0) {
		uint8_t kind = reader_u8(r), length = reader_u8(r);

		if (length == 0 || (kind == OPTION_SOURCE && !may_have_source))
			return false;
		reader_take(r, (size_t)length * UNIT - 2);
		if (r->bad)
			return false;
	}
	return true;
}

bool router_solicit_valid(struct span octets, const struct addr *from, int hops)
{
	static const struct addr unspecified;
	struct reader r = reader_of(octets);
	uint8_t kind = reader_u8(&r), code = reader_u8(&r);

	reader_take(&r, 2 + 4); /* checksum, reserved */
	return !r.bad && hops == HOPS && kind == SOLICIT && code == 0 &&
	       options_valid(&r, !addr_equal(from, &unspecified));
}

static void put_prefix(struct buf *b, const struct router_advert *a)
{
	buf_put_u8(b, OPTION_PREFIX);
	buf_put_u8(b, 4);
	buf_put_u8(b, a->prefix.bits);
	buf_put_u8(b, PREFIX_ON_LINK | PREFIX_AUTONOMOUS);
	buf_put_u32(b, a->valid_s);
	buf_put_u32(b, a->preferred_s);
	buf_put_u32(b, 0);
	buf_put(b, addr_masked(&a->prefix.addr, a->prefix.bits).b, 16);
}

static void put_mtu(struct buf *b, uint32_t mtu)
{
	buf_put_u8(b, OPTION_MTU);
	buf_put_u8(b, 1);
	buf_put_u16(b, 0);
	buf_put_u32(b, mtu);
}

static void put_resolver(struct buf *b, const struct router_advert *a)
{
	buf_put_u8(b, OPTION_RDNSS);
	buf_put_u8(b, 3);
	buf_put_u16(b, 0);
	buf_put_u32(b, a->resolver_s);
	buf_put(b, a->resolver.b, 16);
}

void router_advert_build(struct buf *b, const struct router_advert *a)
{
	buf_put_u8(b, ADVERT);
	buf_put_u8(b, 0);
	buf_put_u16(b, 0); /* checksum */
	buf_put_u8(b, HOST_HOPS);
	buf_put_u8(b, 0); /* there is no DHCPv6 */
	buf_put_u16(b, a->router_s);
	buf_put_u32(b, 0); /* reachable time: the host's own */
	buf_put_u32(b, 0); /* retransmission: likewise */
	if (a->prefix.bits == 64)
		put_prefix(b, a);
	if (a->mtu >= MTU_LEAST)
		put_mtu(b, a->mtu);
	put_resolver(b, a);
}
