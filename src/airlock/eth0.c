/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/eth0.h"

#include <linux/rtnetlink.h>

#include "airlock/missing.h"

static void queue_family(struct nl *n, const struct addr *gate, const struct addr *sandbox,
			 uint8_t bits)
{
	link_add_address(n, LINK_INDEX_ETH0, sandbox, bits);
	link_add_neighbour(n, LINK_INDEX_ETH0, gate, link_mac_gate);
	link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
					       .type = RTN_UNICAST,
					       .index = LINK_INDEX_ETH0,
					       .dst = gate,
					       .gateway = gate});
}

int eth0_configure(struct nl *n, const struct airlock_plan *p, bool v6, struct err *e)
{
	const struct airlock_addresses *a = &p->addresses;
	int error;

	link_up(n, LINK_INDEX_LO);
	link_up(n, LINK_INDEX_ETH0);
	queue_family(n, &a->gate_v4, &a->sandbox_v4, a->v4_bits);
	if (v6)
		queue_family(n, &a->gate_v6, &a->sandbox_v6, a->v6_bits);
	error = nl_run(n);
	if (!error)
		error = link_await_carrier(n, LINK_INDEX_ETH0);
	return error < 0 ? missing_link(n->failed, -error, e) : 0;
}
