/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_command: theory of operation. The program runs in a process group of its own, with nothing
 * of ours open but three descriptors. Both its outputs are read until it has ended, or the time is
 * over; then the group is ended, whatever is left of it, and the program reaped. What it prints
 * goes straight into the caller's memory.
 */
#include "sandbox/secret/secret_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "sandbox/pidfd.h"

enum { SAID_MAX = 512, PROGRAM_MAX = 4096 };

struct running {
	pid_t pid;
	int out, said; /* -1: closed */
	int end;       /* a descriptor of the process, readable when it has ended */
	struct buf *to;
	bool too_much;
	char text[SAID_MAX]; /* the end of what it said on standard error */
	size_t text_n;
};

/* ---- Finding ---- */

static bool may_run(const struct exposure *x, const char *path)
{
	return access(path, X_OK) == 0 && !exposure_has(x, path);
}

static bool find_program(const struct secret_command *c, const char *path, char out[PROGRAM_MAX])
{
	const char *name = c->argv[0];

	if (name[0] == '/')
		return snprintf(out, PROGRAM_MAX, "%s", name) < PROGRAM_MAX &&
		       may_run(c->exposure, out);
	for (size_t n; *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (snprintf(out, PROGRAM_MAX, "%.*s/%s", (int)n, path, name) < PROGRAM_MAX &&
		    may_run(c->exposure, out))
			return true;
	}
	return false;
}

/* ---- Starting ---- */

static int set_environment(const struct secret_command *c)
{
	int rc = exposure_clean_environment(c->exposure);

	for (const char *const *one = c->env; rc == 0 && one && *one; one++)
		rc = putenv((char *)*one);
	return rc;
}

sg_noreturn static void become(const char *program, const struct secret_command *c, pid_t reader,
			       int in, int out, int said)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != reader)
		_exit(126);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(said, 2) < 0 || close_range(3, ~0u, 0) ||
	    chdir("/") || set_environment(c))
		_exit(126);
	execv(program, (char *const *)c->argv);
	_exit(126);
}

/* The input is a few words, which a pipe holds. */
static int open_input(const char *text)
{
	size_t n = text ? strlen(text) : 0;
	int ends[2];

	if (n == 0)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	if (write(ends[1], text, n) != (ssize_t)n) {
		close(ends[0]);
		ends[0] = -1;
	}
	close(ends[1]);
	return ends[0];
}

static void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int start(struct running *r, const char *program, const struct secret_command *c,
		 struct err *e)
{
	_cleanup_fd_ int in = open_input(c->input), out = -1, said = -1;
	const pid_t self = getpid();
	int a[2], b[2];

	if (in < 0 || pipe2(a, O_CLOEXEC))
		return err_set(e, "cannot be run: %s", err_why(errno));
	r->out = a[0];
	out = a[1];
	if (pipe2(b, O_CLOEXEC))
		return err_set(e, "cannot be run: %s", err_why(errno));
	r->said = b[0];
	said = b[1];
	set_nonblocking(r->out);
	set_nonblocking(r->said);
	r->pid = fork();
	if (r->pid < 0)
		return err_set(e, "cannot be run: %s", err_why(errno));
	if (r->pid == 0)
		become(program, c, self, in, out, said);
	setpgid(r->pid, r->pid);
	r->end = pidfd_open_child(r->pid);
	return 0;
}

/* ---- Reading ---- */

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void read_out(struct running *r)
{
	size_t room = r->to->cap - r->to->n;
	uint8_t one_more;
	ssize_t n = room ? read(r->out, r->to->p + r->to->n, room) : read(r->out, &one_more, 1);

	if (n > 0 && !room)
		r->too_much = true;
	else if (n > 0)
		r->to->n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_end(&r->out);
}

/* The end of it is what tells. */
static void read_said(struct running *r)
{
	char chunk[SAID_MAX / 2];
	ssize_t n = read(r->said, chunk, sizeof(chunk));
	size_t keep;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_end(&r->said);
	if (n <= 0)
		return;
	keep = SAID_MAX - (size_t)n;
	if (r->text_n > keep) {
		memmove(r->text, r->text + r->text_n - keep, keep);
		r->text_n = keep;
	}
	memcpy(r->text + r->text_n, chunk, (size_t)n);
	r->text_n += (size_t)n;
}

/* What it started in the background may have its outputs open for ever, so its own end is the end.
 */
static void read_rest(struct running *r)
{
	enum { READS_MAX = 1024 }; /* of a pipe that is filled faster than it is read */
	struct pollfd fds[2];

	for (unsigned i = 0; i < READS_MAX && !r->too_much; i++) {
		fds[0] = (struct pollfd){.fd = r->out, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = r->said, .events = POLLIN};
		if (poll(fds, 2, 0) <= 0)
			return;
		if (fds[0].revents)
			read_out(r);
		if (fds[1].revents)
			read_said(r);
	}
}

/* False: the time is over. */
static bool read_all(struct running *r, int timeout_ms)
{
	mono_t until = mono_add_ms(mono_now(), timeout_ms);

	while (!r->too_much) {
		struct pollfd fds[3] = {{.fd = r->out, .events = POLLIN},
					{.fd = r->said, .events = POLLIN},
					{.fd = r->end, .events = POLLIN}};
		int64_t left = mono_ms_until(mono_now(), until);

		if (left <= 0 || (poll(fds, 3, (int)left) < 0 && errno != EINTR))
			return false;
		if (fds[0].revents)
			read_out(r);
		if (fds[1].revents)
			read_said(r);
		if (fds[2].revents) {
			read_rest(r);
			break;
		}
	}
	return true;
}

/* ---- Ending ---- */

static int status_of(struct running *r)
{
	int status = 0;

	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* The last line that is not empty. */
static struct span last_line(struct running *r)
{
	size_t end = r->text_n, from;

	while (end && (r->text[end - 1] == '\n' || r->text[end - 1] == '\r'))
		end--;
	for (from = end; from && r->text[from - 1] != '\n'; from--)
		;
	return span_of(r->text + from, end - from);
}

static int explain(struct running *r, int status, struct err *e)
{
	struct span line = last_line(r);
	int n = (int)line.n;

	for (size_t i = 0; i < line.n; i++) {
		char *c = &r->text[line.p - (const uint8_t *)r->text + i];

		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			*c = '?';
	}
	if (WIFSIGNALED(status))
		return err_set(e, "it was ended by signal %d%s%.*s", WTERMSIG(status),
			       n ? ": " : "", n, (const char *)line.p);
	return err_set(e, "it ended with status %d%s%.*s", WEXITSTATUS(status), n ? ": " : "", n,
		       (const char *)line.p);
}

/* Before it is reaped, so that the number of the group is still its own. */
static int finish(struct running *r, bool in_time, int timeout_ms, struct err *e)
{
	int status;

	kill(-r->pid, SIGKILL);
	status = status_of(r);
	if (r->too_much)
		return err_set(e, "it printed more than %zu octets, too many for a secret",
			       r->to->cap);
	if (!in_time)
		return err_set(e, "it did not end within %d seconds; it was ended",
			       (timeout_ms + 999) / 1000);
	return status == 0 ? 0 : explain(r, status, e);
}

int secret_command_run(const struct secret_command *c, struct buf *out, struct err *e)
{
	struct running r = {.out = -1, .said = -1, .end = -1, .to = out};
	_cleanup_free_ char *path = exposure_clean_path(c->exposure);
	char program[PROGRAM_MAX];
	size_t before = out->n;
	int rc;

	if (!path)
		return err_set(e, "cannot be run: out of memory");
	if (!find_program(c, path, program))
		return -ENOENT;
	rc = start(&r, program, c, e);
	if (rc == 0)
		rc = finish(&r, read_all(&r, c->timeout_ms), c->timeout_ms, e);
	close_end(&r.out);
	close_end(&r.said);
	close_end(&r.end);
	if (rc) {
		explicit_bzero(out->p + before, out->n - before);
		out->n = before;
	}
	return rc;
}
