/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/isolate.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "gate/broker_door.h"
#include "gate/datagram_flow.h"
#include "gate/dhcp_server.h"
#include "gate/flow.h"
#include "gate/pipes.h"
#include "gate/publish.h"
#include "gate/resolver.h"
#include "gate/router_advert.h"
#include "gate/tun.h"
#include "gate/verdicts.h"
#include "io/loop.h"
#include "io/message_socket.h"
#include "io/passed_fd.h"
#include "io/requests.h"
#include "io/sealed_memory.h"

/* linux/landlock.h of Debian 12 ends before these (ABI 4 and 6; include/uapi/linux/landlock.h). */
enum { LANDLOCK_ABI_SCOPED = 6, SCOPE_ABSTRACT_UNIX = 1, SCOPE_SIGNAL = 2 };

struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/* What the allocator, the clock and the end of the process need. */
static const int base_syscalls[] = {
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(brk),
	SCMP_SYS(munmap),	 SCMP_SYS(mremap),	 SCMP_SYS(madvise),
	SCMP_SYS(getrandom),	 SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(exit_group),	 SCMP_SYS(exit),	 SCMP_SYS(futex),
	SCMP_SYS(getpid),	 SCMP_SYS(write),	 -1,
};

/* The sanitizers' runtime, in builds with them only. */
static const int sanitizer_syscalls[] = {
#if defined(__SANITIZE_ADDRESS__)
	SCMP_SYS(sigaltstack),
	SCMP_SYS(gettid),
	SCMP_SYS(readlink),
	SCMP_SYS(openat),
	SCMP_SYS(read),
	SCMP_SYS(close),
	SCMP_SYS(mprotect),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sched_yield),
	SCMP_SYS(tgkill),
	SCMP_SYS(prctl),
	SCMP_SYS(clone),
	SCMP_SYS(wait4),
	SCMP_SYS(ptrace),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),
	SCMP_SYS(ioctl),
	SCMP_SYS(getrlimit),
	SCMP_SYS(prlimit64),
#endif
	-1,
};

static const int *const allowed[] = {
	base_syscalls,		loop_syscalls,		 sanitizer_syscalls,   tun_syscalls,
	pipes_syscalls,		flow_syscalls,		 handshake_syscalls,   dial_syscalls,
	relay_syscalls,		datagrams_syscalls,	 datagram_io_syscalls, requests_syscalls,
	sealed_memory_syscalls, passed_fd_syscalls,	 publish_syscalls,     resolver_syscalls,
	broker_door_syscalls,	message_socket_syscalls, verdicts_syscalls,    dhcp_server_syscalls,
	router_advert_syscalls,
};

extern char **environ;

/* What the person's shell held is not the gate's to know. */
static void wipe_environment(void)
{
	for (char **v = environ; v && *v; v++)
		explicit_bzero(*v, strlen(*v));
	clearenv();
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int close_others(const int *keep, size_t n)
{
	int sorted[512];
	unsigned from = 3;

	if (n > sg_array_len(sorted))
		return -EINVAL;
	memcpy(sorted, keep, n * sizeof(int));
	qsort(sorted, n, sizeof(int), compare_ints);
	for (size_t i = 0; i < n; i++) {
		if (sorted[i] < (int)from)
			continue;
		if ((unsigned)sorted[i] > from &&
		    syscall(SYS_close_range, from, sorted[i] - 1u, 0) != 0)
			return -errno;
		from = (unsigned)sorted[i] + 1;
	}
	return syscall(SYS_close_range, from, ~0u, 0) == 0 ? 0 : -errno;
}

int isolate_early(const int *keep, size_t n, struct err *e)
{
	int r = close_others(keep, n);

	if (r != 0)
		return err_set(e, "cannot confine the gate: close_range: %s", strerror(-r));
	wipe_environment();
	capng_clear(CAPNG_SELECT_ALL);
	/* The bounding set can only be dropped by who has CAP_SETPCAP; no_new_privs covers the
	 * rest. */
	capng_apply(CAPNG_SELECT_BOUNDS);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return err_set(e, "cannot confine the gate: its capabilities cannot be dropped");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_set(e, "cannot confine the gate: prctl: %s", strerror(errno));
	return 0;
}

/* A ruleset that handles everything this kernel knows and allows none of it. */
static int enter_landlock(void)
{
	struct ruleset_attr attr = {0};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	size_t size = sizeof(attr.handled_access_fs);
	int fd, r;

	if (abi < 1)
		return 0;
	/* One bit each: 13 of ABI 1, REFER of 2, TRUNCATE of 3, IOCTL_DEV of 5. */
	attr.handled_access_fs = (1u << (abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13)) - 1;
	if (abi >= LANDLOCK_ABI_SCOPED) {
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
		size = sizeof(attr);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return -errno;
	r = syscall(SYS_landlock_restrict_self, fd, 0) == 0 ? 0 : -errno;
	close(fd);
	return r;
}

/* Calls whose arguments decide: sockets are INET, no memory is executable, fcntl sets no owner. */
static const struct {
	int call;
	unsigned arg;
	scmp_datum_t mask, value;
} conditional[] = {
	{SCMP_SYS(socket), 0, UINT32_MAX, AF_INET},
	{SCMP_SYS(socket), 0, UINT32_MAX, AF_INET6},
	{SCMP_SYS(mmap), 2, PROT_EXEC, 0},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFD},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFL},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETPIPE_SZ},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_GET_SEALS},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC},
};

static bool is_conditional(int call)
{
	for (size_t i = 0; i < sg_array_len(conditional); i++)
		if (conditional[i].call == call)
			return true;
	return false;
}

static int add_conditional_rules(scmp_filter_ctx f)
{
	int r = 0;

	for (size_t i = 0; i < sg_array_len(conditional) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, conditional[i].call, 1,
				     SCMP_CMP(conditional[i].arg, SCMP_CMP_MASKED_EQ,
					      conditional[i].mask, conditional[i].value));
	return r;
}

static int load_filter(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = f ? add_conditional_rules(f) : -ENOMEM;

	for (size_t i = 0; i < sg_array_len(allowed) && r == 0; i++) {
		for (const int *call = allowed[i]; *call != -1 && r == 0; call++)
			if (!is_conditional(*call))
				r = seccomp_rule_add(f, SCMP_ACT_ALLOW, *call, 0);
	}
	if (r == 0)
		seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}

/*
 * The person's terminal is not the gate's either: what it could write there the person would read.
 * The sanitizers' report goes to standard error.
 */
static int leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int last = sg_array_len(sanitizer_syscalls) > 1 ? STDOUT_FILENO : STDERR_FILENO;
	int r = null < 0 ? -errno : 0;

	for (int fd = 0; fd <= last && r == 0; fd++)
		if (dup2(null, fd) < 0)
			r = -errno;
	if (null > STDERR_FILENO)
		close(null);
	return r;
}

int isolate_fully(struct err *e)
{
	int r = leave_terminal();

	if (r != 0)
		return err_set(e, "cannot confine the gate: /dev/null: %s", strerror(-r));
	r = enter_landlock();

	if (r != 0)
		return err_set(e, "cannot confine the gate: Landlock: %s", strerror(-r));
	r = load_filter();
	if (r != 0)
		return err_set(
			e,
			"cannot confine the gate: seccomp: %s; the kernel needs CONFIG_SECCOMP_FILTER",
			strerror(-r));
	return 0;
}
