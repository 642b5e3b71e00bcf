/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ip: what stands in a packet from the tun device, and packets to write back.
 *
 * Pure functions over bytes. IPv4 RFC 791, IPv6 RFC 8200, TCP RFC 9293, UDP RFC 768,
 * ICMP RFC 792, ICMPv6 RFC 4443.
 */
#ifndef SG_GATE_IP_H
#define SG_GATE_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/buf.h"
#include "base/span.h"

enum {
	IP_TCP = 6,
	IP_UDP = 17,
	IP_ICMP = 1,
	IP_ICMPV6 = 58,
};

enum {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_ACK = 0x10,
};

enum { IP_PACKET_MAX = 65535, IP_HEADERS_MAX = 128 };

struct packet {
	struct span whole; /* from the IP header, cut to its length field */
	struct addr src, dst;
	uint8_t proto;		     /* of the transport header, IPv6 extension headers passed */
	uint16_t src_port, dst_port; /* TCP, UDP; 0 else */
	uint32_t tcp_seq, tcp_ack;
	uint8_t tcp_flags;
	struct span transport; /* from the transport header on */
	struct span payload;   /* after the TCP or UDP header, or the ICMP message whole */
};

enum packet_error {
	PACKET_OK,
	PACKET_TRUNCATED,
	PACKET_BAD_VERSION,
	PACKET_BAD_HEADER,
	PACKET_FRAGMENT,      /* fragments.h puts them together */
	PACKET_SOURCE_ROUTED, /* IPv4 LSRR/SSRR, IPv6 routing header */
	PACKET_BAD_CHECKSUM,
	PACKET_OTHER_PROTOCOL, /* src, dst and proto are valid */
};

/*
 * Fills `out`, whose spans point into `bytes`. UDP and ICMP checksums are verified, since their
 * payload is sent on under a new one; those of TCP are left to the kernel, which gets the packet
 * back. On PACKET_OTHER_PROTOCOL the addresses are valid, on other errors nothing is.
 */
enum packet_error packet_parse(struct span bytes, struct packet *out);

/* Of an IPv4 header of `n` octets, which is otherwise as it is to be. */
void packet_set_header_checksum(uint8_t *header, size_t n);

/* Each builder appends one whole IP packet to b; b->full tells that it did not fit. */

/* RST for a segment, RFC 9293 3.5.2: acknowledges a SYN, or takes its seq from the segment's ACK.
 */
void packet_build_reset(struct buf *b, const struct packet *in);

enum unreachable {
	UNREACHABLE_PROHIBITED, /* the policy: ICMP 3/13, ICMPv6 1/1 */
	UNREACHABLE_NET,	/* 3/0, 1/0 */
	UNREACHABLE_HOST,	/* 3/1, 1/3 */
	UNREACHABLE_PORT,	/* 3/3, 1/4 */
};

/* Quotes as much of `quoted` (a packet from the sandbox) as RFC 1812 and RFC 4443 allow. */
void packet_build_unreachable(struct buf *b, const struct packet *quoted, enum unreachable why);

void packet_build_udp(struct buf *b, const struct endpoint *src, const struct endpoint *dst,
		      struct span payload);

/* `message` is a whole ICMP or ICMPv6 message; its checksum is computed here. */
void packet_build_icmp(struct buf *b, const struct addr *src, const struct addr *dst,
		       struct span message);

#endif
