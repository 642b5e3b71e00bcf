/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/frame.h"

enum {
	ETHERTYPE_V4 = 0x0800,
	ETHERTYPE_RESOLUTION = 0x0806,
	ETHERTYPE_V6 = 0x86dd,
	V4_HEADER = 20,
	V6_HEADER = 40,
	V6_EXTENSIONS_MAX = 8,
	LONGEST_SAID = V6_HEADER + 0xffff, /* with the header */
	DNS_PORT = 53,
	SYN = 0x02,
	ACK = 0x10,
};

/* RFC 8200, 4: those whose second octet is their length in eights. */
enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60 };

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* ---- IP ---- */

/*
 * `said` octets, as the header has it. 0 is what the kernel writes there for segments that are longer
 * than it can say (BIG TCP), and no packet that is not such a one is as long.
 */
static size_t length_of(size_t said, size_t there)
{
	return said == 0 && there > LONGEST_SAID ? there : said;
}

static void parse_v4(struct span ip, struct frame *f)
{
	size_t header, length;
	uint16_t fragment;

	if (ip.n < V4_HEADER) {
		f->kind = FRAME_TRUNCATED;
		return;
	}
	f->src = addr_from_v4(ip.p + 12);
	f->dst = addr_from_v4(ip.p + 16);
	f->hops = ip.p[8];
	f->proto = ip.p[9];
	header = (ip.p[0] & 15u) * 4u;
	length = length_of(get16(ip.p + 2), ip.n);
	fragment = get16(ip.p + 6);
	f->malformed = ip.p[0] >> 4 != 4 || header < V4_HEADER || length < header || length > ip.n;
	if (f->malformed)
		return;
	f->is_fragment = fragment & 0x3fff;
	f->later = fragment & 0x1fff;
	f->fragment_id = get16(ip.p + 4);
	f->transport = (uint32_t)(f->network + header);
	f->end = (uint32_t)(f->network + length);
}

/* Where the header of `f->proto` begins in the packet; 0: the chain of headers is broken. */
static size_t pass_extensions(struct span ip, size_t length, struct frame *f)
{
	size_t at = V6_HEADER;

	for (int i = 0; i < V6_EXTENSIONS_MAX; i++) {
		const uint8_t *p = ip.p + at;

		if (f->proto != HOP_BY_HOP && f->proto != ROUTING && f->proto != DESTINATION &&
		    f->proto != FRAGMENT)
			return at;
		if (length - at < 8)
			return 0;
		if (f->proto == FRAGMENT) {
			f->is_fragment = get16(p + 2) & 0xfff9;
			f->later = get16(p + 2) & 0xfff8;
			memcpy(&f->fragment_id, p + 4, sizeof(f->fragment_id));
		}
		at += f->proto == FRAGMENT ? 8 : (p[1] + 1u) * 8u;
		f->proto = p[0];
		if (at > length)
			return 0;
		if (f->later)
			return at;
	}
	return 0;
}

static void parse_v6(struct span ip, struct frame *f)
{
	size_t length, at;

	if (ip.n < V6_HEADER) {
		f->kind = FRAME_TRUNCATED;
		return;
	}
	f->src = addr_from_v6(ip.p + 8);
	f->dst = addr_from_v6(ip.p + 24);
	f->hops = ip.p[7];
	f->proto = ip.p[6];
	length = V6_HEADER + length_of(get16(ip.p + 4), ip.n - V6_HEADER);
	f->malformed = ip.p[0] >> 4 != 6 || length > ip.n;
	if (f->malformed)
		return;
	at = pass_extensions(ip, length, f);
	f->malformed = at == 0;
	f->transport = (uint32_t)(f->network + at);
	f->end = (uint32_t)(f->network + length);
}

void frame_parse(struct span octets, struct frame *f)
{
	struct span network;

	*f = (struct frame){.kind = FRAME_TRUNCATED, .octets = octets, .network = FRAME_HEADER};
	if (octets.n < FRAME_HEADER)
		return;
	f->to = octets.p;
	f->from = octets.p + FRAME_ADDRESS;
	network = span_of(octets.p + FRAME_HEADER, octets.n - FRAME_HEADER);
	switch (get16(octets.p + 12)) {
	case ETHERTYPE_V4:
		f->kind = FRAME_IPV4;
		parse_v4(network, f);
		break;
	case ETHERTYPE_V6:
		f->kind = FRAME_IPV6;
		parse_v6(network, f);
		break;
	case ETHERTYPE_RESOLUTION:
		f->kind = FRAME_ARP;
		break;
	default:
		f->kind = FRAME_OTHER;
		break;
	}
}

/* ---- the exchange ---- */

static struct span transport_of(const struct frame *f)
{
	return span_of(f->octets.p + f->transport, f->end - f->transport);
}

static void set_ends(struct tuple *t, bool from_sandbox, const struct frame *f, uint16_t src,
		     uint16_t dst)
{
	t->near = from_sandbox ? f->src : f->dst;
	t->far = from_sandbox ? f->dst : f->src;
	t->near_port = from_sandbox ? src : dst;
	t->far_port = from_sandbox ? dst : src;
}

static void set_lookup(struct tuple *t, struct span datagram)
{
	if (t->far_port != DNS_PORT || datagram.n < 10)
		return;
	t->lookup = 1;
	t->dns_id = get16(datagram.p + 8);
}

static bool is_echo(const struct frame *f, uint8_t type)
{
	return f->kind == FRAME_IPV4 ? type == 8 || type == 0 : type == 128 || type == 129;
}

/* RFC 792 and RFC 4443: destination unreachable, too big, time exceeded, a problem of the header. */
static bool is_error(const struct frame *f, uint8_t type)
{
	return f->kind == FRAME_IPV4 ? type == 3 || type == 11 || type == 12
				     : type >= 1 && type <= 4;
}

static bool tuple_of(const struct frame *f, bool from_sandbox, bool quoted, struct tuple *out);

/* A quoted packet is cut short, which its own length does not say. */
static bool quoted_tuple(const struct frame *f, bool from_sandbox, struct span quoted,
			 struct tuple *out)
{
	struct frame inner = {.kind = f->kind, .octets = quoted};
	size_t least = f->kind == FRAME_IPV4 ? V4_HEADER : V6_HEADER, header;

	if (quoted.n < least)
		return false;
	header = f->kind == FRAME_IPV4 ? (quoted.p[0] & 15u) * 4u : V6_HEADER;
	if (header < least || header > quoted.n)
		return false;
	inner.proto = quoted.p[f->kind == FRAME_IPV4 ? 9 : 6];
	inner.src =
		f->kind == FRAME_IPV4 ? addr_from_v4(quoted.p + 12) : addr_from_v6(quoted.p + 8);
	inner.dst =
		f->kind == FRAME_IPV4 ? addr_from_v4(quoted.p + 16) : addr_from_v6(quoted.p + 24);
	inner.transport = (uint32_t)header;
	inner.end = (uint32_t)quoted.n;
	/* It went the other way. */
	return tuple_of(&inner, !from_sandbox, true, out);
}

static bool icmp_tuple(const struct frame *f, bool from_sandbox, bool quoted, struct tuple *out)
{
	struct span t = transport_of(f);
	uint16_t id;

	if (t.n < 8)
		return false;
	if (is_error(f, t.p[0]) && !quoted)
		return quoted_tuple(f, from_sandbox, span_of(t.p + 8, t.n - 8), out);
	id = is_echo(f, t.p[0]) ? get16(t.p + 4) : 0;
	out->proto = IPPROTO_ICMP;
	set_ends(out, from_sandbox, f, from_sandbox ? id : 0, from_sandbox ? 0 : id);
	return true;
}

static bool tuple_of(const struct frame *f, bool from_sandbox, bool quoted, struct tuple *out)
{
	struct span t = transport_of(f);

	*out = (struct tuple){.proto = f->proto};
	if (f->proto == IPPROTO_ICMP || f->proto == IPPROTO_ICMPV6)
		return icmp_tuple(f, from_sandbox, quoted, out);
	if (f->proto != IPPROTO_TCP && f->proto != IPPROTO_UDP) {
		set_ends(out, from_sandbox, f, 0, 0);
		return true;
	}
	if (t.n < 4)
		return false;
	set_ends(out, from_sandbox, f, get16(t.p), get16(t.p + 2));
	if (f->proto == IPPROTO_UDP)
		set_lookup(out, t);
	return true;
}

bool frame_tuple(const struct frame *f, bool from_sandbox, struct tuple *out)
{
	if ((f->kind != FRAME_IPV4 && f->kind != FRAME_IPV6) || f->malformed || f->later)
		return false;
	return tuple_of(f, from_sandbox, false, out);
}

bool frame_is_syn(const struct frame *f)
{
	struct span t = transport_of(f);

	return f->proto == IPPROTO_TCP && !f->later && t.n >= 14 && (t.p[13] & (SYN | ACK)) == SYN;
}
