/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the first program of a sandbox, which stays and starts commands in it. Linked statically
 * and carried within sandgate, since it runs in a file system that it knows nothing of.
 *
 * Usage: start FD [COMMAND [ARGUMENT...]]
 *
 * Theory of operation. Over the socket FD it hands the supervisor a pidfd of itself and waits for
 * the word to go on; without that word nothing is run. Then it runs COMMAND, whose end is its own
 * end, and so the sandbox's; without a COMMAND it stays until it is told to end. Meanwhile it takes
 * what exec_wire.h has: signals for COMMAND, and connections of clients, each of which has one more
 * command run (start_exec.c). Some of these hold the sandbox: when COMMAND ends before them, `start`
 * says so and stays until the last of them has ended; its status is that of COMMAND all the same.
 *
 * It runs beside hostile programs that have its own user. So it is not dumpable, which shuts its
 * memory, its descriptors and ptrace to them, from before the first of them is started; it has
 * nothing in its hands but the two kinds of sockets; and no signal that they may send ends it but
 * SIGKILL, which ends the sandbox. What it tells is believed by nobody outside.
 */
#include "sandbox/engine/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIGNAL_STATUS = 128, ENDING_STEP_MS = 20 };

/* As in include/uapi/linux/close_range.h, which a libc may not show. */
#define CLOSE_ON_EXEC (1U << 2)

struct server {
	int supervisor, signals;
	pid_t first;   /* COMMAND; 0: there is none, or it has ended */
	bool ending;   /* EXEC_TERMINATE has come */
	bool outlived; /* COMMAND has ended, with `status` */
	int status;
};

static int send_pidfd(int to)
{
	char octet = 'S';
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), rc;

	if (self < 0)
		return -1;
	rc = exec_send(to, &octet, sizeof(octet), &self, 1);
	close(self);
	return rc;
}

static int complain(const char *command)
{
	int why = errno;

	if (start_why_not_run(command, &why) == EXEC_INTERPRETER) {
		dprintf(2, "sandgate: %s: what it names as its interpreter is not in the sandbox\n",
			command);
		return CANNOT_EXECUTE;
	}
	if (why == ENOENT) {
		dprintf(2,
			"sandgate: %s: not found in the sandbox; install it, give its path, or share "
			"its folder with --ro\n",
			command);
		return NOT_FOUND;
	}
	dprintf(2, "sandgate: %s: cannot be executed: %s\n", command, strerror(why));
	return CANNOT_EXECUTE;
}

/* What came with the word to go on. */
struct handed {
	int fds[EXEC_FDS_MAX], n, first;
	uint64_t blocked; /* signals */
};

/* First out of the way of each other's numbers, which may be those of one's own descriptors. */
static int place_handed(const struct handed *h)
{
	int away[EXEC_FDS_MAX];

	for (int i = 0; i < h->n; i++) {
		away[i] = fcntl(h->fds[i], F_DUPFD_CLOEXEC, h->first + h->n);
		if (away[i] < 0)
			return -1;
	}
	for (int i = 0; i < h->n; i++)
		if (dup2(away[i], h->first + i) < 0)
			return -1;
	return 0;
}

/* Its group and its terminal are the engine's, as the person's shell arranged them. */
static int run_first(struct server *s, char **argv, const struct handed *h)
{
	s->first = fork();
	if (s->first != 0)
		return s->first < 0 ? -1 : 0;
	/* The kernel's set, and not the C library's, which is longer. */
	if (place_handed(h) < 0 ||
	    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &h->blocked, NULL, sizeof(h->blocked)) < 0)
		_exit(OWN_FAILURE);
	execvp(argv[0], argv);
	_exit(complain(argv[0]));
}

/* What the person reads and writes is the command's; a copy here would keep its ends open. */
static int let_go_of_standard(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -1;
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (dup2(fd, i) < 0)
			return -1;
	close(fd);
	return 0;
}

/* --- until the end --- */

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Alone: nothing else runs. COMMAND's end is the end of all, but for those that hold the sandbox. */
static void end_if_alone(const struct server *s)
{
	if (s->outlived && start_exec_holding() == 0)
		_exit(exit_status(s->status));
	if (s->ending && kill(-1, 0) < 0 && errno == ESRCH)
		_exit(s->outlived ? exit_status(s->status) : 0);
}

static void first_ended(struct server *s, int status)
{
	struct exec_news news = {.kind = EXEC_OUTLIVED, .value = status};

	s->first = 0;
	s->outlived = true;
	s->status = status;
	if (start_exec_holding())
		exec_send(s->supervisor, &news, sizeof(news), NULL, 0);
}

static void reap(struct server *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		start_exec_ended(pid, status);
		if (pid == s->first)
			first_ended(s, status);
	}
}

static void terminate(struct server *s)
{
	s->ending = true;
	start_exec_refuse_new();
	kill(-1, SIGTERM);
	kill(-1, SIGCONT);
}

/* The supervisor's end is the sandbox's. */
static void hear_supervisor(struct server *s)
{
	struct exec_word w;
	int fds[EXEC_FDS_MAX], n_fds;
	ssize_t n = exec_receive(s->supervisor, &w, sizeof(w), fds, &n_fds);

	if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR))
		_exit(OWN_FAILURE);
	if (n != (ssize_t)sizeof(w)) {
		exec_close_all(fds, n_fds);
		return;
	}
	if (w.kind == EXEC_CLIENT && n_fds == 1 && !s->ending && start_exec_take(fds[0]))
		return;
	exec_close_all(fds, n_fds);
	if (w.kind == EXEC_SIGNAL && s->first > 0)
		kill(s->first, w.signo);
	if (w.kind == EXEC_TERMINATE)
		terminate(s);
}

static void serve(struct server *s)
{
	struct pollfd fds[2 + START_EXECS];
	struct signalfd_siginfo info;

	for (;;) {
		size_t n = 2 + start_exec_poll(fds + 2);

		fds[0] = (struct pollfd){.fd = s->supervisor, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = s->signals, .events = POLLIN};
		if (poll(fds, n, s->ending ? ENDING_STEP_MS : -1) < 0 && errno != EINTR)
			_exit(OWN_FAILURE);
		while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
		reap(s);
		end_if_alone(s);
		if (fds[0].revents)
			hear_supervisor(s);
		start_exec_serve(fds + 2, n - 2);
	}
}

/* --- the word to go on --- */

enum { FILTER_MAX = 4096 }; /* instructions (BPF_MAXINSNS) */

/* What an engine loads that has a filter of its own to load: here for those that have not. */
static int load_filter(int fd)
{
	static struct sock_filter room[FILTER_MAX];
	ssize_t n = pread(fd, room, sizeof(room), 0);
	struct sock_fprog program = {.len = (unsigned short)(n / (ssize_t)sizeof(room[0])),
				     .filter = room};

	if (n <= 0 || n % (ssize_t)sizeof(room[0]) || pread(fd, room, 1, n) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int load_filters(const int *fds, int n)
{
	if (n && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	for (int i = 0; i < n; i++)
		if (load_filter(fds[i]) < 0)
			return -1;
	return 0;
}

static int next_word(int from, struct exec_word *w, int fds[EXEC_FDS_MAX], int *n_fds)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	ssize_t n;

	do {
		poll(&p, 1, -1);
		n = exec_receive(from, w, sizeof(*w), fds, n_fds);
	} while (n == -EINTR || n == -EAGAIN);
	return n == (ssize_t)sizeof(*w) ? 0 : -1;
}

static int wait_for_word(int from, struct handed *h)
{
	int fds[EXEC_FDS_MAX], n_fds, rc;
	struct exec_word w;

	*h = (struct handed){0};
	if (next_word(from, &w, fds, &n_fds) < 0)
		return -1;
	if (w.kind == EXEC_HAND && w.signo > STDERR_FILENO) {
		memcpy(h->fds, fds, sizeof(fds));
		h->n = n_fds;
		h->first = w.signo;
		if (next_word(from, &w, fds, &n_fds) < 0)
			return -1;
	}
	h->blocked = w.mask;
	rc = w.kind == EXEC_GO ? load_filters(fds, n_fds) : -1;
	exec_close_all(fds, n_fds);
	return rc;
}

static int hold_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return -1;
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
	struct server s = {.supervisor = argc > 1 ? atoi(argv[1]) : -1};
	struct handed handed;

	if (s.supervisor < 3 || send_pidfd(s.supervisor) < 0 ||
	    wait_for_word(s.supervisor, &handed) < 0)
		return OWN_FAILURE;
	/* After the word: what was mounted is looked at from outside until then. */
	s.signals = hold_signals();
	if (s.signals < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    syscall(SYS_close_range, 3, ~0U, CLOSE_ON_EXEC) < 0 ||
	    (argc > 2 && run_first(&s, argv + 2, &handed) < 0) || let_go_of_standard() < 0)
		return OWN_FAILURE;
	exec_close_all(handed.fds, handed.n);
	serve(&s);
	return OWN_FAILURE;
}
