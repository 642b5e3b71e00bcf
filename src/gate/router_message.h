/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_message: router solicitations, and advertisements for an answer (RFC 4861, RFC 4862; the
 * resolver: RFC 8106). Pure functions over the octets of an ICMPv6 message.
 */
#ifndef SG_GATE_ROUTER_MESSAGE_H
#define SG_GATE_ROUTER_MESSAGE_H

#include "base/addr.h"
#include "base/buf.h"
#include "base/span.h"

enum { ROUTER_ADVERT_MAX = 96, ROUTER_SOLICIT_MAX = 1500 };

/*
 * True for a solicitation that is valid by RFC 4861, 6.1.1, but for its checksum, which the kernel
 * has looked at. `hops` is the hop limit that it came with.
 */
bool router_solicit_valid(struct span octets, const struct addr *from, int hops);

struct router_advert {
	struct prefix prefix; /* of 64 bits: hosts make addresses of it; others are not told */
	struct addr resolver;
	uint32_t mtu; /* less than 1280: not told */
	uint16_t router_s;
	uint32_t valid_s, preferred_s, resolver_s;
};

/* Appends it to `b`, with room for the checksum, which the kernel makes. */
void router_advert_build(struct buf *b, const struct router_advert *a);

#endif
