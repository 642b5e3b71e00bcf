/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/sandbox_side.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "airlock/door.h"
#include "airlock/link.h"
#include "airlock/airlock_message.h"
#include "airlock/missing.h"
#include "airlock/sysctl.h"
#include "airlock/userns.h"
#include "confine/confine.h"

enum { KEEPER_TIMEOUT_MS = 5000 };

/* Hands the two namespaces over and waits for eth0. */
static int swap_for_link(int keeper, struct err *e)
{
	struct airlock_message m;
	int error;

	airlock_message_init(&m, MESSAGE_NAMESPACES);
	m.fds[SLOT_USERNS] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	m.fds[SLOT_NETNS] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (m.fds[SLOT_USERNS] < 0 || m.fds[SLOT_NETNS] < 0)
		return err_set(e, "cannot open /proc/self/ns: %s; mount /proc", strerror(errno));
	error = airlock_message_send(keeper, &m);
	airlock_message_close_fds(&m);
	if (!error)
		error = airlock_message_receive(keeper, &m, KEEPER_TIMEOUT_MS);
	if (error < 0 || m.kind != MESSAGE_LINK_IS_HERE)
		return err_set(e, "the keeper of the airlock gave no answer");
	return 0;
}

static void queue_family(struct nl *n, const char *gate_text, uint8_t bits,
			 const char *sandbox_text)
{
	struct addr gate = link_known_address(gate_text),
		    sandbox = link_known_address(sandbox_text);

	link_add_address(n, LINK_INDEX_ETH0, &sandbox, bits);
	link_add_neighbour(n, LINK_INDEX_ETH0, &gate, false);
	link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
					       .type = RTN_UNICAST,
					       .index = LINK_INDEX_ETH0,
					       .dst = &gate,
					       .gateway = &gate});
}

/* Only the default route: the rest of the prefix goes to the gate too, which refuses it at once. */
static int configure_link(bool v6, struct err *e)
{
	struct nl n;
	int error = nl_open(&n, NETLINK_ROUTE);

	if (error < 0)
		return err_set(e, "cannot open a route netlink socket: %s", err_why(-error));
	link_up(&n, LINK_INDEX_LO);
	link_up(&n, LINK_INDEX_ETH0);
	queue_family(&n, AIRLOCK_GATE_V4, AIRLOCK_V4_BITS, AIRLOCK_SANDBOX_V4);
	if (v6)
		queue_family(&n, AIRLOCK_GATE_V6, AIRLOCK_V6_BITS, AIRLOCK_SANDBOX_V6);
	error = nl_run(&n);
	if (!error)
		error = link_await_carrier(&n, LINK_INDEX_ETH0);
	nl_close(&n);
	return error < 0 ? missing_link(n.failed, -error, e) : 0;
}

static int make_side(const struct airlock_config *c, bool v6, int keeper, struct err *e)
{
	if (userns_enter(c->uid, c->gid, e) < 0 || userns_enter_netns(e) < 0 ||
	    sysctl_set_sandbox(v6, c->gid, e) < 0 || swap_for_link(keeper, e) < 0)
		return -1;
	return configure_link(v6, e);
}

/* The door's socket; its other end goes into the message. -1 on failure. */
static int make_door(int keeper, struct airlock_message *m)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(&m->err, "cannot make a socket pair: %s", err_why(errno));
	m->fds[SLOT_DOOR] = pair[1];
	return door_confine(pair[0], keeper, &m->err) < 0 ? -1 : pair[0];
}

void sandbox_side_main(const struct airlock_config *c, bool v6, int keeper, pid_t parent)
{
	struct airlock_message m;
	int door = -1;

	airlock_message_init(&m, MESSAGE_SIDE_READY);
	if (confine_detach("sandgate-door", parent, &keeper, 1, &m.err) < 0)
		_exit(1);
	keeper = CONFINE_KEPT_FD;
	if (make_side(c, v6, keeper, &m.err) < 0 || (c->door && (door = make_door(keeper, &m)) < 0))
		m.kind = MESSAGE_FAILED;
	if (airlock_message_send(keeper, &m) < 0 || m.kind == MESSAGE_FAILED)
		_exit(1);
	if (!c->door)
		_exit(0);
	airlock_message_close_fds(&m);
	door_serve(door);
}
