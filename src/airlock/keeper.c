/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * The keeper is forked by the supervisor, which waits for one message: READY or FAILED.
 *
 *	1 detach	nothing of the supervisor's is left but the control socket
 *	2 user ns	root over what follows, an ordinary user everywhere else
 *	3 side		the sandbox's side is forked and works at the same time
 *	4 network ns	the airlock: settings, link0, routes; the loader of the rules works at
 *			the same time, and takes with it the memory that nftables needs
 *	5 confine	CAP_NET_ADMIN over the airlock, one file (/dev/net/tun), few calls
 *	6 gate's	tun0, its routes and the listeners, made and handed over
 *	7 serve		RENEW does stage 6 again; COUNT reads the counters; end of stream ends it
 *
 * What works at the same time is a helper (keeper_helper.h). Stage 6 comes after 5, so that what a
 * restarted gate will need is tried at every start.
 *
 * The keeper keeps no copy of what it hands over: when the gate dies, tun0 goes and all is
 * refused. It cannot read what the sandbox sends: after stage 5 it may receive only from its
 * control socket and two netlink sockets, and neither read nor accept at all. When it ends on
 * any way before READY, no namespace has another holder, and all that it made is gone.
 */
#include "airlock/keeper.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "airlock/capture.h"
#include "airlock/door0.h"
#include "airlock/gate_side.h"
#include "airlock/keeper_helper.h"
#include "airlock/layout.h"
#include "airlock/link.h"
#include "airlock/link0.h"
#include "airlock/airlock_message.h"
#include "airlock/missing.h"
#include "airlock/rules.h"
#include "airlock/sysctl.h"
#include "airlock/tun.h"
#include "airlock/userns.h"
#include "confine/confine.h"

/* The folder that becomes the keeper's root: it holds the one file that it opens again. */
static const char tun_folder[] = "/dev/net";
static const char tun_device[] = "/tun";

struct keeper {
	struct airlock_plan plan;
	int control;		     /* to the supervisor */
	int netns;		     /* that is there already; -1: none */
	struct keeper_helper side;   /* makes the sandbox's end of the link, and becomes the door */
	struct keeper_helper door;   /* AIRLOCK_HANDED: in the airlock */
	struct keeper_helper loader; /* loads the rules */
	uint32_t door0;		     /* its index; 0: there is none */
	struct airlock_message ready; /* collects what the supervisor gets */
	struct nl route, netfilter;
};

static bool is_placed(const struct keeper *k)
{
	return k->plan.link == AIRLOCK_NETNS || k->plan.link == AIRLOCK_HANDED;
}

static int enter_airlock(struct keeper *k, struct err *e)
{
	int error;

	if (userns_enter_netns(e) < 0)
		return -1;
	error = nl_open(&k->route, NETLINK_ROUTE);
	if (error < 0)
		return err_set(e, "cannot open a route netlink socket: %s", err_why(-error));
	error = nl_open(&k->netfilter, NETLINK_NETFILTER);
	if (error < 0)
		return err_set(e,
			       "the kernel has no netfilter netlink: %s; as root: modprobe -a "
			       "nfnetlink nf_tables",
			       strerror(-error));
	if (k->plan.link == AIRLOCK_TAP && sysctl_open_low_ports(e) < 0)
		return -1;
	return sysctl_set_airlock(k->plan.v6, e);
}

static int run_links(struct keeper *k, struct err *e)
{
	int error = nl_run(&k->route);

	return error < 0 ? missing_link(k->route.failed, -error, e) : 0;
}

/* The supervisor has its engine enter them while the rest is made. */
static int hand_on_namespaces(struct keeper *k, struct airlock_message *m, struct err *e)
{
	int error = airlock_message_send(k->control, m);

	return error < 0 ? err_set(e, "the supervisor is gone: %s", strerror(-error)) : 0;
}

static int add_link(struct keeper *k, int sandbox_netns, struct err *e)
{
	const struct link_end here = {"link0", LINK_INDEX_LINK0, link_mac_gate};
	const struct link_end there = {k->plan.device, LINK_INDEX_ETH0, k->plan.mac};
	struct airlock_message m;

	link_add_veth(&k->route, &here, &there, sandbox_netns, k->plan.mtu);
	if (run_links(k, e) < 0)
		return -1;
	airlock_message_init(&m, MESSAGE_LINK_IS_HERE);
	/* A side that takes no message has ended, and its last message says why. */
	return airlock_message_send(k->side.sock, &m) < 0
		       ? keeper_helper_await(&k->side, MESSAGE_SIDE_READY, &m, e)
		       : 0;
}

static int make_link_of_own(struct keeper *k, struct err *e)
{
	struct airlock_message m;
	int r;

	if (keeper_helper_await(&k->side, MESSAGE_NAMESPACES, &m, e) < 0)
		return -1;
	r = hand_on_namespaces(k, &m, e);
	if (r == 0)
		r = add_link(k, m.fds[SLOT_NETNS], e);
	airlock_message_close_fds(&m);
	return r;
}

/* The placer makes it, which alone is privileged at both ends. */
static int have_link_placed(struct keeper *k, struct err *e)
{
	struct airlock_message m;
	int error;

	airlock_message_init(&m, MESSAGE_NAMESPACES);
	m.fds[SLOT_NETNS] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (m.fds[SLOT_NETNS] < 0)
		return err_set(e, "cannot open /proc/self/ns: %s; mount /proc", strerror(errno));
	error = airlock_message_send(k->side.sock, &m);
	airlock_message_close_fds(&m);
	/* A placer that takes no message has ended, and its last message says why. */
	if (error < 0)
		return keeper_helper_await(&k->side, MESSAGE_SIDE_READY, &m, e);
	return keeper_helper_await(&k->side, MESSAGE_LINK_IS_HERE, &m, e);
}

static int make_tap(struct keeper *k, struct err *e)
{
	k->ready.fds[SLOT_TAP] = tun_open_tap("/dev/net/tun");
	if (k->ready.fds[SLOT_TAP] < 0)
		return missing_tun(-k->ready.fds[SLOT_TAP], e);
	link_set_mac_and_mtu(&k->route, LINK_INDEX_LINK0, link_mac_gate, k->plan.mtu);
	return run_links(k, e);
}

static int open_capture(const struct keeper *k, struct airlock_message *m, struct err *e)
{
	m->fds[SLOT_CAPTURE] = capture_open(k->plan.link0_index);
	return m->fds[SLOT_CAPTURE] < 0 ? err_set(e, "cannot open a packet socket: %s",
						  strerror(-m->fds[SLOT_CAPTURE]))
					: 0;
}

/* The sandbox's link, down, and with it what sees the first frame. */
static int make_link(struct keeper *k, struct err *e)
{
	int (*const make[])(struct keeper * k, struct err * e) = {
		[AIRLOCK_OWN] = make_link_of_own,
		[AIRLOCK_NETNS] = have_link_placed,
		[AIRLOCK_TAP] = make_tap,
		[AIRLOCK_HANDED] = have_link_placed,
	};

	if (make[k->plan.link](k, e) < 0)
		return -1;
	return k->plan.capture ? open_capture(k, &k->ready, e) : 0;
}

static int configure_link(struct keeper *k, struct err *e)
{
	link0_configure(&k->route, &k->plan);
	return run_links(k, e);
}

static int await_handed_door(struct keeper *k, struct err *e)
{
	struct airlock_message m;

	if (keeper_helper_await(&k->door, MESSAGE_SIDE_READY, &m, e) < 0)
		return -1;
	k->ready.fds[SLOT_DOOR] = m.fds[SLOT_DOOR];
	close(k->door.sock);
	return 0;
}

/* Both helpers are done, and gone unless one is the door; packets pass the link both ways. */
static int finish_helpers(struct keeper *k, struct err *e)
{
	struct airlock_message m;
	int error;

	if (keeper_helper_await(&k->side, MESSAGE_SIDE_READY, &m, e) < 0)
		return -1;
	k->ready.fds[SLOT_DOOR] = m.fds[SLOT_DOOR];
	if (k->door.pid && await_handed_door(k, e) < 0)
		return -1;
	if (keeper_helper_await(&k->loader, MESSAGE_RULES_LOADED, &m, e) < 0)
		return -1;
	close(k->side.sock);
	close(k->loader.sock);
	waitpid(k->loader.pid, NULL, 0);
	if (!k->plan.door || k->door.pid)
		waitpid(k->side.pid, NULL, 0);
	/* The other end is not up before the engine has moved it. */
	if (k->plan.link == AIRLOCK_HANDED)
		return 0;
	if (k->plan.inbound && door0_configure(&k->route, &k->plan, &k->door0, e) < 0)
		return -1;
	error = link_await_carrier(&k->route, k->plan.link0_index);
	return error < 0 ? missing_link(k->route.failed, -error, e) : 0;
}

static int confine(struct keeper *k, struct err *e)
{
	const struct confine_call calls[] = {
		/* message.c */
		{SCMP_SYS(sendmsg), 0, (uint32_t)k->control},
		{SCMP_SYS(recvmsg), 0, (uint32_t)k->control},
		{SCMP_SYS(poll), CONFINE_ANY, 0},
		{SCMP_SYS(ppoll), CONFINE_ANY, 0},
		{SCMP_SYS(close), CONFINE_ANY, 0},
		/* netlink.c */
		{SCMP_SYS(sendto), 0, (uint32_t)k->route.fd},
		{SCMP_SYS(recvmsg), 0, (uint32_t)k->route.fd},
		{SCMP_SYS(sendto), 0, (uint32_t)k->netfilter.fd},
		{SCMP_SYS(recvmsg), 0, (uint32_t)k->netfilter.fd},
		/* tun.c; of paths there is only tun_device */
		{SCMP_SYS(openat), CONFINE_ANY, 0},
		{SCMP_SYS(ioctl), 1, TUNSETIFINDEX},
		{SCMP_SYS(ioctl), 1, TUNSETIFF},
		/* listen.c */
		{SCMP_SYS(socket), 0, AF_INET},
		{SCMP_SYS(socket), 0, AF_INET6},
		/* capture.c; there is no call by which it could be read */
		{SCMP_SYS(socket), 0, AF_PACKET},
		{SCMP_SYS(getsockopt), CONFINE_ANY, 0},
		{SCMP_SYS(setsockopt), CONFINE_ANY, 0},
		{SCMP_SYS(bind), CONFINE_ANY, 0},
		{SCMP_SYS(listen), CONFINE_ANY, 0},
	};
	const struct confine_files files = {.file = tun_device, .bind_port = AIRLOCK_TPROXY_PORT};

	if (chdir(tun_folder) < 0 || chroot(".") < 0 || chdir("/") < 0)
		return missing_tun(errno, e);
	if (access(tun_device, F_OK) < 0)
		return missing_tun(errno, e);
	if (confine_privileges(CONFINE_CAPABILITY(CAP_NET_ADMIN) | CONFINE_CAPABILITY(CAP_NET_RAW),
			       e) < 0 ||
	    confine_files(&files, e) < 0)
		return -1;
	return confine_calls(calls, sg_array_len(calls), e);
}

static int detach(struct keeper *k, const struct airlock_config *c, pid_t parent, struct err *e)
{
	const int keep[] = {k->control, c->netns};
	size_t n = is_placed(k) ? 2 : 1;

	if (confine_detach("sandgate-keeper", parent, keep, n, e) < 0)
		return -1;
	k->control = CONFINE_KEPT_FD;
	k->netns = n == 2 ? CONFINE_KEPT_FD + 1 : -1;
	return 0;
}

static int start_side(struct keeper *k, struct err *e)
{
	return keeper_helper_start_side(&k->side, &k->plan, k->netns, e);
}

/*
 * The placer is forked before the airlock's user namespace is entered, the side after it, a tap's
 * door in the airlock.
 */
static int enter_namespaces(struct keeper *k, struct err *e)
{
	enum airlock_link link = k->plan.link;

	if (is_placed(k) && (userns_enter_owner(k->netns, e) < 0 || start_side(k, e) < 0))
		return -1;
	if (userns_enter(0, 0, e) < 0 || (link == AIRLOCK_OWN && start_side(k, e) < 0) ||
	    enter_airlock(k, e) < 0)
		return -1;
	if (link == AIRLOCK_HANDED && k->plan.door)
		return keeper_helper_start_door(&k->door, &k->plan, e);
	return link == AIRLOCK_TAP ? start_side(k, e) : 0;
}

static int make_airlock(struct keeper *k, const struct airlock_config *c, pid_t parent,
			struct err *e)
{
	if (airlock_plan_make(c, &k->plan, e) < 0 || detach(k, c, parent, e) < 0 ||
	    enter_namespaces(k, e) < 0 || make_link(k, e) < 0 ||
	    keeper_helper_start_loader(&k->loader, &k->plan, e) < 0 || configure_link(k, e) < 0 ||
	    finish_helpers(k, e) < 0 || confine(k, e) < 0)
		return -1;
	return gate_side_make(&k->route, &k->plan, tun_device, &k->ready, e);
}

static void answer(struct keeper *k, struct airlock_message *m)
{
	int error = airlock_message_send(k->control, m);

	airlock_message_close_fds(m);
	if (error < 0)
		_exit(1);
}

/* A gate that hangs on to the old tun0 loses it; one that hangs on to the listeners is an error. */
static void renew(struct keeper *k)
{
	struct airlock_message m;
	int error;

	airlock_message_init(&m, MESSAGE_RENEWED);
	link_delete(&k->route, LINK_INDEX_TUN0);
	error = nl_run(&k->route);
	if (error < 0 && error != -ENODEV) {
		m.kind = MESSAGE_FAILED;
		missing_link(k->route.failed, -error, &m.err);
	} else if (gate_side_make(&k->route, &k->plan, tun_device, &m, &m.err) < 0) {
		airlock_message_close_fds(&m);
		m.kind = MESSAGE_FAILED;
	}
	answer(k, &m);
}

static void count(struct keeper *k)
{
	struct airlock_message m;
	int error;

	airlock_message_init(&m, MESSAGE_COUNTERS);
	error = rules_read_counters(&k->netfilter, &m.counters);
	if (error < 0) {
		m.kind = MESSAGE_FAILED;
		err_set(&m.err, "cannot read the airlock's counters: %s", strerror(-error));
	}
	answer(k, &m);
}

static void capture(struct keeper *k)
{
	struct airlock_message m;

	airlock_message_init(&m, MESSAGE_CAPTURED);
	if (open_capture(k, &m, &m.err) < 0) {
		airlock_message_close_fds(&m);
		m.kind = MESSAGE_FAILED;
	}
	answer(k, &m);
}

/*
 * A namespace that outlives the airlock is without the link at once: the kernel takes down that of a
 * namespace without holders when it finds the time.
 */
static void leave(struct keeper *k) sg_noreturn;
static void leave(struct keeper *k)
{
	if (is_placed(k)) {
		link_delete(&k->route, k->plan.link0_index);
		if (k->door0)
			link_delete(&k->route, k->door0);
		_exit(nl_run(&k->route) < 0);
	}
	_exit(0);
}

static void serve(struct keeper *k) sg_noreturn;
static void serve(struct keeper *k)
{
	struct airlock_message m;

	for (;;) {
		if (airlock_message_receive(k->control, &m, -1) < 0)
			leave(k);
		airlock_message_close_fds(&m);
		if (m.kind == MESSAGE_RENEW)
			renew(k);
		else if (m.kind == MESSAGE_COUNT)
			count(k);
		else if (m.kind == MESSAGE_CAPTURE)
			capture(k);
		else
			_exit(1);
	}
}

void keeper_main(const struct airlock_config *c, int control, pid_t parent)
{
	static struct keeper k;
	struct err e = {""};

	k.control = control;
	k.route.fd = -1;
	k.netfilter.fd = -1;
	airlock_message_init(&k.ready, MESSAGE_READY);
	if (make_airlock(&k, c, parent, &e) < 0) {
		struct airlock_message failed;

		airlock_message_init(&failed, MESSAGE_FAILED);
		failed.err = e;
		_exit(airlock_message_send(k.control, &failed) < 0 ? 2 : 1);
	}
	answer(&k, &k.ready);
	serve(&k);
}
