/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * The sandbox keeps its addresses at its own end of the link. They stand on door0 as well, so that
 * the kernel answers for them by ARP and ND there, and asks in their name for whom answers go to.
 * But nothing that is for them ends here:
 *
 *	an address of the sandbox	the main table, by its routes to link0, whoever sends
 *	asked for by ARP on door0	the local table: it is here
 *	MARK_SANDBOX			let in from door0: the main table
 *	MARK_DOOR			an answer: the table of that number, the sandbox's routes of before
 *
 * A packet from link0 has one of those addresses as its source, which to the kernel is its own:
 * link0 has to accept that. There is no way to door0 but MARK_DOOR, and only rules give it.
 */
#include "airlock/door0.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "airlock/layout.h"

enum { PREF_DOOR = 13, PREF_INWARD = 14, PREF_ASKED = 50, PREF_SANDBOX = 60 };

static void queue_rules(struct nl *n, uint8_t family)
{
	link_add_rule(n, family, PREF_DOOR, AIRLOCK_MARK_DOOR, AIRLOCK_MARK_DOOR);
	link_add_rule(n, family, PREF_INWARD, AIRLOCK_MARK_SANDBOX, RT_TABLE_MAIN);
	link_add_rule_from(n, family, PREF_ASKED, "door0", RT_TABLE_LOCAL);
}

/* The link has a route to the first address of each family already. */
static int add_address(struct nl *n, const struct airlock_plan *p, const struct inbound_address *a,
		       uint32_t door, struct err *e)
{
	const struct addr *to = &a->addr;

	link_add_rule_to(n, to, PREF_SANDBOX, RT_TABLE_MAIN);
	if (!plan_is_first_address(p, to)) {
		link_add_neighbour(n, p->link0_index, to, p->mac);
		link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
						       .type = RTN_UNICAST,
						       .bits = addr_is_v4(to) ? 32 : 128,
						       .index = p->link0_index,
						       .dst = to});
	}
	link_add_address(n, door, to, a->bits);
	return link_run(n, e);
}

static int add_addresses(struct nl *n, const struct airlock_plan *p, uint32_t door, struct err *e)
{
	const struct airlock_inbound *i = p->inbound;

	for (size_t at = 0; at < i->n_addresses; at++)
		if ((p->v6 || addr_is_v4(&i->addresses[at].addr)) &&
		    add_address(n, p, &i->addresses[at], door, e) < 0)
			return -1;
	return 0;
}

static int add_routes(struct nl *n, const struct airlock_plan *p, uint32_t door, struct err *e)
{
	const struct airlock_inbound *i = p->inbound;

	for (size_t at = 0; at < i->n_routes; at++) {
		const struct inbound_route *r = &i->routes[at];

		if (!p->v6 && !addr_is_v4(&r->to))
			continue;
		link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_DOOR,
						       .type = RTN_UNICAST,
						       .bits = r->bits,
						       .index = door,
						       .dst = &r->to,
						       .gateway = r->direct ? NULL : &r->gateway});
		if (link_run(n, e) < 0)
			return -1;
	}
	return 0;
}

int door0_configure(struct nl *n, const struct airlock_plan *p, uint32_t *index, struct err *e)
{
	uint32_t door = if_nametoindex("door0");

	*index = door;
	if (!door)
		return err_set(e, "door0 did not arrive in the airlock: %s", err_why(errno));
	queue_rules(n, AF_INET);
	if (p->v6)
		queue_rules(n, AF_INET6);
	link_accept_local(n, p->link0_index);
	/* A device that is down can have no route. */
	link_up(n, door);
	if (link_run(n, e) < 0 || add_addresses(n, p, door, e) < 0)
		return -1;
	return add_routes(n, p, door, e);
}
