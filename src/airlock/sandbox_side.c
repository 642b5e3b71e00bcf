/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/sandbox_side.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "airlock/door_process.h"
#include "airlock/eth0.h"
#include "airlock/airlock_message.h"
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

static int configure_link(const struct airlock_plan *p, struct err *e)
{
	struct nl n;
	int error = nl_open(&n, NETLINK_ROUTE), r;

	if (error < 0)
		return err_set(e, "cannot open a route netlink socket: %s", err_why(-error));
	r = eth0_configure(&n, p, p->v6, e);
	nl_close(&n);
	return r;
}

static int make_side(const struct airlock_plan *p, int keeper, struct err *e)
{
	if (userns_enter(p->uid, p->gid, e) < 0 || userns_enter_netns(e) < 0 ||
	    sysctl_set_sandbox(p->v6, p->gid, e) < 0 || swap_for_link(keeper, e) < 0)
		return -1;
	return configure_link(p, e);
}

void sandbox_side_main(const struct airlock_plan *p, int keeper, pid_t parent)
{
	struct airlock_message m;

	airlock_message_init(&m, MESSAGE_SIDE_READY);
	if (confine_detach("sandgate-door", parent, &keeper, 1, &m.err) < 0)
		_exit(1);
	if (make_side(p, CONFINE_KEPT_FD, &m.err) < 0)
		m.kind = MESSAGE_FAILED;
	door_process_finish(p, CONFINE_KEPT_FD, &m);
}
