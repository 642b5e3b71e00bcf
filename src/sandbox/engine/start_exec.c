/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_exec: the commands that clients have run in a sandbox.
 *
 * A client is NEW until its hello has come, then RUNNING until its command has ended. A command is
 * the leader of a session of its own, with a terminal of the sandbox's own when one is asked for.
 * The client is told before the fork: one that was not told may have its command run elsewhere.
 * When the client goes first, its command's group gets SIGHUP, as when a terminal is closed.
 *
 * No client is waited for: what one does not take, it does not get.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "sandbox/engine/start.h"

extern char **environ;

struct exec {
	int fd;	    /* to the client; -1: the place is free, but for a command without a client */
	pid_t pid;  /* 0: NEW */
	bool holds; /* the sandbox stays for it */
};

static struct exec execs[START_EXECS];
static size_t n_execs;

static int tell(int client, enum exec_news_kind kind, int value, enum exec_step step, int fd)
{
	struct exec_news news = {.kind = kind, .value = value, .step = step};

	return exec_send(client, &news, sizeof(news), &fd, fd < 0 ? 0 : 1);
}

/* --- in the child --- */

struct child {
	const struct exec_request *request;
	int client, standard[EXEC_STANDARD];
	bool terminal; /* one of the three is */
	int slave;
};

static void child_fail(const struct child *c, enum exec_step step, int why)
{
	tell(c->client, EXEC_FAILED, why, step, -1);
	_exit(step == EXEC_RUN && why == ENOENT ? NOT_FOUND : CANNOT_EXECUTE);
}

enum exec_step start_why_not_run(const char *command, int *why)
{
	if (*why == ENOENT && strchr(command, '/') && access(command, F_OK) == 0)
		return EXEC_INTERPRETER;
	if (*why == ENOTDIR)
		*why = ENOENT;
	return EXEC_RUN;
}

/* Above the places they go to, so that none is overwritten before it has been moved. */
static int move_standard(const struct child *c)
{
	int high[EXEC_STANDARD];

	for (int i = 0; i < EXEC_STANDARD; i++) {
		high[i] = fcntl(c->standard[i] < 0 ? c->slave : c->standard[i], F_DUPFD_CLOEXEC,
				EXEC_STANDARD);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < EXEC_STANDARD; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	return 0;
}

static void set_variables(char **env)
{
	char here[4096];

	for (; *env; env++)
		putenv(*env);
	if (getcwd(here, sizeof(here)))
		setenv("PWD", here, 1);
}

static void become(const struct child *c)
{
	const struct exec_request *r = c->request;
	sigset_t none;
	int why;

	setsid();
	if (c->terminal && ioctl(c->slave, TIOCSCTTY, 0) < 0)
		child_fail(c, EXEC_TERMINAL, errno);
	if (move_standard(c) < 0)
		child_fail(c, EXEC_TERMINAL, errno);
	if (*r->cwd && chdir(r->cwd) < 0)
		child_fail(c, EXEC_CHDIR, errno);
	set_variables(r->env);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(r->argv[0], r->argv);
	why = errno;
	child_fail(c, start_why_not_run(r->argv[0], &why), why);
}

/* --- a terminal --- */

/*
 * The device by its place in the sandbox's own devpts, where nobody can put another thing, and the
 * other end without a path.
 */
static int open_terminal(const struct exec_hello *h, int *slave)
{
	struct winsize size = {.ws_row = h->rows, .ws_col = h->columns};
	int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	int unlocked = 0;

	if (master < 0)
		return -1;
	*slave = -1;
	if (ioctl(master, TIOCSPTLCK, &unlocked) == 0)
		*slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave >= 0 && (h->rows == 0 || ioctl(master, TIOCSWINSZ, &size) == 0))
		return master;
	close(master);
	return -1;
}

/* --- a client --- */

static void forget(struct exec *x)
{
	if (x->fd >= 0)
		close(x->fd);
	*x = (struct exec){.fd = -1};
}

static bool is_free(const struct exec *x)
{
	return x->fd < 0 && x->pid == 0;
}

bool start_exec_take(int fd)
{
	for (size_t i = 0; i < START_EXECS; i++)
		if (i >= n_execs || is_free(&execs[i])) {
			execs[i] = (struct exec){.fd = fd};
			n_execs = i >= n_execs ? i + 1 : n_execs;
			return true;
		}
	tell(fd, EXEC_REFUSED, EBUSY, 0, -1);
	return false;
}

void start_exec_refuse_new(void)
{
	for (size_t i = 0; i < n_execs; i++)
		if (execs[i].fd >= 0 && execs[i].pid == 0)
			forget(&execs[i]);
}

size_t start_exec_holding(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_execs; i++)
		n += execs[i].pid > 0 && execs[i].holds;
	return n;
}

size_t start_exec_poll(struct pollfd out[START_EXECS])
{
	for (size_t i = 0; i < n_execs; i++)
		out[i] = (struct pollfd){.fd = execs[i].fd, .events = POLLIN};
	return n_execs;
}

/* The texts of a hello, or NULL with errno. */
static char *read_texts(int fd, size_t n)
{
	char *text = n && n <= EXEC_TEXT_MAX ? malloc(n) : NULL;
	size_t at = 0;

	errno = text ? 0 : E2BIG;
	while (text && at < n) {
		ssize_t r = pread(fd, text + at, n - at, (off_t)at);

		if (r <= 0) {
			free(text);
			errno = EBADMSG;
			return NULL;
		}
		at += (size_t)r;
	}
	return text;
}

static int count_passed(uint32_t passed)
{
	return (int)(passed & 1) + (int)(passed >> 1 & 1) + (int)(passed >> 2 & 1);
}

static int start_command(struct exec *x, struct child *c, const struct exec_hello *h)
{
	int master = -1, rc;

	c->slave = -1;
	c->client = x->fd;
	c->terminal = h->passed != EXEC_ALL_PASSED;
	if (c->terminal) {
		master = open_terminal(h, &c->slave);
		if (master < 0)
			return -errno;
		tell(x->fd, EXEC_PTY, 0, 0, master);
	}
	rc = tell(x->fd, EXEC_BEGUN, 0, 0, -1);
	if (rc == 0) {
		x->pid = fork();
		rc = x->pid < 0 ? -errno : 0;
	}
	if (rc == 0 && x->pid == 0)
		become(c);
	if (master >= 0) {
		close(master);
		close(c->slave);
	}
	if (x->pid > 0) {
		x->holds = h->holds == 1;
		return 0;
	}
	x->pid = 0;
	return rc;
}

/* fds[0] are the texts. 0 or -errno. */
static int take_request(struct exec *x, const struct exec_hello *h, const int *fds, int n_fds)
{
	struct child c = {.standard = {-1, -1, -1}};
	struct exec_request request;
	char *text;
	int next = 1, rc = -EBADMSG;

	if (h->magic != EXEC_MAGIC)
		return -EPROTO;
	if (n_fds != 1 + count_passed(h->passed))
		return -EBADMSG;
	for (int i = 0; i < EXEC_STANDARD; i++)
		if (h->passed >> i & 1)
			c.standard[i] = fds[next++];
	text = read_texts(fds[0], h->size);
	if (!text)
		return -errno;
	if (exec_request_parse(h, text, h->size, &request)) {
		c.request = &request;
		rc = start_command(x, &c, h);
		exec_request_free(&request);
	}
	free(text);
	return rc;
}

static void hear_hello(struct exec *x)
{
	struct exec_hello h;
	int fds[EXEC_FDS_MAX], n_fds, rc;
	ssize_t n = exec_receive(x->fd, &h, sizeof(h), fds, &n_fds);

	if (n == -EAGAIN || n == -EINTR)
		return;
	rc = n == (ssize_t)sizeof(h) ? take_request(x, &h, fds, n_fds) : -EBADMSG;
	exec_close_all(fds, n_fds);
	if (rc == 0)
		return;
	tell(x->fd, EXEC_REFUSED, -rc, 0, -1);
	forget(x);
}

/*
 * Its command stays in the table until it has been reaped: its number is nobody else's till then.
 */
static void hang_up(struct exec *x)
{
	kill(-x->pid, SIGHUP);
	kill(-x->pid, SIGCONT);
	close(x->fd);
	x->fd = -1;
}

static void hear_word(struct exec *x)
{
	struct exec_word w;
	int fds[EXEC_FDS_MAX], n_fds;
	ssize_t n = exec_receive(x->fd, &w, sizeof(w), fds, &n_fds);

	exec_close_all(fds, n_fds);
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0)
		hang_up(x);
	else if (n == (ssize_t)sizeof(w) && w.kind == EXEC_SIGNAL)
		kill(w.signo == SIGSTOP || w.signo == SIGCONT ? -x->pid : x->pid, w.signo);
}

void start_exec_serve(const struct pollfd *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!fds[i].revents || execs[i].fd < 0 || execs[i].fd != fds[i].fd)
			continue;
		if (execs[i].pid)
			hear_word(&execs[i]);
		else
			hear_hello(&execs[i]);
	}
}

void start_exec_ended(pid_t pid, int status)
{
	for (size_t i = 0; i < n_execs; i++) {
		if (execs[i].pid != pid)
			continue;
		if (execs[i].fd >= 0)
			tell(execs[i].fd, EXEC_ENDED, status, 0, -1);
		forget(&execs[i]);
	}
}
