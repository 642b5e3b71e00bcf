/* SPDX-License-Identifier: Apache-2.0 */
/* frame: an Ethernet frame of the link, taken apart as far as its verdict needs. Pure. */
#ifndef SG_CAPTURE_FRAME_H
#define SG_CAPTURE_FRAME_H

#include "base/span.h"
#include "capture/tuple.h"

enum frame_kind {
	FRAME_IPV4,
	FRAME_IPV6,
	FRAME_ARP,
	FRAME_OTHER,	 /* another ethertype, or a tag of a VLAN */
	FRAME_TRUNCATED, /* its headers end too early */
};

enum { FRAME_ADDRESS = 6, FRAME_HEADER = 14 };

struct frame {
	enum frame_kind kind;
	const uint8_t *to, *from; /* link addresses */
	uint16_t network;	  /* where the header after Ethernet's begins */
	/* The rest for IPv4 and IPv6; `malformed` when its own lengths contradict each other. */
	bool malformed;
	struct addr src, dst;
	uint8_t hops;
	uint8_t proto;	    /* after extension headers that it was found behind */
	uint32_t transport; /* where that begins */
	uint32_t end;	    /* of the packet; padding of the link may follow */
	bool is_fragment;   /* ... of several; `later`: not the first of them */
	bool later;
	uint32_t fragment_id;
	struct span octets; /* the whole frame */
};

void frame_parse(struct span octets, struct frame *out);

/*
 * The exchange that a packet belongs to; an ICMP error belongs to that of the packet it quotes. Of a
 * later fragment ports are not known: false, as for a packet whose headers are not whole.
 */
bool frame_tuple(const struct frame *f, bool from_sandbox, struct tuple *out);

/* TCP, the first segment of a connection. */
bool frame_is_syn(const struct frame *f);

#endif
