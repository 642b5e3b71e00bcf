/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person is told when the machine lacks a part of what an airlock needs, and that nothing
 * is left behind then. Each part is taken away in the test's own process: a mount that
 * hides it, a limit of a user namespace, or a seccomp filter that answers as a kernel without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "airlock/airlock.h"
#include "airlock/missing.h"
#include "rig.h"
#include "toy_gate.h"

/* The airlock cannot be made, the message has both words, and nothing is left. */
static void check_refusal(const char *what, const char *fix)
{
	const struct airlock_config c = {.uid = 1234, .gid = 2345, .door = true};
	int before = rig_count_entries("/proc/self/fd");
	struct airlock a;
	struct err e = {""};

	CHECK(airlock_open(&c, &a, &e) == -1);
	if (!strstr(e.text, what) || !strstr(e.text, fix)) {
		fprintf(stderr, "neither \"%s\" nor \"%s\": %s\n", what, fix, e.text);
		_exit(1);
	}
	CHECK(strncmp(e.text, "airlock: ", 9) == 0);
	CHECK(a.keeper == -1 && a.control == -1 && a.gate.tun == -1);
	airlock_close(&a);
	CHECK(rig_count_entries("/proc/self/fd") == before);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* A user and mount namespace of the test's own, in which limits and mounts can be set. */
static void enter_own_userns(void)
{
	rig_enter_userns(CLONE_NEWNS);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

static void no_tun_folder(void)
{
	char null[32];

	enter_own_userns();
	snprintf(null, sizeof(null), "/proc/self/fd/%d", open("/dev/null", O_PATH));
	CHECK(mount("rig", "/dev", "tmpfs", 0, NULL) == 0);
	CHECK(mknod("/dev/null", S_IFREG | 0600, 0) == 0);
	CHECK(mount(null, "/dev/null", NULL, MS_BIND, NULL) == 0);
	check_refusal("no /dev/net/tun", "modprobe tun");
}

static void no_tun_device(void)
{
	enter_own_userns();
	CHECK(mount("rig", "/dev/net", "tmpfs", 0, NULL) == 0);
	check_refusal("no /dev/net/tun", "modprobe tun");
}

/* As on a machine whose device is root's only; needs root, to make one. */
static void tun_is_not_for_all(void)
{
	rig_own_tun(0600);
	rig_become_ordinary();
	check_refusal("may not be opened", "chmod 0666 /dev/net/tun");
}

static void no_user_namespaces(void)
{
	enter_own_userns();
	rig_write("/proc/sys/user/max_user_namespaces", "0");
	check_refusal("no more user namespaces", "user.max_user_namespaces");
}

static void one_user_namespace(void)
{
	enter_own_userns();
	rig_write("/proc/sys/user/max_user_namespaces", "1");
	check_refusal("no more user namespaces", "user.max_user_namespaces");
}

static void no_network_namespaces(void)
{
	enter_own_userns();
	rig_write("/proc/sys/user/max_net_namespaces", "0");
	check_refusal("no more network namespaces", "user.max_net_namespaces");
}

static void one_network_namespace(void)
{
	enter_own_userns();
	rig_write("/proc/sys/user/max_net_namespaces", "1");
	check_refusal("no more network namespaces", "user.max_net_namespaces");
}

/* From here on socket(family, …, protocol) fails with this errno; protocol -1: any. */
static void without_sockets(int family, int protocol, int error)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	struct scmp_arg_cmp args[2] = {
		{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)family},
		{.arg = 2, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)protocol},
	};

	CHECK(f && seccomp_rule_add_array(f, SCMP_ACT_ERRNO((unsigned)error), SCMP_SYS(socket),
					  protocol < 0 ? 1 : 2, args) == 0);
	CHECK(seccomp_load(f) == 0);
	seccomp_release(f);
}

static void no_netfilter(void)
{
	without_sockets(AF_NETLINK, NETLINK_NETFILTER, EPROTONOSUPPORT);
	check_refusal("netfilter netlink", "modprobe -a nfnetlink nf_tables");
}

static void no_route_netlink(void)
{
	without_sockets(AF_NETLINK, NETLINK_ROUTE, EPROTONOSUPPORT);
	check_refusal("route netlink", "");
}

static void call_fails(int number, int error)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	CHECK(f && seccomp_rule_add(f, SCMP_ACT_ERRNO((unsigned)error), number, 0) == 0);
	CHECK(seccomp_load(f) == 0);
	seccomp_release(f);
}

static void container_forbids_unshare(void)
{
	call_fails(SCMP_SYS(unshare), EPERM);
	check_refusal("user namespace", "unshare");
}

static void no_chroot(void)
{
	call_fails(SCMP_SYS(chroot), EPERM);
	check_refusal("/dev/net/tun", "");
}

static void proc_sys_is_read_only(void)
{
	enter_own_userns();
	CHECK(mount("/proc/sys", "/proc/sys", NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
	check_refusal("/proc/sys is mounted read-only", "");
}

static void landlock_is_optional(void)
{
	const struct airlock_config c = {.uid = 1234, .gid = 2345, .door = true};
	struct airlock a;
	struct err e = {""};

	call_fails(SCMP_SYS(landlock_create_ruleset), ENOSYS);
	CHECK(airlock_open(&c, &a, &e) == 0);
	airlock_close(&a);
}

static struct airlock lock;

static void inside_without_ipv6(void)
{
	int fd;

	CHECK(setns(lock.sandbox_userns, CLONE_NEWUSER) == 0);
	CHECK(setns(lock.sandbox_netns, CLONE_NEWNET) == 0);
	fd = rig_connect("93.184.216.34", 443);
	CHECK(fd >= 0 && rig_echoes(fd, 100));
}

/* As a kernel that was started with ipv6.disable=1 (gh-aw-firewall#2139). */
static void no_ipv6(void)
{
	const struct airlock_config c = {.uid = 1234, .gid = 2345};
	struct err e = {""};

	without_sockets(AF_INET6, -1, EAFNOSUPPORT);
	CHECK(airlock_open(&c, &lock, &e) == 0);
	CHECK(lock.gate.tun >= 0 && lock.gate.listen_v4 >= 0 && lock.gate.listen_v6 == -1);
	toy_gate_start(&lock.gate, -1);
	CHECK(rig_run(inside_without_ipv6) == 0);
	airlock_close(&lock);
}

/* The causes that this machine cannot show. */
static void texts(void **state)
{
	struct missing_facts f = {-1, -1};
	struct err e;

	f.unprivileged_userns_clone = 0;
	assert_int_equal(missing_userns(&f, EPERM, &e), -1);
	assert_non_null(strstr(e.text, "sysctl -w kernel.unprivileged_userns_clone=1"));
	f = (struct missing_facts){-1, 1};
	missing_netns(&f, EPERM, &e);
	assert_non_null(strstr(e.text, "apparmor_restrict_unprivileged_userns=0"));
	f = (struct missing_facts){-1, -1};
	missing_userns(&f, EPERM, &e);
	assert_non_null(strstr(e.text, "in a chroot there are none: enter the folder with"));
	missing_userns(&f, EINVAL, &e);
	assert_non_null(strstr(e.text, "CONFIG_USER_NS"));
	missing_netns(&f, EINVAL, &e);
	assert_non_null(strstr(e.text, "CONFIG_NET_NS"));
	missing_link("make a veth pair", EOPNOTSUPP, &e);
	assert_non_null(strstr(e.text, "modprobe veth"));
	missing_link("set a policy routing rule", EOPNOTSUPP, &e);
	assert_non_null(strstr(e.text, "CONFIG_IP_MULTIPLE_TABLES"));
	missing_tun(EPERM, &e);
	assert_non_null(strstr(e.text, "c 10:200"));
}

/* Run as whoever runs the tests: most of them make a user namespace of their own. */
static const struct {
	const char *name;
	rig_body *body;
	bool needs_root;
} parts[] = {
	{"no_tun_folder", no_tun_folder, false},
	{"no_tun_device", no_tun_device, false},
	{"tun_is_not_for_all", tun_is_not_for_all, true},
	{"no_user_namespaces", no_user_namespaces, false},
	{"one_user_namespace", one_user_namespace, false},
	{"no_network_namespaces", no_network_namespaces, false},
	{"one_network_namespace", one_network_namespace, false},
	{"no_netfilter", no_netfilter, false},
	{"no_route_netlink", no_route_netlink, false},
	{"container_forbids_unshare", container_forbids_unshare, false},
	{"no_chroot", no_chroot, false},
	{"proc_sys_is_read_only", proc_sys_is_read_only, false},
	{"landlock_is_optional", landlock_is_optional, false},
	{"no_ipv6", no_ipv6, false},
};

static void run_part(void **state)
{
	size_t i = *(const size_t *)*state;

	if (parts[i].needs_root && geteuid() != 0)
		skip();
	assert_int_equal(rig_run(parts[i].body), 0);
}

int main(void)
{
	struct CMUnitTest tests[sg_array_len(parts) + 1] = {cmocka_unit_test(texts)};
	size_t numbers[sg_array_len(parts)];

	for (size_t i = 0; i < sg_array_len(parts); i++) {
		numbers[i] = i;
		tests[i + 1] = (struct CMUnitTest){
			.name = parts[i].name, .test_func = run_part, .initial_state = &numbers[i]};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
