/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The child's standard error is a pipe that the parent copies to its own, and `ready` another that
 * carries one octet. What comes first decides: the octet, and the parent leaves with 0; the end of
 * `ready`, and the child has failed and has said why. The engine keeps the pipe for its whole life,
 * with nobody at the other end: the sandbox's first process is no way to write into the log.
 */
#include "sandbox/background.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/run.h"
#include "sandbox/state_dir.h"

enum { KEPT_ABOVE = 64 };
enum { LOG_MAX = 256 * 1024, TIME_LENGTH = sizeof("2026-11-29T18:40:12Z") - 1 };

static const char log_name[] = "supervisor.log", old_log_name[] = "supervisor.log.old";

/* Of this process; set once. */
static bool logs_messages;
static char logs_for[SANDBOX_NAME_SIZE + 2];
static bool ends_with_starter;

const char *background_time(char out[BACKGROUND_TIME_MAX])
{
	time_t now = time(NULL);
	struct tm t;

	*out = 0;
	if (logs_messages && gmtime_r(&now, &t))
		strftime(out, BACKGROUND_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ ", &t);
	return out;
}

const char *background_name(void)
{
	return logs_for;
}

/* --- in the child --- */

/* A signal that the person's shell ignored would be ignored by all in the sandbox. */
static void reset_signals(void)
{
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
}

static int take_standard(int errors)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(errors, STDERR_FILENO) < 0)
		return -1;
	close(null);
	return 0;
}

/* Those that are kept get the lowest numbers, by way of some that none of them has. */
static int keep_only(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool there = fds[i] >= 0;

		fds[i] = there ? fcntl(fds[i], F_DUPFD_CLOEXEC, KEPT_ABOVE) : -1;
		if (there && fds[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < n; i++) {
		int to = STDERR_FILENO + 1 + (int)i;

		if (fds[i] >= 0 && dup3(fds[i], to, O_CLOEXEC) < 0)
			return -1;
		fds[i] = fds[i] < 0 ? -1 : to;
	}
	return (int)syscall(SYS_close_range, STDERR_FILENO + 1 + (int)n, ~0U, 0);
}

/* Nothing of the person's is held but these: no other descriptor, no terminal, no folder. */
static int become_background(int errors, int *fds, size_t n)
{
	int all[1 + BACKGROUND_FDS_MAX + 1];

	memcpy(all, fds, n * sizeof(*fds));
	all[n] = errors;
	reset_signals();
	if (keep_only(all, n + 1) < 0 || take_standard(all[n]) || setsid() < 0 || chdir("/") < 0)
		return -1;
	close(all[n]);
	memcpy(fds, all, n * sizeof(*fds));
	return 0;
}

static int open_log_to_read(const char *sandbox)
{
	struct err ignored;
	_cleanup_fd_ int dir = state_dir_open_sandbox(sandbox, false, &ignored);

	return dir < 0 ? -1 : openat(dir, log_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

off_t background_log_size(const char *sandbox)
{
	_cleanup_fd_ int fd = open_log_to_read(sandbox);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_size : 0;
}

/* The time in front of a line is for one who reads it later. */
static const char *without_time(const char *line)
{
	size_t n = strcspn(line, " ");

	return n == TIME_LENGTH && line[n - 1] == 'Z' ? line + n + 1 : line;
}

void background_log_show(const char *sandbox, off_t since)
{
	int fd = open_log_to_read(sandbox);
	FILE *from = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE_MAX];

	if (!from)
		return;
	if (fseeko(from, since, SEEK_SET) == 0)
		while (fgets(line, sizeof(line), from))
			fputs(without_time(line), stderr);
	fclose(from);
}

/* Of one that is not kept the messages are beside those of all others that are not. */
static int open_log_folder(const char *sandbox, bool kept, struct err *e)
{
	return kept ? state_dir_open_sandbox(sandbox, true, e) : state_dir_open(true, e);
}

static int open_log(const char *sandbox, bool kept, struct err *e)
{
	_cleanup_fd_ int dir = open_log_folder(sandbox, kept, e);
	struct stat st;
	int fd;

	if (dir < 0)
		return -1;
	if (fstatat(dir, log_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > LOG_MAX)
		renameat(dir, log_name, dir, old_log_name);
	fd = openat(dir, log_name,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
	return fd < 0 ? err_set(e, "%s: the log of its supervisor: %s", sandbox, err_why(errno))
		      : fd;
}

int background_ready(const char *sandbox, bool kept, int ready, struct err *e)
{
	_cleanup_fd_ int log = open_log(sandbox, kept, e);

	if (log < 0)
		return -1;
	if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		return err_set(e, "the log of the supervisor: %s", err_why(errno));
	logs_messages = true;
	if (!kept)
		snprintf(logs_for, sizeof(logs_for), "%s: ", sandbox);
	if (write(ready, sandbox, strlen(sandbox)) < 0) {
		if (errno != EPIPE)
			return err_set(e, "telling that it runs: %s", err_why(errno));
		/* One that a person starts, and keeps, is there to be stopped by its name. */
		if (ends_with_starter)
			return err_set(
				e, "who asked for it was gone before it was ready, and was told "
				   "nothing; it is ended");
	}
	close(ready);
	return 0;
}

/* --- in the parent --- */

static void show(int from)
{
	char text[4096];
	ssize_t n = read(from, text, sizeof(text));

	if (n > 0)
		fwrite(text, 1, (size_t)n, stderr);
}

/* True when the child is ready; false when it has ended. */
static bool follow(int errors, int ready)
{
	struct pollfd fds[] = {{.fd = errors, .events = POLLIN}, {.fd = ready, .events = POLLIN}};
	char octet;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents & POLLIN)
			show(errors);
		else if (fds[1].revents)
			return read(ready, &octet, 1) == 1;
	}
}

static int exit_status(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_SANDGATE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SANDGATE;
}

static int await(pid_t child, int errors, int ready)
{
	bool is_ready = follow(errors, ready);

	fflush(stderr);
	return is_ready ? 0 : exit_status(child);
}

static void sg_noreturn be_child(int (*work)(void *ctx, int ready), void *ctx, int errors,
				 int ready)
{
	if (become_background(errors, &ready, 1))
		_exit(EXIT_SANDGATE);
	_exit(work(ctx, ready));
}

int background_start(int (*work)(void *ctx, int ready), void *ctx, struct err *e)
{
	int errors[2], ready[2], status;
	pid_t child;

	*e->text = 0;
	if (pipe2(errors, O_CLOEXEC) < 0)
		return err_set(e, "a pipe: %s", err_why(errno)), EXIT_SANDGATE;
	if (pipe2(ready, O_CLOEXEC) < 0) {
		err_set(e, "a pipe: %s", err_why(errno));
		close(errors[0]);
		close(errors[1]);
		return EXIT_SANDGATE;
	}
	fflush(NULL);
	child = fork();
	if (child == 0)
		be_child(work, ctx, errors[1], ready[1]);
	close(errors[1]);
	close(ready[1]);
	status = EXIT_SANDGATE;
	if (child > 0)
		status = await(child, errors[0], ready[0]);
	else
		err_set(e, "a process for the supervisor: %s", err_why(errno));
	close(errors[0]);
	close(ready[0]);
	return status;
}

/* --- one that is nobody's child --- */

struct apart {
	background_work_fn *work;
	void *ctx;
	int errors, ready;
};

static void sg_noreturn be_apart(const struct apart *a, const int *fds, size_t n)
{
	int kept[1 + BACKGROUND_FDS_MAX] = {a->ready};

	if (n)
		memcpy(kept + 1, fds, n * sizeof(*fds));
	if (become_background(a->errors, kept, n + 1))
		_exit(EXIT_SANDGATE);
	ends_with_starter = true;
	_exit(a->work(a->ctx, kept[0], kept + 1));
}

/* Two forks: who called has no child that would have to be waited for. */
static int fork_apart(const struct apart *a, const int *fds, size_t n)
{
	pid_t child = fork(), again;

	if (child == 0) {
		again = fork();
		if (again == 0)
			be_apart(a, fds, n);
		_exit(again < 0 ? EXIT_SANDGATE : 0);
	}
	return child < 0 ? -errno : exit_status(child) ? -EAGAIN : 0;
}

/* Appends what is there to read; false at the end of the stream. */
static bool take(int from, char *text, size_t *n, size_t size)
{
	char room[1024];
	ssize_t got = read(from, room, sizeof(room));
	size_t fits = size - 1 - *n;

	if (got <= 0)
		return got < 0 && errno == EINTR;
	fits = (size_t)got < fits ? (size_t)got : fits;
	memcpy(text + *n, room, fits);
	*n += fits;
	text[*n] = 0;
	return true;
}

/* Until `ready` has ended, which it does in both cases; what is in `errors` then is whole. */
static void listen_to(int errors, int ready, struct background_said *said)
{
	size_t n_text = 0, n_name = 0;
	bool open = true;

	while (open) {
		struct pollfd fds[] = {{.fd = errors, .events = POLLIN},
				       {.fd = ready, .events = POLLIN}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents & POLLIN)
			take(errors, said->text, &n_text, sizeof(said->text));
		else if (fds[1].revents)
			open = take(ready, said->name, &n_name, sizeof(said->name));
	}
}

int background_start_apart(background_work_fn *work, void *ctx, const int *fds, size_t n,
			   struct background_said *said, struct err *e)
{
	int errors[2], ready[2], rc;

	*said = (struct background_said){.name = ""};
	if (pipe2(errors, O_CLOEXEC) < 0)
		return err_set(e, "a pipe: %s", err_why(errno));
	if (pipe2(ready, O_CLOEXEC) < 0) {
		err_set(e, "a pipe: %s", err_why(errno));
		close(errors[0]);
		close(errors[1]);
		return -1;
	}
	fflush(NULL);
	rc = fork_apart(&(struct apart){work, ctx, errors[1], ready[1]}, fds, n);
	close(errors[1]);
	close(ready[1]);
	if (rc == 0)
		listen_to(errors[0], ready[0], said);
	close(errors[0]);
	close(ready[0]);
	return rc ? err_set(e, "a process for the supervisor: %s", err_why(-rc)) : 0;
}
