/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failed(const char *doing, struct err *e)
{
	return err_set(e, "cannot %s: %s", doing, strerror(errno));
}

static void reset_signals(void)
{
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &act, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Out of the way of the numbers that they are to have. */
static int move_high(int *fds, const int *keep, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, CONFINE_KEPT_FD + CONFINE_KEPT_MAX);
		if (fds[i] < 0)
			return -1;
	}
	return 0;
}

/* Standard streams lead nowhere: a pipe of the person's must not stay open because of us. */
static int keep_descriptors(const int *keep, size_t n)
{
	int fds[CONFINE_KEPT_MAX], null;

	if (n > CONFINE_KEPT_MAX) {
		errno = EINVAL;
		return -1;
	}
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || move_high(fds, keep, n) < 0)
		return -1;
	for (int fd = 0; fd < CONFINE_KEPT_FD; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	for (size_t i = 0; i < n; i++)
		if (dup3(fds[i], CONFINE_KEPT_FD + (int)i, O_CLOEXEC) < 0)
			return -1;
	return (int)syscall(SYS_close_range, CONFINE_KEPT_FD + n, ~0U, 0);
}

extern char **environ;

/* What the person's shell held, a key perhaps, is no part of this process. */
static void wipe_environment(void)
{
	for (char **v = environ; v && *v; v++)
		explicit_bzero(*v, strlen(*v));
	clearenv();
}

int confine_detach(const char *name, pid_t parent, const int *keep, size_t n, struct err *e)
{
	prctl(PR_SET_NAME, name);
	wipe_environment();
	reset_signals();
	/* A session of its own: Ctrl-C is for the command, not for the wall around it. */
	if (setsid() < 0)
		return failed("begin a session", e);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return failed("ask for the parent's death signal", e);
	if (getppid() != parent)
		_exit(0);
	if (keep_descriptors(keep, n) < 0)
		return failed("close inherited descriptors", e);
	return 0;
}

int confine_privileges(uint64_t kept, struct err *e)
{
	const struct rlimit no_core = {0, 0};

	capng_clear(CAPNG_SELECT_BOTH);
	for (unsigned c = 0; c <= CAP_LAST_CAP; c++)
		if ((kept & CONFINE_CAPABILITY(c)) &&
		    capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, c) < 0)
			return err_set(e, "libcap-ng does not know the capability %u", c);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return failed("drop capabilities", e);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) < 0)
		return failed("give up privileges", e);
	return 0;
}

/*
 * Landlock, by the kernel's documentation (userspace-api/landlock). Declared here, since headers
 * of the oldest build systems know only its first version.
 */
enum {
	LANDLOCK_CREATE_VERSION = 1 << 0,
	LANDLOCK_PATH_BENEATH = 1,
	LANDLOCK_NET_PORT = 2,
	LANDLOCK_FS_WRITE_FILE = 1 << 1,
	LANDLOCK_FS_READ_FILE = 1 << 2,
	LANDLOCK_FS_READ_DIR = 1 << 3,
	LANDLOCK_FS_REMOVE_FILE = 1 << 5,
	LANDLOCK_FS_MAKE_REG = 1 << 8,
	LANDLOCK_FS_TRUNCATE = 1 << 14,
	LANDLOCK_FS_IOCTL_DEV = 1 << 15,
	LANDLOCK_NET_BIND_TCP = 1 << 0,
	LANDLOCK_SCOPE_ALL = 3, /* abstract UNIX sockets, signals */
};

struct landlock_ruleset {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct landlock_path {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

struct landlock_port {
	uint64_t allowed;
	uint64_t port;
};

/* What this version of Landlock can withhold; everything that it can is withheld. */
static size_t handled_by(int abi, struct landlock_ruleset *r)
{
	/* Rights were added at the end: 13 in version 1, one each in versions 2, 3 and 5. */
	unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;

	*r = (struct landlock_ruleset){.handled_fs = (1ULL << bits) - 1};
	if (abi >= 4)
		r->handled_net = LANDLOCK_NET_BIND_TCP;
	if (abi >= 6)
		r->scoped = LANDLOCK_SCOPE_ALL;
	return abi >= 6	  ? sizeof(*r)
	       : abi >= 4 ? offsetof(struct landlock_ruleset, scoped)
			  : offsetof(struct landlock_ruleset, handled_net);
}

static int allow_beneath(int ruleset, int fd, uint64_t allowed)
{
	struct landlock_path rule = {.allowed = allowed, .parent_fd = fd};

	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_PATH_BENEATH, &rule, 0);
}

static int allow_file(int ruleset, const char *file, uint64_t handled)
{
	_cleanup_fd_ int fd = open(file, O_PATH | O_CLOEXEC);

	return fd < 0 ? -1
		      : allow_beneath(ruleset, fd,
				      handled & (LANDLOCK_FS_READ_FILE | LANDLOCK_FS_WRITE_FILE |
						 LANDLOCK_FS_IOCTL_DEV));
}

static int allow_folder(int ruleset, int fd, uint64_t handled)
{
	return allow_beneath(ruleset, fd,
			     handled & (LANDLOCK_FS_READ_FILE | LANDLOCK_FS_WRITE_FILE |
					LANDLOCK_FS_READ_DIR | LANDLOCK_FS_REMOVE_FILE |
					LANDLOCK_FS_MAKE_REG | LANDLOCK_FS_TRUNCATE));
}

static int allow_port(int ruleset, unsigned short port)
{
	struct landlock_port rule = {.allowed = LANDLOCK_NET_BIND_TCP, .port = port};

	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_NET_PORT, &rule, 0);
}

static int allow_all(int ruleset, const struct confine_files *allowed,
		     const struct landlock_ruleset *r)
{
	for (size_t i = 0; i < allowed->n_folders; i++)
		if (allow_folder(ruleset, allowed->folders[i], r->handled_fs) < 0)
			return -1;
	if (allowed->file && allow_file(ruleset, allowed->file, r->handled_fs) < 0)
		return -1;
	return allowed->bind_port && r->handled_net ? allow_port(ruleset, allowed->bind_port) : 0;
}

int confine_files(const struct confine_files *allowed, struct err *e)
{
	_cleanup_fd_ int ruleset = -1;
	struct landlock_ruleset r;
	size_t size;
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_VERSION);

	if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return 0;
	size = handled_by(abi, &r);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
	if (ruleset < 0 || allow_all(ruleset, allowed, &r) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return failed("confine itself with Landlock", e);
	return 0;
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* What no process can do without; and the sanitizers' runtime, in builds with it. */
static const struct confine_call always[] = {
	{SCMP_SYS(exit_group), CONFINE_ANY, 0},	     {SCMP_SYS(rt_sigreturn), CONFINE_ANY, 0},
	{SCMP_SYS(restart_syscall), CONFINE_ANY, 0},
#ifdef SANITIZED
	{SCMP_SYS(sigaltstack), CONFINE_ANY, 0},     {SCMP_SYS(mmap), CONFINE_ANY, 0},
	{SCMP_SYS(munmap), CONFINE_ANY, 0},	     {SCMP_SYS(madvise), CONFINE_ANY, 0},
	{SCMP_SYS(write), 0, STDERR_FILENO},
#endif
};

static int allow_call(scmp_filter_ctx filter, const struct confine_call *c)
{
	struct scmp_arg_cmp argument = {
		.arg = (unsigned)c->argument,
		.op = SCMP_CMP_MASKED_EQ,
		.datum_a = UINT32_MAX,
		.datum_b = c->value,
	};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, c->number,
				      c->argument == CONFINE_ANY ? 0 : 1, &argument);
}

int confine_calls(const struct confine_call *calls, size_t n, struct err *e)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !error; i++)
		error = allow_call(filter, &calls[i]);
	for (size_t i = 0; i < sg_array_len(always) && !error; i++)
		error = allow_call(filter, &always[i]);
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	if (error)
		return err_set(e,
			       "cannot confine itself with seccomp: %s; use a kernel with "
			       "CONFIG_SECCOMP_FILTER=y",
			       strerror(-error));
	return 0;
}

int confine_listed_calls(const struct confine_call *calls, size_t n, const int *const *lists,
			 size_t n_lists, struct err *e)
{
	struct confine_call all[CONFINE_LISTED_MAX];
	size_t n_all = 0;

	for (size_t i = 0; i < n && n_all < CONFINE_LISTED_MAX; i++)
		all[n_all++] = calls[i];
	for (size_t i = 0; i < n_lists; i++)
		for (const int *c = lists[i]; *c != -1 && n_all < CONFINE_LISTED_MAX; c++)
			all[n_all++] = (struct confine_call){*c, CONFINE_ANY, 0};
	return confine_calls(all, n_all, e);
}
