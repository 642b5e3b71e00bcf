/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/netns.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "airlock/namespace.h"
#include "airlock/userns.h"
#include "airlock/way_out.h"
#include "sandbox/errand.h"
#include "sandbox/pidfd.h"

enum { CHILD_MS = 5000, MESSAGE_OCTETS = 32768, HEARD_AT_ONCE = 64 };

static const char of_host[] =
	"that is the network of the host; a gate is put before a container's, a "
	"machine's or a namespace's own";

/* --- which one --- */

int netns_open_path(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT && !strchr(path, '/'))
		return err_set(e, "%s: no such file; a path is wanted, such as /run/netns/%s", path,
			       path);
	return err_set(e, "%s: %s", path, err_why(errno));
}

static int refuse_pid(pid_t pid, int why, struct err *e)
{
	if (why == ENOENT || why == ESRCH)
		return err_set(e, "%d: there is no process of that number", (int)pid);
	/* Whatever may be seen of the first process, its network is never one to be attached. */
	if (pid == 1)
		return err_set(e, "1: %s", of_host);
	if ((why == EACCES || why == EPERM) && geteuid() == 0)
		return err_set(
			e,
			"%d: the process has rights that root does not have here; run sandgate "
			"outside of the container, or the user namespace, that it is in",
			(int)pid);
	if (why == EACCES || why == EPERM)
		return err_set(e,
			       "%d: the process is another user's, or has rights that you do not "
			       "have; run sandgate as the one who started it, or as root",
			       (int)pid);
	return err_set(e, "%d: its network namespace: %s", (int)pid, err_why(why));
}

/* The pidfd first: what is opened by the number then is of that very process, or of none. */
int netns_open_pid(pid_t pid, int *alive, struct err *e)
{
	struct pollfd ended = {.events = POLLIN};
	char path[64];
	int fd;

	*alive = pidfd_open_child(pid);
	if (*alive < 0)
		return refuse_pid(pid, errno == EINVAL ? ESRCH : errno, e);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ended.fd = *alive;
	if (fd >= 0 && poll(&ended, 1, 0) == 0)
		return fd;
	refuse_pid(pid, fd < 0 ? errno : ESRCH, e);
	if (fd >= 0)
		close(fd);
	close(*alive);
	*alive = -1;
	return -1;
}

/* --- in it --- */

/* Work for run(), done in the namespace. */
struct job {
	int (*work)(void *ctx, void *answer, int *fds, struct err *e);
	void *ctx;
	size_t size; /* of the answer */
	int n_fds;   /* that it makes */
	int netns;   /* run() sets it */
};

static int enter_and_work(void *ctx, void *answer, int *fds, struct err *e)
{
	const struct job *j = ctx;

	if (userns_enter_owner(j->netns, e))
		return -1;
	if (setns(j->netns, CLONE_NEWNET) < 0)
		return err_set(e, "the network namespace cannot be entered: %s", strerror(errno));
	return j->work(j->ctx, answer, fds, e);
}

static int run(int netns, struct job j, void *answer, int *fds, struct err *e)
{
	const struct errand x = {
		.what = "looking into the network namespace",
		.ms = CHILD_MS,
		.work = enter_and_work,
		.ctx = &j,
		.size = j.size,
		.n_fds = j.n_fds,
	};

	j.netns = netns;
	return errand_run(&x, answer, fds, e);
}

static int open_route(struct nl *n, struct err *e)
{
	int error = nl_open(n, NETLINK_ROUTE);

	return error < 0 ? err_set(e, "a route netlink socket: %s", err_why(-error)) : 0;
}

static_assert((int)NETNS_WAYS_MAX <= (int)ERRAND_ANSWER_MAX, "the list is an answer");

static int list_ways(void *ctx, void *answer, int *fds, struct err *e)
{
	const uint32_t *link = ctx;
	struct nl n;

	return open_route(&n, e) ? -1 : way_out_list(&n, *link, answer, NETNS_WAYS_MAX, e);
}

int netns_list_ways(int netns, uint32_t link, char out[NETNS_WAYS_MAX], struct err *e)
{
	struct job j = {.work = list_ways, .ctx = &link, .size = NETNS_WAYS_MAX};
	int rc = run(netns, j, out, NULL, e);

	out[NETNS_WAYS_MAX - 1] = 0;
	return rc;
}

static int take_ways(void *ctx, void *answer, int *fds, struct err *e)
{
	const uint32_t *link = ctx;
	struct nl n;

	if (open_route(&n, e) || way_out_remove(&n, *link, e))
		return -1;
	return way_out_verify(&n, *link, e);
}

int netns_take_ways(int netns, uint32_t link, struct err *e)
{
	return run(netns, (struct job){.work = take_ways, .ctx = &link}, NULL, NULL, e);
}

static int open_watch(void *ctx, void *answer, int *fds, struct err *e)
{
	struct sockaddr_nl self = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	struct nl ask;

	fds[0] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (fds[0] < 0 || bind(fds[0], (struct sockaddr *)&self, sizeof(self)) < 0)
		return err_set(e, "hearing of its devices: %s", err_why(errno));
	if (open_route(&ask, e))
		return -1;
	fds[1] = ask.fd;
	return 0;
}

int netns_watch_open(int netns, struct netns_watch *w, struct err *e)
{
	int fds[2];

	*w = NETNS_WATCH_NONE;
	if (run(netns, (struct job){.work = open_watch, .n_fds = 2}, NULL, fds, e))
		return -1;
	w->events = fds[0];
	w->ask.fd = fds[1];
	w->ask.seq = 1;
	return 0;
}

void netns_watch_close(struct netns_watch *w)
{
	if (w->events >= 0)
		close(w->events);
	nl_close(&w->ask);
	w->events = -1;
}

/*
 * Where the first process shows its namespaces to nobody: settings of the machine as a whole are in
 * the initial namespace alone (net_core_table in net/core/sysctl_net_core.c).
 */
static int check_initial(void *ctx, void *answer, int *fds, struct err *e)
{
	bool initial = access("/proc/sys/net/core/netdev_max_backlog", F_OK) == 0;

	return initial ? err_set(e, "%s", of_host) : 0;
}

int netns_check(int netns, struct err *e)
{
	if (ioctl(netns, NS_GET_NSTYPE) != CLONE_NEWNET)
		return err_set(e, "that is no network namespace; ip netns lists those with a name, "
				  "as /run/netns/NAME");
	if (namespace_is(netns, "/proc/1/ns/net"))
		return err_set(e, "%s", of_host);
	if (namespace_is(netns, "/proc/self/ns/net"))
		return err_set(e, "that is the network namespace of sandgate itself; run it from "
				  "outside of it");
	if (access("/proc/1/ns/net", R_OK) == 0)
		return 0;
	return run(netns, (struct job){.work = check_initial}, NULL, NULL, e);
}

/* --- from outside --- */

static bool has_left(const uint8_t *p, size_t n, uint32_t link)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)p;
	int left = (int)n;

	for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);

		if (h->nlmsg_type == RTM_DELLINK && mnl_nlmsg_get_payload_len(h) >= sizeof(*i) &&
		    (uint32_t)i->ifi_index == link)
			return true;
	}
	return false;
}

bool netns_watch_hear(struct netns_watch *w, uint32_t link)
{
	alignas(8) uint8_t room[MESSAGE_OCTETS];

	for (int i = 0; i < HEARD_AT_ONCE; i++) {
		ssize_t n = recv(w->events, room, sizeof(room), 0);

		if (n < 0 && errno != EINTR)
			return errno == EAGAIN;
		if (n > 0 && has_left(room, (size_t)n, link))
			return false;
	}
	return true;
}

int netns_watch_verify(struct netns_watch *w, uint32_t link, struct err *e)
{
	return way_out_verify(&w->ask, link, e);
}
