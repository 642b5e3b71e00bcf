/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall_filter_rules: writes the BPF of syscall_filter.h as C, when sandgate is built: libseccomp
 * takes 20 ms for it, more than all the rest of a start.
 *
 * Usage: syscall_filter_rules ARCH > syscall_filter_image.h, where ARCH is Meson's cpu_family.
 */

#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/compiler.h"

enum { CALL_NUMBERS = 1024 };

#define LOW_32 UINT64_C(0xffffffff)

struct machine {
	const char *cpu_family;
	uint32_t arch;
	uint32_t
		compat; /* the other kind of call that a 64-bit kernel takes from a process; or 0 */
};

static const struct machine machines[] = {
	{"x86_64", SCMP_ARCH_X86_64, SCMP_ARCH_X86},
	{"aarch64", SCMP_ARCH_AARCH64, SCMP_ARCH_ARM},
};

/* The numbers of 32-bit ARM that lie apart; a program cannot run there without them. */
static const char *const far_calls[] = {"breakpoint", "cacheflush", "set_tls",
					"get_tls",    "usr26",	    "usr32"};

/*
 * Refused whole. Sockets by another way (io_uring, socketcall), code for the kernel, what looks
 * into other programs or past the name spaces, the host's clock, swap, keys and power.
 */
static const char *const refused_calls[] = {
	"_sysctl",
	"acct",
	"add_key",
	"adjtimex",
	"bpf",
	"clock_adjtime",
	"clock_adjtime64",
	"clock_settime",
	"clock_settime64",
	"create_module",
	"delete_module",
	"fanotify_init",
	"finit_module",
	"get_kernel_syms",
	"init_module",
	"io_uring_enter",
	"io_uring_register",
	"io_uring_setup",
	"ioperm",
	"iopl",
	"kcmp",
	"kexec_file_load",
	"kexec_load",
	"keyctl",
	"lookup_dcookie",
	"nfsservctl",
	"open_by_handle_at",
	"pciconfig_iobase",
	"pciconfig_read",
	"pciconfig_write",
	"perf_event_open",
	"query_module",
	"quotactl",
	"quotactl_fd",
	"reboot",
	"request_key",
	"setdomainname",
	"sethostname",
	"settimeofday",
	"socketcall",
	"stime",
	"swapoff",
	"swapon",
	"syslog",
	"uselib",
	"userfaultfd",
	"vhangup",
	"vm86",
	"vm86old",
};

/* --- rules of the first program --- */

/* EEXIST: another arch had it already; EDOM: this arch has no such call. */
static int add_call(scmp_filter_ctx ctx, uint32_t action, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name), rc;

	if (nr == __NR_SCMP_ERROR)
		return 0;
	rc = seccomp_rule_add(ctx, action, nr, 0);
	return rc == -EEXIST || rc == -EDOM ? 0 : rc;
}

static bool is_refused(const char *name)
{
	for (size_t i = 0; i < sg_array_len(refused_calls); i++)
		if (strcmp(refused_calls[i], name) == 0)
			return true;
	return false;
}

static int allow_known(scmp_filter_ctx ctx, uint32_t arch)
{
	int rc = 0;

	for (int nr = 0; nr < CALL_NUMBERS && rc == 0; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);

		if (name && !is_refused(name))
			rc = add_call(ctx, SCMP_ACT_ALLOW, name);
		free(name);
	}
	return rc;
}

static int add_all_calls(scmp_filter_ctx ctx, const struct machine *m)
{
	int rc = 0;

	for (size_t i = 0; i < sg_array_len(refused_calls) && rc == 0; i++)
		rc = add_call(ctx, SCMP_ACT_ERRNO(EPERM), refused_calls[i]);
	if (rc == 0)
		rc = allow_known(ctx, m->arch);
	if (rc == 0 && m->compat)
		rc = allow_known(ctx, m->compat);
	for (size_t i = 0; i < sg_array_len(far_calls) && rc == 0; i++)
		rc = add_call(ctx, SCMP_ACT_ALLOW, far_calls[i]);
	return rc;
}

/* --- rules of the second program --- */

struct socket_rule {
	scmp_filter_ctx ctx;
	int call;
	int error;
	int family;	   /* -1: of every family */
	unsigned argument; /* which one is looked at */
};

static int refuse_masked(const struct socket_rule *r, uint64_t mask, uint64_t value)
{
	struct scmp_arg_cmp cmp[2] = {
		SCMP_CMP(r->argument, SCMP_CMP_MASKED_EQ, mask, value),
		SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_32, (uint64_t)r->family),
	};
	int rc = seccomp_rule_add_array(r->ctx, SCMP_ACT_ERRNO((uint32_t)r->error), r->call,
					r->family < 0 ? 1 : 2, cmp);

	return rc == -EEXIST || rc == -EDOM ? 0 : rc;
}

static bool has_one_under(const uint32_t *allowed, size_t n, uint32_t mask, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if ((allowed[i] & mask) == value)
			return true;
	return false;
}

/*
 * Refuses every value of the low 32 bits but the allowed ones. libseccomp has no "none of", so the
 * rest is cut into blocks of equal leading bits: a block without an allowed value is one rule, one
 * with an allowed value is halved.
 */
static int refuse_all_but(const struct socket_rule *r, const uint32_t *allowed, size_t n,
			  unsigned bits, uint32_t mask, uint32_t value)
{
	uint32_t bit;
	int rc;

	if (!has_one_under(allowed, n, mask, value))
		return refuse_masked(r, mask, value);
	if (!bits)
		return 0;
	bit = UINT32_C(1) << (bits - 1);
	rc = refuse_all_but(r, allowed, n, bits - 1, mask | bit, value);
	return rc ? rc : refuse_all_but(r, allowed, n, bits - 1, mask | bit, value | bit);
}

enum { SOCK_TYPE_BITS = 4, INT_BITS = 32 };

/* Datagrams with the ICMP protocols are ping sockets; they need no privilege and see echo only. */
static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
static const uint32_t pair_families[] = {AF_UNIX};
static const uint32_t inet_types[] = {SOCK_STREAM, SOCK_DGRAM};
static const uint32_t inet_protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP};
static const uint32_t inet6_protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6};
static const uint32_t netlink_protocols[] = {0 /* NETLINK_ROUTE */};

struct socket_table {
	const char *call;
	int error, family;
	unsigned argument, bits;
	const uint32_t *allowed;
	size_t n;
};

#define ROW(c, e, f, a, b, set)                                                         \
	{                                                                               \
		.call = (c), .error = (e), .family = (f), .argument = (a), .bits = (b), \
		.allowed = (set), .n = sg_array_len(set)                                \
	}

static const struct socket_table socket_rows[] = {
	ROW("socket", EAFNOSUPPORT, -1, 0, INT_BITS, families),
	ROW("socketpair", EAFNOSUPPORT, -1, 0, INT_BITS, pair_families),
	ROW("socket", EPERM, AF_INET, 1, SOCK_TYPE_BITS, inet_types),
	ROW("socket", EPERM, AF_INET6, 1, SOCK_TYPE_BITS, inet_types),
	ROW("socket", EPROTONOSUPPORT, AF_INET, 2, INT_BITS, inet_protocols),
	ROW("socket", EPROTONOSUPPORT, AF_INET6, 2, INT_BITS, inet6_protocols),
	ROW("socket", EPROTONOSUPPORT, AF_NETLINK, 2, INT_BITS, netlink_protocols),
};

struct argument_rule {
	const char *call;
	unsigned argument;
	uint32_t value;
};

/*
 * TIOCSTI and TIOCLINUX push characters into the terminal's input, which the person's shell would
 * run. Process 1 is the engine's own.
 */
static const struct argument_rule argument_rows[] = {
	{"ioctl", 1, TIOCSTI},	    {"ioctl", 1, TIOCLINUX},	 {"ptrace", 1, 1},
	{"process_vm_readv", 0, 1}, {"process_vm_writev", 0, 1},
};

static int refuse_argument(scmp_filter_ctx ctx, const struct argument_rule *r)
{
	struct scmp_arg_cmp cmp = SCMP_CMP(r->argument, SCMP_CMP_MASKED_EQ, LOW_32, r->value);
	int rc = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM),
					seccomp_syscall_resolve_name(r->call), 1, &cmp);

	return rc == -EEXIST ? 0 : rc;
}

static int add_sockets(scmp_filter_ctx ctx, const struct socket_table *rows, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct socket_table *t = &rows[i];
		struct socket_rule r = {
			.ctx = ctx,
			.call = seccomp_syscall_resolve_name(t->call),
			.error = t->error,
			.family = t->family,
			.argument = t->argument,
		};

		rc = refuse_all_but(&r, t->allowed, t->n, t->bits, 0, 0);
	}
	return rc;
}

static int add_arguments(scmp_filter_ctx ctx, const struct machine *m)
{
	int rc = add_sockets(ctx, socket_rows, sg_array_len(socket_rows));

	for (size_t i = 0; i < sg_array_len(argument_rows) && rc == 0; i++)
		rc = refuse_argument(ctx, &argument_rows[i]);
	return rc;
}

/* --- rules of the third program --- */

static const struct socket_table no_network_rows[] = {
	ROW("socket", EAFNOSUPPORT, -1, 0, INT_BITS, pair_families),
};

static int add_no_network(scmp_filter_ctx ctx, const struct machine *m)
{
	return add_sockets(ctx, no_network_rows, sg_array_len(no_network_rows));
}

/* --- all --- */

static scmp_filter_ctx filter_new(const struct machine *m, uint32_t default_action, int *rc)
{
	scmp_filter_ctx ctx = seccomp_init(default_action);

	*rc = ctx ? 0 : -ENOMEM;
	if (*rc == 0)
		*rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (*rc == 0)
		*rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (*rc == 0 && m->arch != seccomp_arch_native()) {
		*rc = seccomp_arch_add(ctx, m->arch);
		if (*rc == 0)
			*rc = seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
	}
	if (*rc == 0 && m->compat)
		*rc = seccomp_arch_add(ctx, m->compat);
	return ctx;
}

/* The BPF as an array of octets. */
static int print_bpf(scmp_filter_ctx ctx, const char *name)
{
	FILE *f = tmpfile();
	int rc = f ? seccomp_export_bpf(ctx, fileno(f)) : -errno, c;

	if (rc == 0) {
		rewind(f);
		printf("static const unsigned char syscall_filter_%s[] = {", name);
		for (size_t i = 0; (c = getc(f)) != EOF; i++)
			printf("%s%d,", i % 24 ? "" : "\n\t", c);
		printf("\n};\n");
	}
	if (f)
		fclose(f);
	return rc;
}

static int make(const struct machine *m, const char *name, uint32_t default_action,
		int (*rules)(scmp_filter_ctx, const struct machine *))
{
	int rc;
	scmp_filter_ctx ctx = filter_new(m, default_action, &rc);

	if (rc == 0)
		rc = rules(ctx, m);
	if (rc == 0)
		rc = print_bpf(ctx, name);
	if (ctx)
		seccomp_release(ctx);
	return rc;
}

static const struct machine *find_machine(const char *cpu_family)
{
	for (size_t i = 0; i < sg_array_len(machines); i++)
		if (strcmp(machines[i].cpu_family, cpu_family) == 0)
			return &machines[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct machine *m = argc == 2 ? find_machine(argv[1]) : NULL;
	int rc;

	if (!m) {
		fprintf(stderr, "syscall_filter_rules: name a machine of the table\n");
		return 1;
	}
	rc = make(m, "calls", SCMP_ACT_ERRNO(ENOSYS), add_all_calls);
	if (rc == 0)
		rc = make(m, "arguments", SCMP_ACT_ALLOW, add_arguments);
	if (rc == 0)
		rc = make(m, "no_network", SCMP_ACT_ALLOW, add_no_network);
	if (rc)
		fprintf(stderr, "syscall_filter_rules: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
