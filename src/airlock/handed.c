/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. What the kernel says of link0 in the airlock gives the number of the other end's
 * namespace out (rtnl_fill_link_netnsid in net/core/rtnetlink.c), and it says something whenever the
 * device changes: at once, or some time later from its queue of carrier changes (net/core/link_watch.c).
 * So the pair is made from a namespace that ends with this process, and the other end moves on when
 * link0 has nothing more to say:
 *
 *	end up		link0 has a carrier and says so
 *	end down	it has none, and says so: its queue is empty
 *	end moved	nothing changes at link0 before the engine sets the end up, in the container
 *
 * In the end it is asked whether the airlock knows the namespace.
 */
#include "airlock/handed.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>

#include "airlock/link.h"
#include "airlock/missing.h"

enum { INDEX_HIGH = 1 << 29 };

static int enter_between(struct handed *h, int airlock, struct err *e)
{
	int error;

	h->here.fd = h->far.fd = -1;
	if (unshare(CLONE_NEWNET) < 0)
		return err_set(e, "cannot make a network namespace: %s", strerror(errno));
	error = nl_open(&h->here, NETLINK_ROUTE);
	if (!error && setns(airlock, CLONE_NEWNET) < 0)
		error = -errno;
	if (!error)
		error = nl_open(&h->far, NETLINK_ROUTE);
	return error < 0 ? err_set(e, "cannot open a route netlink socket: %s", err_why(-error))
			 : 0;
}

/*
 * The kernel gives link0 its number only where the other end's is given as well. Among the devices of
 * others it is a high one, which no kernel comes to by counting.
 */
int handed_make(struct handed *h, const struct airlock_plan *p, int airlock, struct err *e)
{
	const struct link_end there = {"link0", LINK_INDEX_LINK0, link_mac_gate};

	if (enter_between(h, airlock, e) < 0)
		return -1;
	if (getrandom(&h->index, sizeof(h->index), 0) != sizeof(h->index))
		return err_set(e, "no random number: %s", strerror(errno));
	h->index = h->index % INDEX_HIGH + INDEX_HIGH;
	link_add_veth(&h->here, &(struct link_end){p->device, h->index, p->mac}, &there, airlock,
		      p->mtu);
	return link_run(&h->here, e);
}

static int await(struct handed *h, bool up, struct err *e)
{
	int error = link_await_state(&h->far, LINK_INDEX_LINK0, up);

	return error < 0 ? missing_link(h->far.failed, -error, e) : 0;
}

static int check_unknown(struct handed *h, int netns, struct err *e)
{
	int known = link_knows(&h->far, netns);

	if (known < 0)
		return missing_link(h->far.failed, -known, e);
	return known ? err_set(e, "the airlock has come to know the namespace of the engine by a "
				  "number, which the sandbox could use; try again")
		     : 0;
}

int handed_leave(struct handed *h, const struct airlock_plan *p, int netns, struct err *e)
{
	link_up(&h->here, h->index);
	if (link_run(&h->here, e) < 0 || await(h, true, e) < 0)
		return -1;
	link_down(&h->here, h->index);
	if (link_run(&h->here, e) < 0 || await(h, false, e) < 0)
		return -1;
	link_move(&h->here, h->index, p->device, netns, h->index);
	if (link_run(&h->here, e) < 0 || check_unknown(h, netns, e) < 0)
		return -1;
	nl_close(&h->here);
	nl_close(&h->far);
	return 0;
}
