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
 * Stage 6 comes after 5, so that what a restarted gate will need is tried at every start.
 *
 * The keeper keeps no copy of what it hands over: when the gate dies, tun0 goes and all is
 * refused. It cannot read what the sandbox sends: after stage 5 it may receive only from its
 * control socket and two netlink sockets, and neither read nor accept at all. When it ends on
 * any way before READY, no namespace has another holder, and all that it made is gone.
 */
#include "airlock/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "airlock/layout.h"
#include "airlock/link.h"
#include "airlock/listen.h"
#include "airlock/airlock_message.h"
#include "airlock/missing.h"
#include "airlock/rules.h"
#include "airlock/sandbox_side.h"
#include "airlock/sysctl.h"
#include "airlock/tun.h"
#include "airlock/userns.h"
#include "confine/confine.h"

/* The folder that becomes the keeper's root: it holds the one file that it opens again. */
static const char tun_folder[] = "/dev/net";
static const char tun_device[] = "/tun";

enum { HELPER_TIMEOUT_MS = 5000, METRIC_LAST = 0x7fffffff };
enum { PREF_GATE = 10, PREF_SOCKET = 11, PREF_STRAY = 12, PREF_LOCAL = 100 };

/* A child that works at the same time and says when it is done. */
struct helper {
	pid_t pid;
	int sock;
};

struct keeper {
	const struct airlock_config *config;
	int control;		      /* to the supervisor */
	struct helper side;	      /* makes the sandbox's namespaces and its end of the link */
	struct helper loader;	      /* loads the rules */
	bool v6;		      /* the kernel has IPv6 */
	struct airlock_message ready; /* collects what the supervisor gets */
	struct nl route, netfilter;
};

static bool kernel_has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	close(fd);
	return true;
}

/* Returns in the child as well, with h->pid 0 and its end of the socket pair. */
static int start_helper(struct helper *h, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "cannot make a socket pair: %s", err_why(errno));
	h->pid = fork();
	h->sock = pair[h->pid == 0];
	close(pair[h->pid != 0]);
	if (h->pid < 0)
		return err_set(e, "cannot fork: %s", err_why(errno));
	return 0;
}

/* The helper's next message, which must be of this kind. */
static int await_helper(struct helper *h, enum airlock_message_kind kind, struct airlock_message *m,
			struct err *e)
{
	int error = airlock_message_receive(h->sock, m, HELPER_TIMEOUT_MS);

	if (error < 0)
		return err_set(e, "a helper of the airlock's keeper gave no answer: %s",
			       strerror(-error));
	if (m->kind == (uint32_t)kind)
		return 0;
	*e = m->err;
	airlock_message_close_fds(m);
	return -1;
}

static int start_side(struct keeper *k, struct err *e)
{
	pid_t self = getpid();

	if (start_helper(&k->side, e) < 0)
		return -1;
	if (k->side.pid == 0)
		sandbox_side_main(k->config, k->v6, k->side.sock, self);
	return 0;
}

/* No confinement: the loader reads nothing but the rules, and ends within milliseconds. */
static void loader_main(struct keeper *k, pid_t parent) sg_noreturn;
static void loader_main(struct keeper *k, pid_t parent)
{
	struct airlock_message m;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	airlock_message_init(&m, MESSAGE_RULES_LOADED);
	if (rules_load(k->v6, &m.err) < 0)
		m.kind = MESSAGE_FAILED;
	_exit(airlock_message_send(k->loader.sock, &m) < 0);
}

static int start_loader(struct keeper *k, struct err *e)
{
	pid_t self = getpid();

	if (start_helper(&k->loader, e) < 0)
		return -1;
	if (k->loader.pid == 0)
		loader_main(k, self);
	return 0;
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
	return sysctl_set_airlock(k->v6, e);
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
	struct airlock_message m;

	link_add_veth(&k->route, sandbox_netns, AIRLOCK_MTU);
	if (run_links(k, e) < 0)
		return -1;
	airlock_message_init(&m, MESSAGE_LINK_IS_HERE);
	/* A side that takes no message has ended, and its last message says why. */
	return airlock_message_send(k->side.sock, &m) < 0
		       ? await_helper(&k->side, MESSAGE_SIDE_READY, &m, e)
		       : 0;
}

static int make_link(struct keeper *k, struct err *e)
{
	struct airlock_message m;
	int r;

	if (await_helper(&k->side, MESSAGE_NAMESPACES, &m, e) < 0)
		return -1;
	r = hand_on_namespaces(k, &m, e);
	if (r == 0)
		r = add_link(k, m.fds[SLOT_NETNS], e);
	airlock_message_close_fds(&m);
	return r;
}

/* To a socket here whatever the address; and where the gate's packets go when there is no tun0. */
static void queue_defaults(struct nl *n, const struct addr *family)
{
	link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_SOCKET,
					       .type = RTN_LOCAL,
					       .index = LINK_INDEX_LO,
					       .dst = family});
	link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_GATE,
					       .type = RTN_UNICAST,
					       .metric = METRIC_LAST,
					       .index = LINK_INDEX_LINK0,
					       .dst = family});
}

/* Marks come before the airlock's own addresses: what is sent to the gate's goes to tun0 too. */
static void queue_rules(struct nl *n, uint8_t family)
{
	link_add_rule(n, family, PREF_GATE, AIRLOCK_MARK_GATE, AIRLOCK_MARK_GATE);
	link_add_rule(n, family, PREF_SOCKET, AIRLOCK_MARK_SOCKET, AIRLOCK_MARK_SOCKET);
	link_add_rule(n, family, PREF_STRAY, AIRLOCK_MARK_STRAY, AIRLOCK_MARK_SOCKET);
	link_add_rule(n, family, PREF_LOCAL, 0, RT_TABLE_LOCAL);
	link_delete_rule(n, family, 0, RT_TABLE_LOCAL);
}

static void queue_family(struct nl *n, const char *gate_text, uint8_t bits,
			 const char *sandbox_text)
{
	struct addr gate = link_known_address(gate_text),
		    sandbox = link_known_address(sandbox_text);

	link_add_address(n, LINK_INDEX_LINK0, &gate, bits);
	link_add_neighbour(n, LINK_INDEX_LINK0, &sandbox, true);
	link_add_route(n, &(struct link_route){.table = RT_TABLE_MAIN,
					       .type = RTN_UNICAST,
					       .bits = addr_is_v4(&sandbox) ? 32 : 128,
					       .index = LINK_INDEX_LINK0,
					       .dst = &sandbox});
	queue_defaults(n, &gate);
	queue_rules(n, addr_is_v4(&gate) ? AF_INET : AF_INET6);
}

static int configure_link(struct keeper *k, struct err *e)
{
	link_up(&k->route, LINK_INDEX_LO);
	link_up(&k->route, LINK_INDEX_LINK0);
	queue_family(&k->route, AIRLOCK_GATE_V4, AIRLOCK_V4_BITS, AIRLOCK_SANDBOX_V4);
	if (k->v6)
		queue_family(&k->route, AIRLOCK_GATE_V6, AIRLOCK_V6_BITS, AIRLOCK_SANDBOX_V6);
	return run_links(k, e);
}

/* Both helpers are done, and gone unless one is the door; packets pass the link both ways. */
static int finish_helpers(struct keeper *k, struct err *e)
{
	struct airlock_message m;
	int error;

	if (await_helper(&k->side, MESSAGE_SIDE_READY, &m, e) < 0)
		return -1;
	k->ready.fds[SLOT_DOOR] = m.fds[SLOT_DOOR];
	if (await_helper(&k->loader, MESSAGE_RULES_LOADED, &m, e) < 0)
		return -1;
	close(k->side.sock);
	close(k->loader.sock);
	waitpid(k->loader.pid, NULL, 0);
	if (!k->config->door)
		waitpid(k->side.pid, NULL, 0);
	error = link_await_carrier(&k->route, LINK_INDEX_LINK0);
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
		{SCMP_SYS(setsockopt), CONFINE_ANY, 0},
		{SCMP_SYS(bind), CONFINE_ANY, 0},
		{SCMP_SYS(listen), CONFINE_ANY, 0},
	};
	const struct confine_files files = {.file = tun_device, .bind_port = AIRLOCK_TPROXY_PORT};

	if (chdir(tun_folder) < 0 || chroot(".") < 0 || chdir("/") < 0)
		return missing_tun(errno, e);
	if (access(tun_device, F_OK) < 0)
		return missing_tun(errno, e);
	if (confine_privileges(true, e) < 0 || confine_files(&files, e) < 0)
		return -1;
	return confine_calls(calls, sg_array_len(calls), e);
}

static void queue_gate_route(struct nl *n, const char *family_text)
{
	struct addr family = link_known_address(family_text);

	link_add_route(n, &(struct link_route){.table = AIRLOCK_MARK_GATE,
					       .type = RTN_UNICAST,
					       .index = LINK_INDEX_TUN0,
					       .dst = &family});
}

static int open_listeners(struct keeper *k, struct airlock_message *m, struct err *e)
{
	m->fds[SLOT_LISTEN_V4] = listen_open(AF_INET);
	if (m->fds[SLOT_LISTEN_V4] < 0)
		return err_set(e, "cannot listen in the airlock: %s",
			       strerror(-m->fds[SLOT_LISTEN_V4]));
	if (!k->v6)
		return 0;
	m->fds[SLOT_LISTEN_V6] = listen_open(AF_INET6);
	if (m->fds[SLOT_LISTEN_V6] < 0)
		return err_set(e, "cannot listen in the airlock by IPv6: %s",
			       strerror(-m->fds[SLOT_LISTEN_V6]));
	return 0;
}

/* Makes tun0, what leads to it, and the listeners, into the slots of m. */
static int make_gate_side(struct keeper *k, struct airlock_message *m, struct err *e)
{
	m->fds[SLOT_TUN] = tun_open(tun_device);
	if (m->fds[SLOT_TUN] < 0)
		return missing_tun(-m->fds[SLOT_TUN], e);
	link_up_tun(&k->route, AIRLOCK_TUN_MTU, AIRLOCK_TUN_QUEUE);
	queue_gate_route(&k->route, AIRLOCK_GATE_V4);
	if (k->v6)
		queue_gate_route(&k->route, AIRLOCK_GATE_V6);
	if (run_links(k, e) < 0)
		return -1;
	return open_listeners(k, m, e);
}

static int make_airlock(struct keeper *k, pid_t parent, struct err *e)
{
	if (confine_detach("sandgate-keeper", parent, &k->control, 1, e) < 0)
		return -1;
	k->control = CONFINE_KEPT_FD;
	k->v6 = kernel_has_ipv6();
	if (userns_enter(0, 0, e) < 0 || start_side(k, e) < 0 || enter_airlock(k, e) < 0 ||
	    make_link(k, e) < 0 || start_loader(k, e) < 0 || configure_link(k, e) < 0 ||
	    finish_helpers(k, e) < 0 || confine(k, e) < 0)
		return -1;
	return make_gate_side(k, &k->ready, e);
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
	} else if (make_gate_side(k, &m, &m.err) < 0) {
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

static void serve(struct keeper *k) sg_noreturn;
static void serve(struct keeper *k)
{
	struct airlock_message m;

	for (;;) {
		if (airlock_message_receive(k->control, &m, -1) < 0)
			_exit(0);
		airlock_message_close_fds(&m);
		if (m.kind == MESSAGE_RENEW)
			renew(k);
		else if (m.kind == MESSAGE_COUNT)
			count(k);
		else
			_exit(1);
	}
}

void keeper_main(const struct airlock_config *c, int control, pid_t parent)
{
	static struct keeper k;
	struct err e = {""};

	k.config = c;
	k.control = control;
	k.route.fd = -1;
	k.netfilter.fd = -1;
	airlock_message_init(&k.ready, MESSAGE_READY);
	if (make_airlock(&k, parent, &e) < 0) {
		struct airlock_message failed;

		airlock_message_init(&failed, MESSAGE_FAILED);
		failed.err = e;
		_exit(airlock_message_send(k.control, &failed) < 0 ? 2 : 1);
	}
	answer(&k, &k.ready);
	serve(&k);
}
