/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/link0.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "airlock/layout.h"

enum { METRIC_LAST = 0x7fffffff };
enum { PREF_GATE = 10, PREF_SOCKET = 11, PREF_STRAY = 12, PREF_LOCAL = 100 };

/* To a socket here whatever the address; and where the gate's packets go when there is no tun0. */
static void queue_defaults(struct nl *n, const struct airlock_plan *p, const struct addr *family)
{
	link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_SOCKET,
					       .type = RTN_LOCAL,
					       .index = LINK_INDEX_LO,
					       .dst = family});
	link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_GATE,
					       .type = RTN_UNICAST,
					       .metric = METRIC_LAST,
					       .index = p->link0_index,
					       .dst = family});
}

/* Marks come before the airlock's own addresses: what is sent to the gate's goes to tun0 too. */
static void queue_rules(struct nl *n, uint8_t family)
{
	link_add_rule(n, family, PREF_GATE, AIRLOCK_MARK_GATE, AIRLOCK_MARK_GATE);
	link_add_rule(n, family, PREF_SOCKET, AIRLOCK_MARK_SOCKET, AIRLOCK_MARK_SOCKET);
	link_add_rule(n, family, PREF_STRAY, AIRLOCK_MARK_STRAY, AIRLOCK_MARK_SOCKET);
	link_add_rule(n, family, PREF_LOCAL, 0, RT_TABLE_LOCAL);
	link_delete_rule(n, family, 0, RT_TABLE_LOCAL);
}

static void queue_family(struct nl *n, const struct airlock_plan *p, const struct addr *gate,
			 const struct addr *sandbox, uint8_t bits, uint8_t sandbox_bits)
{
	struct addr to = *sandbox;

	link_add_address(n, p->link0_index, gate, bits);
	/* The route of a prefix has no host bits. */
	if (sandbox_bits == 64)
		memset(to.b + 8, 0, 8);
	link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
					       .type = RTN_UNICAST,
					       .bits = sandbox_bits,
					       .index = p->link0_index,
					       .dst = &to});
	queue_defaults(n, p, gate);
	queue_rules(n, addr_is_v4(gate) ? AF_INET : AF_INET6);
}

/* What a router advertisement comes from, and the way to those who ask for one (RFC 4861, 6.1). */
static void queue_link_local(struct nl *n, const struct airlock_plan *p)
{
	struct addr gate = airlock_address(AIRLOCK_GATE_LINK_LOCAL),
		    prefix = airlock_address("fe80::");

	link_add_address(n, p->link0_index, &gate, 64);
	link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
					       .type = RTN_UNICAST,
					       .bits = 64,
					       .index = p->link0_index,
					       .dst = &prefix});
}

/* A guest's own IPv6 addresses are not known: they are asked for. */
static void queue_v6(struct nl *n, const struct airlock_plan *p)
{
	const struct airlock_addresses *a = &p->addresses;

	queue_family(n, p, &a->gate_v6, &a->sandbox_v6, a->v6_bits, a->v6_prefix ? 64 : 128);
	if (!a->v6_prefix)
		link_add_neighbour(n, p->link0_index, &a->sandbox_v6, p->mac);
	if (p->link == AIRLOCK_TAP)
		queue_link_local(n, p);
}

void link0_configure(struct nl *n, const struct airlock_plan *p)
{
	const struct airlock_addresses *a = &p->addresses;

	link_up(n, LINK_INDEX_LO);
	link_up(n, p->link0_index);
	queue_family(n, p, &a->gate_v4, &a->sandbox_v4, a->v4_bits, 32);
	link_add_neighbour(n, p->link0_index, &a->sandbox_v4, p->mac);
	if (p->v6)
		queue_v6(n, p);
}
