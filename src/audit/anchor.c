/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>

#include "audit/anchors.h"
#include "base/clock.h"

enum { COMMAND_MS = 10000, COMMAND_POLL_MS = 10 };

/* ---- A file ---- */

static int write_all(int fd, const char *text)
{
	for (size_t left = strlen(text); left;) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

/*
 * May the file end in the middle of a note? A disk that was full when that was written leaves it so,
 * and of a file that cannot be read nobody knows.
 */
static bool may_end_in_note(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char last[2];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	return st.st_size > 0 && (st.st_size < 2 || pread(fd, last, 2, st.st_size - 2) != 2 ||
				  memcmp(last, "\n\n", 2) != 0);
}

/*
 * Many logs may write to it at the same time, and it may be one that can only be added to: a note
 * and its blank line go in one write, and nothing is taken back.
 */
static int push_to_file(const char *path, const char *checkpoint, struct err *e)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	_cleanup_free_ char *text = NULL;
	int r = fd < 0 ? -errno : 0;

	if (r == 0 &&
	    asprintf(&text, "%s%s\n", may_end_in_note(path) ? "\n\n" : "", checkpoint) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = write_all(fd, text);
	if (r == 0 && fdatasync(fd) != 0 && errno != EINVAL)
		r = -errno;
	return r < 0 ? err_set(e, "audit.anchor: %s: %s", path, err_why(-r)) : 0;
}

/* ---- syslog ---- */

static int push_to_syslog(const char *checkpoint, struct err *e)
{
	char line[ANCHORS_LINE_MAX];

	if (!anchors_print_line(span_of_string(checkpoint), line))
		return err_set(e, "audit.anchor: what is to be sent is no checkpoint");
	openlog("sandgate", LOG_PID, LOG_USER);
	syslog(LOG_NOTICE, "%s", line);
	closelog();
	return 0;
}

/* ---- A command ---- */

/* The checkpoint as a file in memory: a command that does not read it holds nobody up. */
static int make_input(const char *checkpoint)
{
	int fd = memfd_create("checkpoint", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, checkpoint);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static void sg_noreturn run_command(char *const *command, const char *name, int input)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	if (nowhere >= 0 && dup2(input, STDIN_FILENO) == STDIN_FILENO &&
	    dup2(nowhere, STDOUT_FILENO) == STDOUT_FILENO &&
	    dup2(nowhere, STDERR_FILENO) == STDERR_FILENO &&
	    close_range(STDERR_FILENO + 1, ~0U, 0) == 0 && setenv("SANDGATE_NAME", name, 1) == 0)
		execvp(command[0], command);
	_exit(127);
}

/* The status of waitpid(), or -errno: ETIMEDOUT when it was killed. */
static int wait_for(pid_t pid, int *status)
{
	const struct timespec pause = {.tv_nsec = COMMAND_POLL_MS * 1000000};
	mono_t until = mono_add_ms(mono_now(), COMMAND_MS);

	for (;;) {
		pid_t r = waitpid(pid, status, WNOHANG);

		if (r == pid)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (!mono_before(mono_now(), until))
			break;
		nanosleep(&pause, NULL);
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return -ETIMEDOUT;
}

static int say_ending(const char *command, int r, int status, struct err *e)
{
	if (r == -ETIMEDOUT)
		return err_set(e, "audit.anchor: %s: did not end within %d s, and was killed",
			       command, COMMAND_MS / 1000);
	if (r < 0)
		return err_set(e, "audit.anchor: %s: %s", command, err_why(-r));
	if (WIFSIGNALED(status))
		return err_set(e, "audit.anchor: %s: was ended by signal %d", command,
			       WTERMSIG(status));
	if (WEXITSTATUS(status) == 127)
		return err_set(e, "audit.anchor: %s: cannot be run; is it there, and executable?",
			       command);
	if (WEXITSTATUS(status))
		return err_set(e, "audit.anchor: %s: ended with status %d", command,
			       WEXITSTATUS(status));
	return 0;
}

static int push_to_command(char *const *command, const char *name, const char *checkpoint,
			   struct err *e)
{
	_cleanup_fd_ int input = make_input(checkpoint);
	int status = 0, r = input < 0 ? input : 0;
	pid_t pid = -1;

	if (r == 0) {
		pid = fork();
		r = pid < 0 ? -errno : 0;
	}
	if (pid == 0)
		run_command(command, name, input);
	if (r == 0)
		r = wait_for(pid, &status);
	return say_ending(command[0], r, status, e);
}

int audit_anchor_push(const struct audit_anchor *a, const char *name, const char *checkpoint,
		      struct err *e)
{
	struct err later;
	int r = 0;

	if (a->file)
		r = push_to_file(a->file, checkpoint, e);
	if (a->syslog && push_to_syslog(checkpoint, r ? &later : e) < 0)
		r = -1;
	if (a->command && a->command[0] &&
	    push_to_command(a->command, name, checkpoint, r ? &later : e) < 0)
		r = -1;
	return r;
}
