/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 *	placer				keeper
 *	enters the namespace
 *	takes other ways out away
 *			<- NAMESPACES	the airlock is there, empty
 *	moves the door, makes the pair
 *	LINK_IS_HERE ->			sets its end up, loads the rules
 *	configures eth0, verifies
 *	SIDE_READY ->
 *
 * Until the rules are there the link leads into a namespace without any other device. A failure, or
 * the end of the keeper, takes the airlock's namespace away, and with it both ends of the link: what
 * is left is a namespace without a device.
 */
#include "airlock/placer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "airlock/airlock_message.h"
#include "airlock/door_process.h"
#include "airlock/eth0.h"
#include "airlock/handed.h"
#include "airlock/namespace.h"
#include "airlock/sysctl.h"
#include "airlock/way_out.h"
#include "confine/confine.h"

enum { KEEPER_TIMEOUT_MS = 5000 };

/* Of the placer's descriptors after confine_detach. */
enum { FD_KEEPER = CONFINE_KEPT_FD, FD_NETNS };

struct placer {
	const struct airlock_plan *plan;
	struct nl route; /* in the namespace */
	struct handed handed;
	bool v6; /* the namespace has it */
};

static int enter(struct placer *l, struct err *e)
{
	int error;

	if (namespace_is(FD_NETNS, "/proc/self/ns/net"))
		return err_set(e, "that is the network namespace of sandgate itself; a gate has to "
				  "stand outside of what it holds");
	if (setns(FD_NETNS, CLONE_NEWNET) < 0)
		return err_set(e, "the network namespace cannot be entered: %s", strerror(errno));
	close(FD_NETNS);
	error = nl_open(&l->route, NETLINK_ROUTE);
	return error < 0 ? err_set(e, "cannot open a route netlink socket: %s", err_why(-error))
			 : 0;
}

static int clear_ways_out(struct placer *l, struct err *e)
{
	if (l->plan->others == AIRLOCK_OTHERS_REMOVED && way_out_remove(&l->route, 0, e) < 0)
		return -1;
	return way_out_verify(&l->route, l->plan->inbound ? l->plan->inbound->index : 0, e);
}

static int make_placed(struct placer *l, int airlock, struct err *e)
{
	const struct airlock_plan *p = l->plan;
	const struct link_end here = {p->device, p->eth0_index, p->mac};
	const struct link_end there = {"link0", p->link0_index, link_mac_gate};

	/* It is down from then on, until the rules are in force. */
	if (p->inbound)
		link_move(&l->route, p->inbound->index, "door0", airlock, p->eth0_index);
	link_add_veth(&l->route, &here, &there, airlock, p->mtu);
	return link_run(&l->route, e);
}

static int make_link(struct placer *l, int airlock, struct err *e)
{
	return l->plan->link == AIRLOCK_HANDED ? handed_make(&l->handed, l->plan, airlock, e)
					       : make_placed(l, airlock, e);
}

static int await_airlock(struct placer *l, struct err *e)
{
	struct airlock_message m;
	int r;

	if (airlock_message_receive(FD_KEEPER, &m, KEEPER_TIMEOUT_MS) < 0 ||
	    m.kind != MESSAGE_NAMESPACES)
		return err_set(e, "the keeper of the airlock gave no answer");
	r = make_link(l, m.fds[SLOT_NETNS], e);
	airlock_message_close_fds(&m);
	if (r < 0)
		return -1;
	airlock_message_init(&m, MESSAGE_LINK_IS_HERE);
	return airlock_message_send(FD_KEEPER, &m) < 0 ? err_set(e, "the keeper is gone") : 0;
}

static int place(struct placer *l, struct err *e)
{
	if (l->plan->link == AIRLOCK_HANDED)
		return await_airlock(l, e) < 0 ? -1
					       : handed_leave(&l->handed, l->plan, FD_NETNS, e);
	if (enter(l, e) < 0)
		return -1;
	if (clear_ways_out(l, e) < 0 || await_airlock(l, e) < 0)
		return -1;
	l->v6 = l->plan->v6 && sysctl_open_ipv6(l->plan->device);
	if (eth0_configure(&l->route, l->plan, l->v6, e) < 0)
		return -1;
	return way_out_verify(&l->route, l->plan->eth0_index, e);
}

void placer_main(const struct airlock_plan *p, int netns, int keeper, pid_t parent)
{
	static struct placer l = {.route = {.fd = -1}};
	const int keep[] = {keeper, netns};
	struct airlock_message m;

	l.plan = p;
	airlock_message_init(&m, MESSAGE_SIDE_READY);
	if (confine_detach("sandgate-door", parent, keep, sg_array_len(keep), &m.err) < 0)
		_exit(1);
	if (place(&l, &m.err) < 0)
		m.kind = MESSAGE_FAILED;
	nl_close(&l.route);
	if (p->link == AIRLOCK_HANDED)
		_exit(airlock_message_send(FD_KEEPER, &m) < 0);
	door_process_finish(p, FD_KEEPER, &m);
}
