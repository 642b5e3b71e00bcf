/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/ip.h"

enum { HOP_LIMIT = 64, EXTENSIONS_MAX = 8, MIN_MTU_V6 = 1280, ICMP_QUOTE_V4 = 548 };
enum { EXT_HOP_BY_HOP = 0, EXT_ROUTING = 43, EXT_FRAGMENT = 44, EXT_DESTINATION = 60 };

/* RFC 1071, over native words: the sum is the same in either byte order, folded at the end. */
static uint64_t sum_words(uint64_t sum, const uint8_t *p, size_t n)
{
	uint64_t words;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&words, p, 8);
		sum += (uint32_t)words;
		sum += words >> 32;
	}
	if (n) {
		words = 0;
		memcpy(&words, p, n);
		sum += (uint32_t)words;
		sum += words >> 32;
	}
	return sum;
}

/* The folded one's complement, in the byte order of memory. */
static uint16_t sum_finish(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint64_t sum_pseudo_header(const struct addr *src, const struct addr *dst, uint8_t proto,
				  size_t n)
{
	uint8_t tail[8] = {(uint8_t)(n >> 24),
			   (uint8_t)(n >> 16),
			   (uint8_t)(n >> 8),
			   (uint8_t)n,
			   0,
			   0,
			   0,
			   proto};
	bool v4 = addr_is_v4(src);
	uint64_t sum = sum_words(0, v4 ? src->b + 12 : src->b, v4 ? 4 : 16);

	sum = sum_words(sum, v4 ? dst->b + 12 : dst->b, v4 ? 4 : 16);
	return sum_words(sum, tail, sizeof(tail));
}

static bool checksum_holds(const struct packet *p)
{
	uint64_t sum = p->proto == IP_ICMP
			       ? 0
			       : sum_pseudo_header(&p->src, &p->dst, p->proto, p->transport.n);

	return sum_finish(sum_words(sum, p->transport.p, p->transport.n)) == 0;
}

/* Options only pass when they do not route: LSRR 131, SSRR 137 (RFC 7126, 4.3 and 4.4). */
static enum packet_error check_v4_options(struct span options)
{
	struct reader r = reader_of(options);

	while (reader_left(&r)) {
		uint8_t type = reader_u8(&r);
		uint8_t n;

		if (type == 0)
			break;
		if (type == 1)
			continue;
		n = reader_u8(&r);
		if (r.bad || n < 2)
			return PACKET_BAD_HEADER;
		reader_take(&r, n - 2u);
		if (r.bad)
			return PACKET_BAD_HEADER;
		if (type == 131 || type == 137)
			return PACKET_SOURCE_ROUTED;
	}
	return PACKET_OK;
}

static enum packet_error parse_v4(struct span bytes, struct packet *out)
{
	struct reader r = reader_of(bytes);
	size_t header = (size_t)(reader_u8(&r) & 0x0f) * 4;
	size_t total;
	uint16_t fragment;
	enum packet_error e;

	reader_u8(&r);
	total = reader_u16(&r);
	reader_u16(&r);
	fragment = reader_u16(&r);
	reader_u8(&r);
	out->proto = reader_u8(&r);
	if (r.bad || header < 20 || total < header)
		return PACKET_BAD_HEADER;
	if (total > bytes.n)
		return PACKET_TRUNCATED;
	if (fragment & 0x3fff)
		return PACKET_FRAGMENT;
	if (sum_finish(sum_words(0, bytes.p, header)) != 0)
		return PACKET_BAD_CHECKSUM;
	e = check_v4_options(span_of(bytes.p + 20, header - 20));
	if (e != PACKET_OK)
		return e;
	out->src = addr_from_v4(bytes.p + 12);
	out->dst = addr_from_v4(bytes.p + 16);
	out->whole = span_of(bytes.p, total);
	out->transport = span_of(bytes.p + header, total - header);
	return PACKET_OK;
}

/* Passes the extension headers that carry no routing and no fragment (RFC 8200, 4). */
static enum packet_error skip_extensions(struct reader *r, uint8_t *next)
{
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		uint8_t this = *next;

		if (this == EXT_ROUTING)
			return PACKET_SOURCE_ROUTED;
		if (this == EXT_FRAGMENT)
			return PACKET_FRAGMENT;
		if (this != EXT_HOP_BY_HOP && this != EXT_DESTINATION)
			return PACKET_OK;
		*next = reader_u8(r);
		reader_take(r, (size_t)reader_u8(r) * 8 + 6);
		if (r->bad)
			return PACKET_BAD_HEADER;
	}
	return PACKET_BAD_HEADER;
}

static enum packet_error parse_v6(struct span bytes, struct packet *out)
{
	struct reader r = reader_of(bytes);
	enum packet_error e;
	size_t n;

	reader_u32(&r);
	n = reader_u16(&r);
	out->proto = reader_u8(&r);
	reader_u8(&r);
	reader_take(&r, 32);
	if (r.bad)
		return PACKET_BAD_HEADER;
	if (n > bytes.n - 40)
		return PACKET_TRUNCATED;
	out->src = addr_from_v6(bytes.p + 8);
	out->dst = addr_from_v6(bytes.p + 24);
	/* A mapped address on the wire would read as IPv4 from here on (RFC 4291, 2.5.5.2). */
	if (addr_is_v4(&out->src) || addr_is_v4(&out->dst))
		return PACKET_BAD_HEADER;
	out->whole = span_of(bytes.p, n + 40);
	r = reader_of(span_of(bytes.p + 40, n));
	e = skip_extensions(&r, &out->proto);
	if (e != PACKET_OK)
		return e;
	out->transport = span_of(r.p + r.at, reader_left(&r));
	return PACKET_OK;
}

static enum packet_error parse_tcp(struct packet *out)
{
	struct reader r = reader_of(out->transport);
	size_t header;

	out->src_port = reader_u16(&r);
	out->dst_port = reader_u16(&r);
	out->tcp_seq = reader_u32(&r);
	out->tcp_ack = reader_u32(&r);
	header = (size_t)(reader_u8(&r) >> 4) * 4;
	out->tcp_flags = reader_u8(&r);
	if (r.bad || header < 20 || header > out->transport.n)
		return PACKET_BAD_HEADER;
	out->payload = span_of(out->transport.p + header, out->transport.n - header);
	return PACKET_OK;
}

static enum packet_error parse_udp(struct packet *out)
{
	struct reader r = reader_of(out->transport);
	size_t n;
	uint16_t sum;

	out->src_port = reader_u16(&r);
	out->dst_port = reader_u16(&r);
	n = reader_u16(&r);
	sum = reader_u16(&r);
	if (r.bad || n < 8 || n > out->transport.n)
		return PACKET_BAD_HEADER;
	out->transport.n = n;
	out->payload = span_of(out->transport.p + 8, n - 8);
	/* Zero means none for IPv4 (RFC 768) and is refused for IPv6 (RFC 8200, 8.1). */
	if (sum == 0)
		return addr_is_v4(&out->src) ? PACKET_OK : PACKET_BAD_CHECKSUM;
	return checksum_holds(out) ? PACKET_OK : PACKET_BAD_CHECKSUM;
}

static enum packet_error parse_icmp(struct packet *out)
{
	if (out->transport.n < 8)
		return PACKET_BAD_HEADER;
	out->payload = out->transport;
	return checksum_holds(out) ? PACKET_OK : PACKET_BAD_CHECKSUM;
}

enum packet_error packet_parse(struct span bytes, struct packet *out)
{
	enum packet_error e;
	bool v4;

	memset(out, 0, sizeof(*out));
	if (bytes.n < 1)
		return PACKET_TRUNCATED;
	v4 = bytes.p[0] >> 4 == 4;
	if (!v4 && bytes.p[0] >> 4 != 6)
		return PACKET_BAD_VERSION;
	e = v4 ? parse_v4(bytes, out) : parse_v6(bytes, out);
	if (e != PACKET_OK)
		return e;
	if (out->proto == IP_TCP)
		return parse_tcp(out);
	if (out->proto == IP_UDP)
		return parse_udp(out);
	if (out->proto == (v4 ? IP_ICMP : IP_ICMPV6))
		return parse_icmp(out);
	return PACKET_OTHER_PROTOCOL;
}

/* An IP header for n octets of transport. */
void packet_set_header_checksum(uint8_t *header, size_t n)
{
	uint16_t sum;

	memset(header + 10, 0, 2);
	sum = sum_finish(sum_words(0, header, n));
	memcpy(header + 10, &sum, 2);
}

static void put_ip_header(struct buf *b, const struct addr *src, const struct addr *dst,
			  uint8_t proto, size_t n)
{
	size_t at = b->n;

	if (!addr_is_v4(src)) {
		buf_put_u32(b, 0x60000000);
		buf_put_u16(b, (uint16_t)n);
		buf_put_u8(b, proto);
		buf_put_u8(b, HOP_LIMIT);
		buf_put(b, src->b, 16);
		buf_put(b, dst->b, 16);
		return;
	}
	buf_put_u16(b, 0x4500);
	buf_put_u16(b, (uint16_t)(n + 20));
	buf_put_u32(b, 0x00004000); /* no id, don't fragment */
	buf_put_u8(b, HOP_LIMIT);
	buf_put_u8(b, proto);
	buf_put_u16(b, 0);
	buf_put(b, addr_v4_octets(src), 4);
	buf_put(b, addr_v4_octets(dst), 4);
	if (!b->full)
		packet_set_header_checksum(b->p + at, 20);
}

/* Computes the checksum of the transport segment that began at `at` and stands at `at` + `field`.
 */
static void put_checksum(struct buf *b, size_t at, size_t field, const struct addr *src,
			 const struct addr *dst, uint8_t proto)
{
	uint64_t sum;
	uint16_t folded;

	if (b->full)
		return;
	sum = proto == IP_ICMP ? 0 : sum_pseudo_header(src, dst, proto, b->n - at);
	folded = sum_finish(sum_words(sum, b->p + at, b->n - at));
	/* RFC 768: a computed zero is sent as all ones. */
	if (folded == 0 && proto == IP_UDP)
		folded = 0xffff;
	memcpy(b->p + at + field, &folded, 2);
}

void packet_build_reset(struct buf *b, const struct packet *in)
{
	bool has_ack = in->tcp_flags & TCP_ACK;
	uint32_t end = in->tcp_seq + (uint32_t)in->payload.n + !!(in->tcp_flags & TCP_SYN) +
		       !!(in->tcp_flags & TCP_FIN);
	size_t at;

	put_ip_header(b, &in->dst, &in->src, IP_TCP, 20);
	at = b->n;
	buf_put_u16(b, in->dst_port);
	buf_put_u16(b, in->src_port);
	buf_put_u32(b, has_ack ? in->tcp_ack : 0);
	buf_put_u32(b, has_ack ? 0 : end);
	buf_put_u8(b, 5 << 4);
	buf_put_u8(b, has_ack ? TCP_RST : TCP_RST | TCP_ACK);
	buf_put_u16(b, 0);
	buf_put_u32(b, 0);
	put_checksum(b, at, 16, &in->dst, &in->src, IP_TCP);
}

static const struct {
	uint8_t v4[2], v6[2];
} unreachable_codes[] = {
	[UNREACHABLE_PROHIBITED] = {{3, 13}, {1, 1}},
	[UNREACHABLE_NET] = {{3, 0}, {1, 0}},
	[UNREACHABLE_HOST] = {{3, 1}, {1, 3}},
	[UNREACHABLE_PORT] = {{3, 3}, {1, 4}},
};

void packet_build_unreachable(struct buf *b, const struct packet *quoted, enum unreachable why)
{
	bool v4 = addr_is_v4(&quoted->src);
	uint8_t proto = v4 ? IP_ICMP : IP_ICMPV6;
	size_t most = v4 ? ICMP_QUOTE_V4 : MIN_MTU_V6 - 48;
	size_t n = quoted->whole.n < most ? quoted->whole.n : most;
	size_t at;

	put_ip_header(b, &quoted->dst, &quoted->src, proto, n + 8);
	at = b->n;
	buf_put(b, v4 ? unreachable_codes[why].v4 : unreachable_codes[why].v6, 2);
	buf_put_u16(b, 0);
	buf_put_u32(b, 0);
	buf_put(b, quoted->whole.p, n);
	put_checksum(b, at, 2, &quoted->dst, &quoted->src, proto);
}

void packet_build_udp(struct buf *b, const struct endpoint *src, const struct endpoint *dst,
		      struct span payload)
{
	size_t at;

	if (payload.n > IP_PACKET_MAX - 28) {
		b->full = true;
		return;
	}
	put_ip_header(b, &src->addr, &dst->addr, IP_UDP, payload.n + 8);
	at = b->n;
	buf_put_u16(b, src->port);
	buf_put_u16(b, dst->port);
	buf_put_u16(b, (uint16_t)(payload.n + 8));
	buf_put_u16(b, 0);
	buf_put_span(b, payload);
	put_checksum(b, at, 6, &src->addr, &dst->addr, IP_UDP);
}

void packet_build_icmp(struct buf *b, const struct addr *src, const struct addr *dst,
		       struct span message)
{
	uint8_t proto = addr_is_v4(src) ? IP_ICMP : IP_ICMPV6;
	size_t at;

	if (message.n < 8 || message.n > IP_PACKET_MAX - 40) {
		b->full = true;
		return;
	}
	put_ip_header(b, src, dst, proto, message.n);
	at = b->n;
	buf_put(b, message.p, 2);
	buf_put_u16(b, 0);
	buf_put(b, message.p + 4, message.n - 4);
	put_checksum(b, at, 2, src, dst, proto);
}
