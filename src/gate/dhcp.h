/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dhcp: messages of DHCPv4 as one server with one client needs them (RFC 2131, RFC 2132).
 *
 * Pure functions over the octets of a UDP payload.
 */
#ifndef SG_GATE_DHCP_H
#define SG_GATE_DHCP_H

#include "base/addr.h"
#include "base/buf.h"
#include "base/span.h"

/* RFC 2132, 9.6. */
enum dhcp_type {
	DHCP_DISCOVER = 1,
	DHCP_OFFER,
	DHCP_REQUEST,
	DHCP_DECLINE,
	DHCP_ACK,
	DHCP_NAK,
	DHCP_RELEASE,
	DHCP_INFORM,
};

enum { DHCP_MAC = 6, DHCP_REPLY_MAX = 600, DHCP_OCTETS_MAX = 1500 };

/* A message of a client. An address that is not there has `present` false. */
struct dhcp_option_addr {
	bool present;
	struct addr addr;
};

struct dhcp_message {
	enum dhcp_type type;
	uint8_t mac[DHCP_MAC]; /* chaddr; only Ethernet is spoken here */
	uint32_t xid;
	bool broadcast;			   /* it cannot take a unicast answer yet (4.1) */
	bool rapid_commit;		   /* RFC 4039 */
	struct addr ciaddr;		   /* 0.0.0.0: it has none */
	struct dhcp_option_addr requested; /* option 50 */
	struct dhcp_option_addr server;	   /* option 54 */
	struct span client_id;		   /* option 61, borrowed; n is 0 without one */
	struct span wanted;		   /* option 55, borrowed; n is 0 without one */
};

/*
 * False for what is no message of a client on this link: malformed, a reply, relayed, or for other
 * hardware than Ethernet. Options may stand in the fields `file` and `sname` too (option 52); one
 * that says the same thing twice is malformed. Spans point into `octets`.
 */
bool dhcp_parse(struct span octets, struct dhcp_message *out);

/* What the one client gets. */
struct dhcp_lease {
	struct addr server; /* also the router, and the DNS server */
	struct addr client;
	uint8_t bits; /* of the network's prefix, 0..32 */
	uint16_t mtu; /* RFC 2132, 5.1: 68 at least */
	uint32_t seconds;
};

enum dhcp_answer {
	DHCP_ANSWER_NONE, /* it is to hear nothing: RELEASE, DECLINE, another server's */
	DHCP_ANSWER_OFFER,
	DHCP_ANSWER_ACK,
	DHCP_ANSWER_INFORM, /* an ACK without an address (4.3.5) */
	DHCP_ANSWER_NAK,
	DHCP_ANSWER_WRONG, /* nothing either: no client says this in any of its states */
};

/* What the server says to it (RFC 2131, 4.3). */
enum dhcp_answer dhcp_answer_to(const struct dhcp_message *m, const struct dhcp_lease *l);

/* Where that goes to (4.1): the client's address, or 255.255.255.255; never for NONE and WRONG. */
struct addr dhcp_answer_goes_to(const struct dhcp_message *m, const struct dhcp_lease *l,
				enum dhcp_answer a);

/* Appends it to `b`: at most DHCP_REPLY_MAX octets, at least the 300 of BOOTP. */
void dhcp_build(struct buf *b, const struct dhcp_message *m, const struct dhcp_lease *l,
		enum dhcp_answer a);

#endif
