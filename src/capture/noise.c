/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/noise.h"

#include <stddef.h>

enum {
	ETHERTYPE_TAG = 0x8100,
	ETHERTYPE_SERVICE_TAG = 0x88a8,
	RESOLUTION_OPERATION = 6,
	RESOLUTION_SENDER = 14,
	RESOLUTION_NEEDED = 18,
	LISTENER_QUERY = 130,
	ROUTER_SOLICITATION = 133,
	NEIGHBOUR_SOLICITATION = 135,
	NEIGHBOUR_ADVERTISEMENT = 136,
	LISTENER_REPORT_V2 = 143,
	HOPS_OF_NEIGHBOURS = 255,
	DHCP_SERVER = 67,
	DHCP_CLIENT = 68,
};

static const char *const texts[NOISES] = {
	[NOISE_NONE] = "",
	[NOISE_LINK_ADDRESS] = "source MAC not the sandbox's",
	[NOISE_TAG] = "tag of a VLAN",
	[NOISE_ETHERTYPE] = "ethertype not carried",
	[NOISE_TRUNCATED] = "truncated frame",
	[NOISE_NOT_HERE] = "not addressed to the gate",
	[NOISE_SOURCE] = "source address not the sandbox's",
	[NOISE_DESTINATION] = "destination no unicast address",
	[NOISE_RESOLUTION] = "address resolution for another",
	[NOISE_NO_REQUEST] = "ICMP that is no echo request",
};

const char *noise_text(enum noise n)
{
	return texts[n];
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static bool is_zero(const struct addr *a)
{
	static const struct addr zero;

	return addr_equal(a, &zero);
}

static bool is_link_local(const struct addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

static bool is_sandbox_v6(const struct link_facts *l, const struct addr *a)
{
	const struct airlock_addresses *own = &l->addresses;
	struct prefix p = {own->sandbox_v6, own->v6_prefix ? own->v6_bits : 128};

	p.addr = addr_masked(&own->sandbox_v6, p.bits);
	return prefix_contains(&p, a);
}

static uint8_t icmp_type(const struct frame *f)
{
	return f->proto == IPPROTO_ICMPV6 && !f->malformed && !f->later && f->end > f->transport
		       ? f->octets.p[f->transport]
		       : 0;
}

static bool is_neighbour(const struct frame *f)
{
	uint8_t type = icmp_type(f);

	return f->hops == HOPS_OF_NEIGHBOURS &&
	       (type == NEIGHBOUR_SOLICITATION || type == NEIGHBOUR_ADVERTISEMENT);
}

static bool is_router_solicitation(const struct frame *f)
{
	return f->hops == HOPS_OF_NEIGHBOURS && icmp_type(f) == ROUTER_SOLICITATION;
}

static bool is_dhcp(const struct frame *f)
{
	const uint8_t *udp = f->octets.p + f->transport;

	return f->kind == FRAME_IPV4 && f->proto == IPPROTO_UDP && !f->malformed && !f->later &&
	       f->end - f->transport >= 4 && get16(udp) == DHCP_CLIENT &&
	       get16(udp + 2) == DHCP_SERVER;
}

static bool is_everybody(const struct addr *a)
{
	static const uint8_t ones[4] = {255, 255, 255, 255};

	return memcmp(addr_v4_octets(a), ones, sizeof(ones)) == 0;
}

static bool is_unicast_v4(const struct addr *a)
{
	const uint8_t first = addr_v4_octets(a)[0];

	return first != 0 && first != 127 && first >> 4 != 14 && !is_everybody(a);
}

/* Neither :: nor ::1, link-local, multicast. */
static bool is_unicast_v6(const struct addr *a)
{
	static const uint8_t zeros[15];

	return !(memcmp(a->b, zeros, sizeof(zeros)) == 0 && a->b[15] <= 1) && !is_link_local(a) &&
	       a->b[0] != 0xff;
}

static bool is_own_dhcp(const struct link_facts *l, const struct frame *f)
{
	struct addr none = airlock_address("0.0.0.0");

	return l->guest && is_dhcp(f) &&
	       (addr_equal(&f->src, &none) || addr_equal(&f->src, &l->addresses.sandbox_v4)) &&
	       (is_everybody(&f->dst) || addr_equal(&f->dst, &l->addresses.gate_v4));
}

static enum noise noise_v4(const struct link_facts *l, const struct frame *f, bool to_here)
{
	bool own = addr_equal(&f->src, &l->addresses.sandbox_v4);

	if ((to_here && own && is_unicast_v4(&f->dst)) || is_own_dhcp(l, f))
		return NOISE_NONE;
	if (!own)
		return NOISE_SOURCE;
	return to_here ? NOISE_DESTINATION : NOISE_NOT_HERE;
}

static enum noise noise_v6(const struct link_facts *l, const struct frame *f, bool to_here)
{
	bool own = is_sandbox_v6(l, &f->src);
	bool local = is_zero(&f->src) || is_link_local(&f->src);

	if (!l->v6)
		return NOISE_ETHERTYPE;
	if ((to_here && own && is_unicast_v6(&f->dst)) || ((own || local) && is_neighbour(f)) ||
	    (l->guest && local && is_router_solicitation(f)))
		return NOISE_NONE;
	if (!own)
		return NOISE_SOURCE;
	return to_here ? NOISE_DESTINATION : NOISE_NOT_HERE;
}

/* A request or a reply, from the sandbox's address or none. */
static enum noise noise_arp(const struct link_facts *l, const struct frame *f)
{
	struct addr sender, none = airlock_address("0.0.0.0");
	const uint8_t *p = f->octets.p + f->network;
	uint16_t operation;

	if (f->octets.n < (size_t)f->network + RESOLUTION_NEEDED)
		return NOISE_TRUNCATED;
	operation = get16(p + RESOLUTION_OPERATION);
	sender = addr_from_v4(p + RESOLUTION_SENDER);
	return (operation == 1 || operation == 2) && (addr_equal(&sender, &none) ||
						      addr_equal(&sender, &l->addresses.sandbox_v4))
		       ? NOISE_NONE
		       : NOISE_RESOLUTION;
}

static enum noise noise_other(const struct frame *f)
{
	uint16_t type = get16(f->octets.p + 2 * FRAME_ADDRESS);

	return type == ETHERTYPE_TAG || type == ETHERTYPE_SERVICE_TAG ? NOISE_TAG : NOISE_ETHERTYPE;
}

enum noise noise_of(const struct link_facts *l, const struct frame *f, bool to_here)
{
	if (f->octets.n < FRAME_HEADER)
		return NOISE_TRUNCATED;
	if (memcmp(f->from, l->mac, FRAME_ADDRESS) != 0)
		return NOISE_LINK_ADDRESS;
	switch (f->kind) {
	case FRAME_IPV4:
		return noise_v4(l, f, to_here);
	case FRAME_IPV6:
		return noise_v6(l, f, to_here);
	case FRAME_ARP:
		return noise_arp(l, f);
	case FRAME_OTHER:
		return noise_other(f);
	case FRAME_TRUNCATED:
		break;
	}
	return NOISE_TRUNCATED;
}

static bool is_icmp(const struct frame *f)
{
	return f->proto == (f->kind == FRAME_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) &&
	       f->end - f->transport >= 8;
}

enum noise noise_at_gate(const struct frame *f)
{
	const uint8_t *p = f->octets.p + f->transport;

	if ((f->kind != FRAME_IPV4 && f->kind != FRAME_IPV6) || f->malformed)
		return NOISE_NONE;
	if (is_icmp(f) && !f->later && (p[0] != (f->kind == FRAME_IPV4 ? 8 : 128) || p[1] != 0))
		return NOISE_NO_REQUEST;
	return NOISE_NONE;
}

const char *noise_link_service(const struct link_facts *l, const struct frame *f)
{
	if (f->kind == FRAME_ARP)
		return "address resolution";
	/* Of the sandbox's these are noise (RFC 4861, RFC 3810). */
	if (f->kind == FRAME_IPV6 &&
	    (icmp_type(f) == LISTENER_REPORT_V2 ||
	     (icmp_type(f) >= LISTENER_QUERY && icmp_type(f) < ROUTER_SOLICITATION)))
		return "multicast listeners";
	if (f->kind == FRAME_IPV6 && icmp_type(f) >= ROUTER_SOLICITATION &&
	    icmp_type(f) <= NEIGHBOUR_ADVERTISEMENT)
		return "neighbour discovery";
	if (!l->guest || f->kind != FRAME_IPV4 || f->proto != IPPROTO_UDP || f->malformed ||
	    f->later || f->end - f->transport < 4)
		return NULL;
	if (is_dhcp(f) || (get16(f->octets.p + f->transport) == DHCP_SERVER &&
			   get16(f->octets.p + f->transport + 2) == DHCP_CLIENT))
		return "address configuration";
	return NULL;
}
