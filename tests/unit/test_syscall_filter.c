/* SPDX-License-Identifier: Apache-2.0 */
/* Each call is made in a child that has loaded the filter as the engine does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/engine/syscall_filter.h"

enum { CHILD_FAILED = 99, HIGH = 1 };

/* A register of 64 bits whose low half is v: the kernel looks at that half only. */
#define high_bits_and(v) ((long)((uint64_t)HIGH << 32 | (uint64_t)(v)))

static void load(int fd)
{
	struct stat st;
	struct sock_fprog p;

	if (fstat(fd, &st) < 0)
		_exit(CHILD_FAILED);
	p.len = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
	p.filter = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p.filter == MAP_FAILED || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) < 0)
		_exit(CHILD_FAILED);
}

static void load_both(void)
{
	struct syscall_filter f;
	struct err e;

	if (syscall_filter_make(&f, &e) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(CHILD_FAILED);
	load(f.calls);
	load(f.arguments);
}

struct call {
	long nr, a, b, c;
	int error; /* 0: it is let through, whatever it says then */
};

typedef long make_call(const struct call *c);

static long native_call(const struct call *c)
{
	long r = syscall(c->nr, c->a, c->b, c->c, 0, 0, 0);

	return r < 0 ? -errno : r;
}

/* The errno of the call in a child with the filter, 0 when it succeeded. */
static int try_filtered(const struct call *c, make_call *make)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		long r;

		load_both();
		r = make(c);
		_exit(r < 0 ? (int)-r : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), CHILD_FAILED);
	return WEXITSTATUS(status);
}

static void assert_calls(const struct call *calls, size_t n, make_call *make)
{
	for (size_t i = 0; i < n; i++) {
		int error = try_filtered(&calls[i], make);

		if (error != calls[i].error)
			fail_msg("call %ld(%ld, %ld, %ld): %s, not %s", calls[i].nr, calls[i].a,
				 calls[i].b, calls[i].c, strerror(error), strerror(calls[i].error));
	}
}

static void only_four_families_of_sockets(void **state)
{
	static const struct call calls[] = {
		{SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0},
		{SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0, 0},
		{SYS_socket, AF_INET, SOCK_STREAM, 0, 0},
		{SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP, 0},
		{SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_UDP, 0},
		{SYS_socket, AF_INET6, SOCK_STREAM, 0, 0},
		{SYS_socket, AF_INET6, SOCK_DGRAM, IPPROTO_UDP, 0},
		{SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0},
		{SYS_socket, AF_NETLINK, SOCK_DGRAM, 0, 0},
		{SYS_socket, high_bits_and(AF_INET), SOCK_STREAM, 0, 0},
		{SYS_socket, high_bits_and(AF_VSOCK), SOCK_STREAM, 0, EAFNOSUPPORT},
		{SYS_socket, -1, SOCK_STREAM, 0, EAFNOSUPPORT},
		{SYS_socket, 1000, SOCK_STREAM, 0, EAFNOSUPPORT},
		{SYS_socket, 1 << 30, SOCK_STREAM, 0, EAFNOSUPPORT},
	};

	assert_calls(calls, sg_array_len(calls), native_call);
	for (int family = 0; family < 64; family++) {
		struct call c = {SYS_socket, family, SOCK_DGRAM, 0, EAFNOSUPPORT};

		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
		    family != AF_NETLINK)
			assert_calls(&c, 1, native_call);
	}
}

static void no_raw_sockets_and_no_other_protocols(void **state)
{
	static const struct call calls[] = {
		{SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP, EPERM},
		{SYS_socket, AF_INET, SOCK_RAW, IPPROTO_RAW, EPROTONOSUPPORT},
		{SYS_socket, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6, EPERM},
		{SYS_socket, AF_INET, 10 /* SOCK_PACKET */, 0, EPERM},
		{SYS_socket, AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP, EPROTONOSUPPORT},
		{SYS_socket, AF_INET, high_bits_and(SOCK_RAW), IPPROTO_ICMP, EPERM},
		{SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP, EPROTONOSUPPORT},
		{SYS_socket, AF_INET6, SOCK_STREAM, IPPROTO_SCTP, EPROTONOSUPPORT},
		{SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, EPROTONOSUPPORT},
		{SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_DCCP, EPROTONOSUPPORT},
		{SYS_socket, AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */, EPROTONOSUPPORT},
		{SYS_socket, AF_INET, SOCK_STREAM, high_bits_and(IPPROTO_SCTP), EPROTONOSUPPORT},
		{SYS_socket, AF_NETLINK, SOCK_RAW, 4 /* NETLINK_SOCK_DIAG */, EPROTONOSUPPORT},
		{SYS_socket, AF_NETLINK, SOCK_RAW, 12 /* NETLINK_NETFILTER */, EPROTONOSUPPORT},
		{SYS_socket, AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */,
		 EPROTONOSUPPORT},
		{SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, EAFNOSUPPORT},
		{SYS_socketpair, AF_INET, SOCK_STREAM, 0, EAFNOSUPPORT},
		{SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, EFAULT},
	};

	assert_calls(calls, sg_array_len(calls), native_call);
}

static void calls_that_reach_further_are_refused(void **state)
{
	static const long refused[] = {
		SYS_io_uring_setup,
		SYS_io_uring_enter,
		SYS_io_uring_register,
		SYS_bpf,
		SYS_perf_event_open,
		SYS_userfaultfd,
		SYS_add_key,
		SYS_keyctl,
		SYS_request_key,
		SYS_kexec_load,
		SYS_kexec_file_load,
		SYS_init_module,
		SYS_finit_module,
		SYS_delete_module,
		SYS_swapon,
		SYS_swapoff,
		SYS_reboot,
		SYS_acct,
		SYS_open_by_handle_at,
		SYS_quotactl,
		SYS_syslog,
		SYS_fanotify_init,
		SYS_settimeofday,
		SYS_clock_settime,
	};

	for (size_t i = 0; i < sg_array_len(refused); i++) {
		struct call c = {refused[i], 0, 0, 0, EPERM};

		assert_calls(&c, 1, native_call);
	}
}

static void calls_that_nobody_knows_yet_are_not_there(void **state)
{
	for (long nr = 470; nr < 1100; nr += 37) {
		struct call c = {nr, 0, 0, 0, ENOSYS};

		assert_calls(&c, 1, native_call);
	}
}

static void the_terminal_takes_no_characters(void **state)
{
	static const struct call calls[] = {
		{SYS_ioctl, -1, TIOCSTI, 0, EPERM},
		{SYS_ioctl, -1, high_bits_and(TIOCSTI), 0, EPERM},
		{SYS_ioctl, -1, TIOCLINUX, 0, EPERM},
		{SYS_ioctl, -1, TIOCGWINSZ, 0, EBADF},
	};

	assert_calls(calls, sg_array_len(calls), native_call);
}

static void the_engines_own_process_is_not_traced(void **state)
{
	static const struct call calls[] = {
		{SYS_ptrace, 16 /* PTRACE_ATTACH */, 1, 0, EPERM},
		{SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, high_bits_and(1), 0, EPERM},
		{SYS_process_vm_readv, 1, 0, 0, EPERM},
		{SYS_ptrace, 0 /* PTRACE_TRACEME */, 0, 0, 0},
	};

	assert_calls(calls, sg_array_len(calls), native_call);
}

static void usual_calls_go_through(void **state)
{
	static const long usual[] = {SYS_getpid, SYS_getuid, SYS_sched_yield, SYS_umask,
				     SYS_getppid};

	for (size_t i = 0; i < sg_array_len(usual); i++) {
		struct call c = {usual[i], 0, 0, 0, 0};

		assert_calls(&c, 1, native_call);
	}
}

#if defined(__x86_64__)

/* sympozium-ai/celln#30: the 32-bit calls, which any program can make. */
static long compat_call(const struct call *c)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(c->nr), "b"(c->a), "c"(c->b), "d"(c->c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static bool has_compat(void)
{
	struct call getpid32 = {20, 0, 0, 0, 0};

	return compat_call(&getpid32) == getpid();
}

static void the_32_bit_calls_are_under_the_same_rules(void **state)
{
	static const struct call calls[] = {
		{20 /* getpid */, 0, 0, 0, 0},
		{359 /* socket */, AF_INET, SOCK_STREAM, 0, 0},
		{359, AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT},
		{359, AF_INET, SOCK_RAW, IPPROTO_ICMP, EPERM},
		{359, AF_INET, SOCK_STREAM, IPPROTO_SCTP, EPROTONOSUPPORT},
		{360 /* socketpair */, AF_TIPC, SOCK_STREAM, 0, EAFNOSUPPORT},
		{102 /* socketcall */, 2 /* bind */, 0, 0, EPERM},
		{102, 3 /* connect */, 0, 0, EPERM},
		{102, 9 /* send */, 0, 0, EPERM},
		{425 /* io_uring_setup */, 0, 0, 0, EPERM},
		{357 /* bpf */, 0, 0, 0, EPERM},
		{54 /* ioctl */, -1, TIOCSTI, 0, EPERM},
		{1000, 0, 0, 0, ENOSYS},
	};
	struct call make_socket = {102, 1 /* socket */, 0, 0, 0};

	if (!has_compat())
		skip();
	assert_calls(calls, sg_array_len(calls), compat_call);
	assert_int_not_equal(try_filtered(&make_socket, compat_call), 0);
}

static void the_x32_calls_are_not_there(void **state)
{
	static const struct call calls[] = {
		{0x40000000 + SYS_getpid, 0, 0, 0, ENOSYS},
		{0x40000000 + SYS_socket, AF_INET, SOCK_STREAM, 0, ENOSYS},
		{0x40000000 + SYS_socket, AF_VSOCK, SOCK_STREAM, 0, ENOSYS},
	};

	assert_calls(calls, sg_array_len(calls), native_call);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_four_families_of_sockets),
		cmocka_unit_test(no_raw_sockets_and_no_other_protocols),
		cmocka_unit_test(calls_that_reach_further_are_refused),
		cmocka_unit_test(calls_that_nobody_knows_yet_are_not_there),
		cmocka_unit_test(the_terminal_takes_no_characters),
		cmocka_unit_test(the_engines_own_process_is_not_traced),
		cmocka_unit_test(usual_calls_go_through),
#if defined(__x86_64__)
		cmocka_unit_test(the_32_bit_calls_are_under_the_same_rules),
		cmocka_unit_test(the_x32_calls_are_not_there),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
