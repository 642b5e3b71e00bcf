/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/bwrap.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/engine/engine_program.h"
#include "sandbox/files/memory_file.h"
#include "sandbox/pidfd.h"
#include "sandbox/engine/root_capabilities.h"
#include "sandbox/run.h"
#include "sandbox/engine/syscall_filter.h"

#define START_PATH SANDBOX_FILES "/start"

/* As in include/uapi/linux/close_range.h, which a libc may not show. */
#define CLOSE_ON_EXEC (1U << 2)

enum { TEXTS_MAX = 8, FD_TEXT_MAX = 16 };

/* What bubblewrap gets by number. */
struct handed {
	int args, start_image, start;
	struct syscall_filter filter;
	int texts[TEXTS_MAX];
	size_t n_texts;
};

const char *bwrap_find(void)
{
	static const char *const places[] = {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap",
					     NULL};

	return engine_program_find(places);
}

static int refuse_missing(struct err *e)
{
	return err_set(e, "bubblewrap is not installed; apt-get install bubblewrap");
}

int bwrap_check(struct err *e)
{
	return bwrap_find() ? 0 : refuse_missing(e);
}

/* --- the arguments --- */

static void put(FILE *to, const char *arg)
{
	fwrite(arg, 1, strlen(arg) + 1, to);
}

static void put_number(FILE *to, const char *option, long n)
{
	char text[FD_TEXT_MAX];

	snprintf(text, sizeof(text), "%ld", n);
	put(to, option);
	put(to, text);
}

static void put_mode(FILE *to, unsigned mode)
{
	char text[FD_TEXT_MAX];

	snprintf(text, sizeof(text), "%04o", mode);
	put(to, "--perms");
	put(to, text);
}

static void put_pair(FILE *to, const char *option, const char *source, const char *dest)
{
	put(to, option);
	put(to, source);
	put(to, dest);
}

static int put_text(FILE *to, const struct mount *m, struct handed *h)
{
	int fd;

	if (h->n_texts == TEXTS_MAX)
		return -E2BIG;
	fd = memory_file("text", m->source, strlen(m->source));
	if (fd < 0)
		return -errno;
	h->texts[h->n_texts++] = fd;
	put_mode(to, m->mode);
	put_number(to, "--ro-bind-data", fd);
	put(to, m->dest);
	return 0;
}

static int put_mount(FILE *to, const struct mount *m, struct handed *h)
{
	switch (m->kind) {
	case MOUNT_RO:
		put_pair(to, "--ro-bind", m->source, m->dest);
		break;
	case MOUNT_RW:
		put_pair(to, "--bind", m->source, m->dest);
		break;
	case MOUNT_TMPFS:
	case MOUNT_DIR:
		put_mode(to, m->mode);
		put(to, m->kind == MOUNT_DIR ? "--dir" : "--tmpfs");
		put(to, m->dest);
		break;
	case MOUNT_LINK:
		put_pair(to, "--symlink", m->source, m->dest);
		break;
	case MOUNT_TEXT:
		return put_text(to, m, h);
	case MOUNT_BLANK:
		/* A device on a mount without devices: opening it is EACCES. */
		put_pair(to, "--ro-bind", "/dev/null", m->dest);
		break;
	case MOUNT_DEVICE:
		put_pair(to, "--dev-bind", m->source, m->dest);
		break;
	case MOUNT_DEV:
		put(to, "--dev");
		put(to, m->dest);
		break;
	case MOUNT_PROC:
		put(to, "--proc");
		put(to, m->dest);
		break;
	}
	return 0;
}

static int put_mounts(FILE *to, const struct file_plan *p, struct handed *h)
{
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++)
		rc = put_mount(to, &p->mounts[i], h);
	put_mode(to, 0555);
	put_number(to, "--file", h->start_image);
	put(to, START_PATH);
	put(to, "--remount-ro");
	put(to, "/");
	put(to, "--chdir");
	put(to, p->workdir);
	return rc;
}

static void put_isolation(FILE *to, const struct bwrap_config *c, const struct handed *h)
{
	static const char *const always[] = {
		"--unshare-user",    "--disable-userns", "--unshare-pid",
		"--unshare-ipc",     "--unshare-uts",	 "--unshare-cgroup-try",
		"--die-with-parent", "--cap-drop",	 "ALL",
	};

	for (size_t i = 0; i < sg_array_len(always); i++)
		put(to, always[i]);
	for (size_t i = 0; c->as_root && i < root_capabilities_n; i++) {
		put(to, "--cap-add");
		put(to, root_capabilities[i]);
	}
	if (c->netns < 0)
		put(to, "--unshare-net");
	put_number(to, "--uid", (long)c->uid);
	put_number(to, "--gid", (long)c->gid);
	put(to, "--hostname");
	put(to, c->hostname);
	put_number(to, "--add-seccomp-fd", h->filter.calls);
	put_number(to, "--add-seccomp-fd", h->filter.arguments);
	if (c->no_network)
		put_number(to, "--add-seccomp-fd", h->filter.no_network);
}

/*
 * The command's environment is set in the sandbox: bwrap itself runs outside of it, and would load
 * what an LD_LIBRARY_PATH or LD_PRELOAD for the command names.
 */
static void put_environment(FILE *to, char *const *env)
{
	for (; *env; env++) {
		size_t n = strcspn(*env, "=");

		put(to, "--setenv");
		fwrite(*env, 1, n, to);
		fputc(0, to);
		put(to, (*env)[n] ? *env + n + 1 : "");
	}
}

/* In a file and not on the command line: the sandbox can read its init's. */
static int make_args(const struct bwrap_config *c, struct handed *h)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	int rc;

	if (!to)
		return -errno;
	put_isolation(to, c, h);
	put_environment(to, c->env);
	rc = put_mounts(to, c->plan, h);
	if (fclose(to) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc == 0) {
		h->args = memory_file("args", text, n);
		rc = h->args < 0 ? -errno : 0;
	}
	free(text);
	return rc;
}

static void handed_close(struct handed *h)
{
	int fds[] = {h->args, h->start_image, h->start};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (size_t i = 0; i < h->n_texts; i++)
		close(h->texts[i]);
	syscall_filter_close(&h->filter);
}

static int handed_make(const struct bwrap_config *c, struct handed *h, struct err *e)
{
	int rc;

	if (syscall_filter_make(&h->filter, e))
		return -1;
	h->start_image = start_link_program();
	rc = h->start_image < 0 ? -errno : make_args(c, h);
	return rc ? err_set(e, "the engine's arguments: %s", err_why(-rc)) : 0;
}

/* --- in the child --- */

static void child_fail(const char *what)
{
	dprintf(2, "sandgate: the sandbox could not be made: %s: %s\n", what, strerror(errno));
	_exit(EXIT_SANDGATE);
}

/*
 * Nothing over the airlock's network is kept, in the bounding set either: uid 0 would get it back
 * by exec. CAP_SETFCAP is what the kernel asks of one who maps uid 0 into a new user namespace.
 */
static void drop_capabilities(void)
{
	if (!capng_have_capabilities(CAPNG_SELECT_CAPS))
		return;
	capng_clear(CAPNG_SELECT_BOTH);
	if (geteuid() == 0)
		capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
			      CAP_SETFCAP, -1);
	if (capng_apply(CAPNG_SELECT_BOTH) < 0)
		child_fail("dropping capabilities");
}

static void enter_airlock(const struct bwrap_config *c)
{
	if (c->userns >= 0 && setns(c->userns, CLONE_NEWUSER) < 0)
		child_fail("entering the airlock's user namespace");
	if (c->netns >= 0 && setns(c->netns, CLONE_NEWNET) < 0)
		child_fail("entering the airlock's network namespace");
}

/* After the change of credentials, which would clear it. */
static void die_with(pid_t supervisor)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		child_fail("binding the engine to the supervisor");
	if (getppid() != supervisor)
		_exit(EXIT_SANDGATE);
}

/* Root without its capabilities cannot pass through another's private folder: said plainly. */
static void check_sources(const struct file_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct mount *m = &p->mounts[i];

		if (!m->checked || faccessat(AT_FDCWD, m->source, F_OK, AT_EACCESS) == 0)
			continue;
		dprintf(2,
			"sandgate: %s: %s for the sandbox's user (uid %u); run sandgate as the one who "
			"owns it, or make the folders above it passable\n",
			m->source, strerror(errno), (unsigned)geteuid());
		_exit(EXIT_SANDGATE);
	}
}

static void keep_only(const struct handed *h)
{
	int fds[] = {h->args,	      h->start_image,	   h->start,
		     h->filter.calls, h->filter.arguments, h->filter.no_network};

	if (syscall(SYS_close_range, 3, ~0U, CLOSE_ON_EXEC) < 0)
		child_fail("closing descriptors");
	for (size_t i = 0; i < sg_array_len(fds); i++)
		fcntl(fds[i], F_SETFD, 0);
	for (size_t i = 0; i < h->n_texts; i++)
		fcntl(h->texts[i], F_SETFD, 0);
}

/*
 * A stop from the terminal is left to work on the engine as well: it is how the supervisor learns
 * of it, since the command is not its child.
 */
static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGTSTP);
	sigdelset(&all, SIGTTIN);
	sigdelset(&all, SIGTTOU);
	sigdelset(&all, SIGCONT);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

static char **make_argv(const struct bwrap_config *c, const struct handed *h, const char *bwrap)
{
	static char args_fd[FD_TEXT_MAX], start_fd[FD_TEXT_MAX];
	const char *head[] = {bwrap, "--args", args_fd, "--", START_PATH, start_fd};
	size_t n_head = sg_array_len(head), n = 0;
	char **v;

	while (c->argv[n])
		n++;
	v = calloc(n_head + n + 1, sizeof(*v));
	if (!v)
		child_fail("the command's arguments");
	snprintf(args_fd, sizeof(args_fd), "%d", h->args);
	snprintf(start_fd, sizeof(start_fd), "%d", h->start);
	memcpy(v, head, sizeof(head));
	memcpy(v + n_head, c->argv, n * sizeof(*v));
	return v;
}

static void sg_noreturn become_engine(const struct bwrap_config *c, const struct handed *h,
				      const char *bwrap, pid_t supervisor)
{
	char **argv = make_argv(c, h, bwrap);

	setpgid(0, 0);
	enter_airlock(c);
	drop_capabilities();
	die_with(supervisor);
	check_sources(c->plan);
	keep_only(h);
	block_signals();
	execve(bwrap, argv, (char *[]){NULL});
	child_fail(bwrap);
	_exit(EXIT_SANDGATE);
}

/* --- in the supervisor --- */

static int give_up(struct bwrap *g, struct err *e)
{
	int why = errno;

	kill(-g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
	g->pid = 0;
	return err_set(e, "watching the engine: %s; Linux 5.15 or later is needed", strerror(why));
}

static int fork_engine(const struct bwrap_config *c, const struct handed *h, const char *bwrap,
		       struct bwrap *g, struct err *e)
{
	pid_t supervisor = getpid();

	g->pid = fork();
	if (g->pid == 0)
		become_engine(c, h, bwrap, supervisor);
	if (g->pid < 0) {
		g->pid = 0;
		return err_set(e, "starting the engine: %s", strerror(errno));
	}
	setpgid(g->pid, g->pid);
	g->pidfd = pidfd_open_child(g->pid);
	if (g->pidfd < 0)
		return give_up(g, e);
	return 0;
}

int bwrap_start(const struct bwrap_config *c, struct bwrap *out, struct err *e)
{
	struct handed h = {.args = -1, .start_image = -1, .start = -1, .filter = {-1, -1, -1}};
	const char *bwrap = bwrap_find();
	int rc = -1;

	*out = BWRAP_NONE;
	if (!bwrap)
		return refuse_missing(e);
	if (start_link_open(&out->start, &h.start, e))
		return -1;
	if (handed_make(c, &h, e) == 0)
		rc = fork_engine(c, &h, bwrap, out, e);
	handed_close(&h);
	if (rc)
		start_link_close(&out->start);
	return rc;
}
