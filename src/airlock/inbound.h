/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbound: the device of a namespace that moves into the airlock as door0, so that what is opened
 * from outside still comes in by it. What it was has to be known before: a device that moves loses
 * its addresses and routes.
 */
#ifndef SG_AIRLOCK_INBOUND_H
#define SG_AIRLOCK_INBOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "airlock/addresses.h"
#include "base/err.h"

enum { INBOUND_ADDRESSES_MAX = 16, INBOUND_ROUTES_MAX = 32 };

struct inbound_address {
	struct addr addr;
	uint8_t bits; /* as in a prefix of its family */
};

struct inbound_route {
	struct addr to; /* gives the family when bits is 0 as well */
	uint8_t bits;	/* as in a prefix of its family; 0: the default route */
	bool direct;	/* on the link, without a gateway */
	struct addr gateway;
};

struct airlock_inbound {
	uint32_t index; /* of the device, in its namespace */
	uint32_t peer;	/* of the other end of the veth pair, wherever that is */
	uint8_t mac[6];
	uint32_t mtu;
	/* In the kernel's order, link-local ones left out. */
	size_t n_addresses, n_routes;
	struct inbound_address addresses[INBOUND_ADDRESSES_MAX];
	struct inbound_route routes[INBOUND_ROUTES_MAX];
};

/*
 * Reads what the device of this name is, in the namespace of the descriptor. 0, or -1 with the
 * message; -ENODEV, with the message, when there is no device of that name; -ENOTSUP, with the
 * message and all but the peer read, when it is not the end of a veth pair, which alone can become
 * the door.
 */
int inbound_read(int netns, const char *device, struct airlock_inbound *out,
		 struct err *e) sg_must_check;

/*
 * The link's addresses: the sandbox has its first one of each family, or the usual where it had
 * none; the gate has the usual ones, since the network's gateway stays who it is: the one who asks
 * from outside.
 */
struct airlock_addresses inbound_link_addresses(const struct airlock_inbound *i);

/*
 * Makes a device of that name and these addresses that leads nowhere: the other end is beside it. For
 * those who made the device before, and take back what they did by what it says. Where there is one of
 * that name, theirs was not taken, or was left already, and it stays. 0 or -1 with the message.
 */
int inbound_leave_dead(int netns, const char *device, const struct airlock_inbound *i,
		       struct err *e) sg_must_check;

/* The index of the device that takes its place in the namespace. */
uint32_t inbound_eth0_index(const struct airlock_inbound *i);

/* The gateway of the default route of that family, or NULL. */
const struct addr *inbound_gateway(const struct airlock_inbound *i, bool v4);

#endif
