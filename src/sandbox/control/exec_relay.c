/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One poll loop over the connection to `start`, the signals of this process, and, where one of the
 * standard descriptors is a terminal, the master of the terminal that the command has inside. That
 * is copied both ways: what it gives to the person's terminal, what is typed there to it. While it
 * is, the person's terminal is raw: the keys that send signals do so inside.
 *
 * Where output goes elsewhere ("sandgate exec ... | less") the terminal is the whole job's: its
 * modes stay, what is typed comes by lines, and is left alone while another of the job has the
 * terminal in modes of its own.
 *
 * Signals of this process go to the command. A stop stops the command's group and then this
 * process; when it is continued, so is the group.
 *
 * What comes from the sandbox is not believed: a master that is no terminal's is no master, and it
 * is never waited for, so that a signal is always heard. What a command prints reaches the terminal
 * as it is, as from any command; TIOCSTI and its like cannot be said by bytes.
 */
#include "sandbox/control/exec_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

enum {
	TYPED_MAX = 4096,
	PRINTED_MAX = 16384,
	PTMX_MAJOR = 5,
	PTMX_MINOR = 2,
	END_OF_FILE = 4,
	LOOK_MS = 200
};

struct relay {
	int connection, signals;
	int master;	      /* -1: none */
	int in;		      /* the terminal that is typed on; -1: none */
	int out;	      /* the one that is printed on */
	bool lines;	      /* it is shared with others of the job */
	bool hung_up;	      /* nothing more will be typed */
	bool raw;	      /* it has other modes than these, and is typed on for the command */
	struct termios modes; /* as they were found */
	char typed[TYPED_MAX];
	size_t n_typed;
	struct exec_end *end;
};

/* --- the person's terminal --- */

static bool is_foreground(const struct relay *r)
{
	return tcgetpgrp(r->in) == getpgrp();
}

/* What is typed by lines has been echoed already. */
static void silence_master(const struct relay *r)
{
	struct termios modes;

	if (!r->lines || tcgetattr(r->master, &modes) < 0)
		return;
	modes.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(r->master, TCSANOW, &modes);
}

static bool may_read_typed(const struct relay *r)
{
	struct termios modes;

	if (r->in < 0 || r->master < 0 || r->n_typed || r->hung_up)
		return false;
	if (!r->lines)
		return r->raw;
	return is_foreground(r) && tcgetattr(r->in, &modes) == 0 && modes.c_lflag & ICANON;
}

static void make_raw(struct relay *r)
{
	struct termios raw;

	if (r->in < 0 || r->lines || r->master < 0 || r->raw || !is_foreground(r) ||
	    tcgetattr(r->in, &r->modes) < 0)
		return;
	raw = r->modes;
	cfmakeraw(&raw);
	r->raw = tcsetattr(r->in, TCSADRAIN, &raw) == 0;
}

static void restore(struct relay *r)
{
	if (r->raw)
		tcsetattr(r->in, TCSADRAIN, &r->modes);
	r->raw = false;
}

static void follow_size(const struct relay *r)
{
	struct winsize size;

	if (r->master >= 0 && ioctl(r->out, TIOCGWINSZ, &size) == 0)
		ioctl(r->master, TIOCSWINSZ, &size);
}

/* --- signals --- */

static void say(const struct relay *r, int signo)
{
	struct exec_word w = {.kind = EXEC_SIGNAL, .signo = signo};

	exec_send(r->connection, &w, sizeof(w), NULL, 0);
}

static void stop_here(struct relay *r)
{
	say(r, SIGSTOP);
	restore(r);
	kill(getpid(), SIGSTOP);
	make_raw(r);
	follow_size(r);
	say(r, SIGCONT);
}

static void take_signal(struct relay *r, int signo)
{
	switch (signo) {
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		stop_here(r);
		break;
	case SIGCONT: /* perhaps in the foreground now */
		make_raw(r);
		follow_size(r);
		break;
	case SIGWINCH:
		follow_size(r);
		break;
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGTERM:
	case SIGUSR1:
	case SIGUSR2:
	case SIGALRM:
		say(r, signo);
		break;
	}
}

static void take_signals(struct relay *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		take_signal(r, (int)info.ssi_signo);
}

/* --- the copies --- */

/* False when nothing more will come. */
static bool print_some(struct relay *r)
{
	char text[PRINTED_MAX];
	ssize_t n = read(r->master, text, sizeof(text)), at = 0;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	while (at < n) {
		ssize_t w = write(r->out, text + at, (size_t)(n - at));

		if (w < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		at += w > 0 ? w : 0;
	}
	return true;
}

static void type_some(struct relay *r)
{
	ssize_t n = write(r->master, r->typed, r->n_typed);

	if (n <= 0)
		return;
	r->n_typed -= (size_t)n;
	memmove(r->typed, r->typed + n, r->n_typed);
}

static void read_typed(struct relay *r)
{
	ssize_t n = read(r->in, r->typed, sizeof(r->typed));

	if (n > 0)
		r->n_typed = (size_t)n;
	else if (n == 0 && r->lines)
		r->typed[r->n_typed++] = END_OF_FILE;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		r->hung_up = true;
}

static void close_master(struct relay *r)
{
	if (r->master >= 0)
		close(r->master);
	r->master = -1;
	restore(r);
}

/* --- news --- */

static bool is_master(int fd)
{
	struct stat st;
	unsigned number;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == PTMX_MAJOR &&
	       minor(st.st_rdev) == PTMX_MINOR && ioctl(fd, TIOCGPTN, &number) == 0;
}

static void take_master(struct relay *r, int fd)
{
	if (r->master >= 0 || r->out < 0 || !is_master(fd) || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		close(fd);
		return;
	}
	r->master = fd;
	silence_master(r);
	make_raw(r);
	follow_size(r);
}

/* False when it was the last. */
static bool hear(struct relay *r)
{
	struct exec_news news;
	int fds[EXEC_FDS_MAX], n_fds;
	ssize_t n = exec_receive(r->connection, &news, sizeof(news), fds, &n_fds);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n == (ssize_t)sizeof(news) && news.kind == EXEC_PTY && n_fds == 1) {
		take_master(r, fds[0]);
		return true;
	}
	exec_close_all(fds, n_fds);
	if (n != (ssize_t)sizeof(news))
		return false;
	if (news.kind == EXEC_BEGUN)
		r->end->begun = true;
	if (news.kind == EXEC_FAILED)
		r->end->failed = news;
	if (news.kind != EXEC_ENDED && news.kind != EXEC_REFUSED)
		return true;
	r->end->told = true;
	r->end->news = news;
	return false;
}

static int loop(struct relay *r)
{
	enum { NEWS, SIGNALS, MASTER, TYPED, ALL };

	for (;;) {
		short wanted = (short)(POLLIN | (r->n_typed ? POLLOUT : 0));
		struct pollfd fds[ALL] = {
			[NEWS] = {.fd = r->connection, .events = POLLIN},
			[SIGNALS] = {.fd = r->signals, .events = POLLIN},
			[MASTER] = {.fd = r->master, .events = wanted},
			[TYPED] = {.fd = may_read_typed(r) ? r->in : -1, .events = POLLIN},
		};

		/* Modes that another sets make no event. */
		if (poll(fds, ALL, r->lines ? LOOK_MS : -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[SIGNALS].revents)
			take_signals(r);
		if (fds[MASTER].revents & POLLOUT)
			type_some(r);
		if (fds[MASTER].revents & ~POLLOUT && !print_some(r))
			close_master(r);
		if (fds[TYPED].revents)
			read_typed(r);
		if (fds[NEWS].revents && !hear(r))
			return 0;
	}
}

/* What the command had printed before its end. */
static void print_rest(struct relay *r)
{
	while (r->master >= 0 && print_some(r))
		;
	close_master(r);
}

/* The first of the standard descriptors that is a terminal, of those that are printed on first. */
static int find_out(unsigned passed)
{
	static const int order[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (!(passed >> order[i] & 1))
			return order[i];
	return -1;
}

int exec_relay_run(int connection, unsigned passed, struct exec_end *end)
{
	struct relay r = {
		.connection = connection,
		.master = -1,
		.in = passed & 1 ? -1 : STDIN_FILENO,
		.out = find_out(passed),
		.lines = !(passed & 1) && passed >> STDOUT_FILENO & 1,
		.end = end,
	};
	sigset_t all, before;
	int rc;

	*end = (struct exec_end){.told = false};
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	r.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r.signals < 0)
		return -errno;
	rc = loop(&r);
	print_rest(&r);
	close(r.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
