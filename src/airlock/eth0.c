/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/eth0.h"

#include <linux/rtnetlink.h>

#include "airlock/missing.h"

/* The default route comes with the others where a device before had one. */
static bool has_default(const struct airlock_inbound *i, bool v4)
{
	for (size_t at = 0; i && at < i->n_routes; at++)
		if (!i->routes[at].bits && addr_is_v4(&i->routes[at].to) == v4)
			return true;
	return false;
}

static void queue_family(struct nl *n, const struct airlock_plan *p, bool v4)
{
	const struct airlock_addresses *a = &p->addresses;
	const struct addr *gate = v4 ? &a->gate_v4 : &a->gate_v6;

	link_add_address(n, p->eth0_index, v4 ? &a->sandbox_v4 : &a->sandbox_v6,
			 v4 ? a->v4_bits : a->v6_bits);
	link_add_neighbour(n, p->eth0_index, gate, link_mac_gate);
	if (!has_default(p->inbound, v4))
		link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
						       .type = RTN_UNICAST,
						       .index = p->eth0_index,
						       .dst = gate,
						       .gateway = gate});
}

static bool is_new_gateway(const struct airlock_inbound *i, size_t before, const struct addr *a)
{
	for (size_t at = 0; at < before; at++)
		if (!i->routes[at].direct && addr_equal(&i->routes[at].gateway, a))
			return false;
	return true;
}

/* What was on the link goes to a gateway, which is the gate: it refuses at once. */
static const struct addr *gateway_of(const struct airlock_plan *p, const struct inbound_route *r)
{
	bool v4 = addr_is_v4(&r->to);
	const struct addr *usual = inbound_gateway(p->inbound, v4);

	if (!r->direct)
		return &r->gateway;
	return usual ? usual : v4 ? &p->addresses.gate_v4 : &p->addresses.gate_v6;
}

/* The source is the one address from which something can be opened. */
static void queue_route(struct nl *n, const struct airlock_plan *p, size_t at)
{
	const struct inbound_route *r = &p->inbound->routes[at];
	const struct addr *gateway = gateway_of(p, r);

	if (!r->direct && is_new_gateway(p->inbound, at, gateway))
		link_add_neighbour(n, p->eth0_index, gateway, link_mac_gate);
	link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
					       .type = RTN_UNICAST,
					       .bits = r->bits,
					       .index = p->eth0_index,
					       .dst = &r->to,
					       .gateway = gateway,
					       .source = addr_is_v4(&r->to)
								 ? &p->addresses.sandbox_v4
								 : &p->addresses.sandbox_v6});
}

/* The further addresses and the routes of the device whose place it takes. */
static int add_inbound(struct nl *n, const struct airlock_plan *p, bool v6, struct err *e)
{
	const struct airlock_inbound *i = p->inbound;
	int r = 0;

	for (size_t at = 0; at < i->n_addresses; at++) {
		const struct inbound_address *a = &i->addresses[at];

		if ((v6 || addr_is_v4(&a->addr)) && !plan_is_first_address(p, &a->addr))
			link_add_address(n, p->eth0_index, &a->addr, a->bits);
	}
	for (size_t at = 0; at < i->n_routes && r == 0; at++) {
		r = link_run(n, e);
		if (r == 0 && (v6 || addr_is_v4(&i->routes[at].to)))
			queue_route(n, p, at);
	}
	return r == 0 ? link_run(n, e) : r;
}

int eth0_configure(struct nl *n, const struct airlock_plan *p, bool v6, struct err *e)
{
	int error;

	link_up(n, LINK_INDEX_LO);
	link_up(n, p->eth0_index);
	queue_family(n, p, true);
	if (v6)
		queue_family(n, p, false);
	if (link_run(n, e) < 0 || (p->inbound && add_inbound(n, p, v6, e) < 0))
		return -1;
	error = link_await_carrier(n, p->eth0_index);
	return error < 0 ? missing_link(n->failed, -error, e) : 0;
}
