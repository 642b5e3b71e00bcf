/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: devices, addresses, neighbours, routes and routing rules, as requests of a
 * netlink queue. Each function queues one or more requests; nl_run carries them out.
 */
#ifndef SG_AIRLOCK_LINK_H
#define SG_AIRLOCK_LINK_H

#include <stdbool.h>

#include "airlock/netlink.h"
#include "base/addr.h"
#include "base/err.h"

/*
 * Interface indexes are chosen, not asked for, so that one queue can make a device and use it.
 * They are above what a kernel gives to tunnel devices that it puts into every new namespace.
 */
enum {
	LINK_INDEX_LO = 1,
	LINK_INDEX_LINK0 = 100,
	LINK_INDEX_ETH0 = 100,
	LINK_INDEX_TUN0 = 101,
	LINK_INDEX_SPARE_LINK0 = 102,
	LINK_INDEX_SPARE_DOOR0 = 103,
};

struct link_route {
	uint32_t table;
	uint8_t type; /* RTN_* */
	uint8_t bits; /* of dst; 0: the default route, and dst is not looked at */
	uint32_t metric;
	uint32_t index;		    /* of the device */
	const struct addr *dst;	    /* gives the family when bits is 0 as well */
	const struct addr *gateway; /* NULL: on the link */
	const struct addr *source;  /* of what is sent by it; NULL: the kernel's choice */
};

enum { LINK_MAC_OCTETS = 6, LINK_NAME_SIZE = 16 };

/* Locally administered (IEEE 802c), the same in every airlock: the link has two ends, no third. */
extern const uint8_t link_mac_gate[LINK_MAC_OCTETS];
extern const uint8_t link_mac_sandbox[LINK_MAC_OCTETS];

struct link_end {
	const char *name;
	uint32_t index;
	const uint8_t *mac;
};

/* veth: `here`, and `there` in the namespace of that descriptor, both down. */
void link_add_veth(struct nl *n, const struct link_end *here, const struct link_end *there,
		   int there_netns, uint32_t mtu);
void link_set_mac_and_mtu(struct nl *n, uint32_t index, const uint8_t *mac, uint32_t mtu);
void link_delete(struct nl *n, uint32_t index);
void link_up(struct nl *n, uint32_t index);
void link_down(struct nl *n, uint32_t index);
/*
 * The device, down and by another name, into the namespace of that descriptor. `wanted` is its index
 * there; where that is its old one, and taken there, the kernel chooses.
 */
void link_move(struct nl *n, uint32_t index, const char *name, int netns, uint32_t wanted);
/* IPv4 packets that it receives may be from an address of this namespace. */
void link_accept_local(struct nl *n, uint32_t index);
/* With accept_local, since the gate sends from the airlock's own address. */
void link_up_tun(struct nl *n, uint32_t mtu, uint32_t queue);

/* No duplicate address detection and no route for the prefix: routes are queued one by one. */
void link_add_address(struct nl *n, uint32_t index, const struct addr *a, uint8_t bits);
/* The other end of the link, for good: nothing is ever asked by ARP or ND. */
void link_add_neighbour(struct nl *n, uint32_t index, const struct addr *a, const uint8_t *mac);
void link_add_route(struct nl *n, const struct link_route *r);

/* `fwmark` 0: for every packet. Family is AF_INET or AF_INET6. */
void link_add_rule(struct nl *n, uint8_t family, uint32_t pref, uint32_t fwmark, uint32_t table);
/* For what goes to that address; for what was received by that device. */
void link_add_rule_to(struct nl *n, const struct addr *to, uint32_t pref, uint32_t table);
void link_add_rule_from(struct nl *n, uint8_t family, uint32_t pref, const char *device,
			uint32_t table);
void link_delete_rule(struct nl *n, uint8_t family, uint32_t pref, uint32_t table);

/*
 * Calls fn for each device, address or route of this namespace (RTM_GETLINK, RTM_GETADDR,
 * RTM_GETROUTE) of that family, as nl_dump() does.
 */
int link_dump(struct nl *n, uint16_t type, uint8_t family, const char *doing, nl_each_fn *fn,
	      void *ctx) sg_must_check;

/* nl_run() with the message, of a queue that may be empty. 0 or -1. */
int link_run(struct nl *n, struct err *e) sg_must_check;

/*
 * Waits, bounded, until the device sends what it is given: the carrier is there and the queueing
 * discipline is in place. Up to then a packet is dropped without a word, and a SYN is
 * sent again only after a second. 0, -ETIMEDOUT or another -errno.
 */
int link_await_carrier(struct nl *n, uint32_t index) sg_must_check;
/* The same until the kernel has told that the carrier is there, or, after that, that it is gone. */
int link_await_state(struct nl *n, uint32_t index, bool up) sg_must_check;

/* Whether this namespace has a number for the one of the descriptor: 1, 0 or -errno. */
int link_knows(struct nl *n, int netns) sg_must_check;

#endif
