/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/gate_side.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "airlock/guest.h"
#include "airlock/layout.h"
#include "airlock/listen.h"
#include "airlock/missing.h"
#include "airlock/tun.h"

static void queue_gate_route(struct nl *n, const struct addr *family)
{
	link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_GATE,
					       .type = RTN_UNICAST,
					       .index = LINK_INDEX_TUN0,
					       .dst = family});
}

static int open_listeners(const struct airlock_plan *p, struct airlock_message *m, struct err *e)
{
	m->fds[SLOT_LISTEN_V4] = listen_open(AF_INET);
	if (m->fds[SLOT_LISTEN_V4] < 0)
		return err_set(e, "cannot listen in the airlock: %s",
			       strerror(-m->fds[SLOT_LISTEN_V4]));
	if (!p->v6)
		return 0;
	m->fds[SLOT_LISTEN_V6] = listen_open(AF_INET6);
	if (m->fds[SLOT_LISTEN_V6] < 0)
		return err_set(e, "cannot listen in the airlock by IPv6: %s",
			       strerror(-m->fds[SLOT_LISTEN_V6]));
	return 0;
}

static int open_guest_sockets(const struct airlock_plan *p, struct airlock_message *m,
			      struct err *e)
{
	m->fds[SLOT_DHCP] = guest_open_dhcp();
	if (m->fds[SLOT_DHCP] < 0)
		return err_set(e, "cannot listen for DHCP: %s", strerror(-m->fds[SLOT_DHCP]));
	if (!p->v6)
		return 0;
	m->fds[SLOT_ROUTER] = guest_open_router();
	return m->fds[SLOT_ROUTER] < 0 ? err_set(e, "cannot listen for router solicitations: %s",
						 strerror(-m->fds[SLOT_ROUTER]))
				       : 0;
}

int gate_side_make(struct nl *n, const struct airlock_plan *p, const char *device,
		   struct airlock_message *m, struct err *e)
{
	int error;

	m->fds[SLOT_TUN] = tun_open(device);
	if (m->fds[SLOT_TUN] < 0)
		return missing_tun(-m->fds[SLOT_TUN], e);
	link_up_tun(n, AIRLOCK_TUN_MTU, AIRLOCK_TUN_QUEUE);
	queue_gate_route(n, &p->addresses.gate_v4);
	if (p->v6)
		queue_gate_route(n, &p->addresses.gate_v6);
	error = nl_run(n);
	if (error < 0)
		return missing_link(n->failed, -error, e);
	if (open_listeners(p, m, e) < 0)
		return -1;
	return p->link == AIRLOCK_TAP ? open_guest_sockets(p, m, e) : 0;
}
