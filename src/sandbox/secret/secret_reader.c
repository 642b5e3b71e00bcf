/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/secret/secret_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/locked.h"
#include "sandbox/pidfd.h"
#include "sandbox/secret/secret_source.h"

/* ---- In the child ---- */

enum { SECRET_FD = 3, WHY_FD = 4 };

/* Whoever watches the supervisor's descriptors must not find copies of them here. */
static int keep_two(int secret, int why)
{
	int a = fcntl(secret, F_DUPFD_CLOEXEC, WHY_FD + 1);
	int b = fcntl(why, F_DUPFD_CLOEXEC, WHY_FD + 1);

	if (a < 0 || b < 0 || dup3(a, SECRET_FD, O_CLOEXEC) < 0 || dup3(b, WHY_FD, O_CLOEXEC) < 0)
		return -1;
	return close_range(WHY_FD + 1, ~0u, 0);
}

static int write_all(struct buf *out, struct err *e)
{
	/* A pipe that has no room for it would never be read: the reader of it waits for our end. */
	if (fcntl(SECRET_FD, F_SETFL, O_NONBLOCK) == 0 &&
	    write(SECRET_FD, out->p, out->n) == (ssize_t)out->n)
		return 0;
	return err_set(e, "the pipe to the broker has no room for it");
}

static int read_and_write(const struct secret_request *r, struct err *e)
{
	uint8_t *p = locked_new(SECRET_SOURCE_MAX, e);
	struct buf out = buf_of(p, SECRET_SOURCE_MAX);
	int rc;

	if (!p)
		return -1;
	rc = secret_source_read(r, &out, e) || write_all(&out, e) ? -1 : 0;
	locked_free(p, SECRET_SOURCE_MAX);
	return rc;
}

sg_noreturn static void become_reader(const struct secret_request *r, int secret, int why,
				      pid_t supervisor)
{
	struct err e;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
		_exit(EXIT_FAILURE);
	/* No terminal: nobody is asked for anything in the middle of a request. */
	setsid();
	if (keep_two(secret, why))
		_exit(EXIT_FAILURE);
	if (read_and_write(r, &e) == 0)
		_exit(EXIT_SUCCESS);
	(void)!write(WHY_FD, e.text, strlen(e.text));
	_exit(EXIT_FAILURE);
}

/* ---- In the supervisor ---- */

static void forget(struct secret_reader *r)
{
	if (r->pidfd >= 0)
		close(r->pidfd);
	if (r->secret >= 0)
		close(r->secret);
	if (r->why >= 0)
		close(r->why);
	*r = (struct secret_reader){.pidfd = -1, .secret = -1, .why = -1};
}

static int start(struct secret_reader *r, const struct secret_request *what, const int secret[2],
		 const int why[2], struct err *e)
{
	pid_t self = getpid();

	r->pid = fork();
	if (r->pid == 0)
		become_reader(what, secret[1], why[1], self);
	r->pidfd = r->pid > 0 ? pidfd_open_child(r->pid) : -1;
	if (r->pidfd >= 0)
		return 0;
	err_set(e, "%s: it cannot be read: %s", what->from, err_why(errno));
	secret_reader_abandon(r);
	return -1;
}

int secret_reader_start(struct secret_reader *r, const char *from, const char *host, struct err *e)
{
	const struct secret_request what = {
		.from = from, .host = host, .timeout_ms = SECRET_READER_MS};
	int secret[2], why[2], rc;

	*r = (struct secret_reader){.pidfd = -1, .secret = -1, .why = -1};
	if (pipe2(secret, O_CLOEXEC))
		return err_set(e, "%s: it cannot be read: %s", from, err_why(errno));
	r->secret = secret[0];
	if (pipe2(why, O_CLOEXEC | O_NONBLOCK)) {
		err_set(e, "%s: it cannot be read: %s", from, err_why(errno));
		close(secret[1]);
		forget(r);
		return -1;
	}
	r->why = why[0];
	r->until = mono_add_ms(mono_now(), SECRET_READER_MS + SECRET_READER_GRACE_MS);
	rc = start(r, &what, secret, why, e);
	close(secret[1]);
	close(why[1]);
	return rc;
}

static int reap(struct secret_reader *r)
{
	int status = 0;

	if (r->pid <= 0)
		return 0;
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* What a program said may be in it. */
static int tell_why(const struct secret_reader *r, const char *from, struct err *e)
{
	char text[sizeof(e->text)];
	ssize_t n = read(r->why, text, sizeof(text) - 1);

	if (n <= 0)
		return err_set(e, "%s: it did not end within %d seconds; it was ended", from,
			       SECRET_READER_MS / 1000);
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f)
			text[i] = '?';
	text[n] = 0;
	return err_set(e, "%s", text);
}

int secret_reader_finish(struct secret_reader *r, const char *from, struct err *e)
{
	int status = reap(r), fd = -1;

	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
		fd = r->secret;
		r->secret = -1;
	} else {
		tell_why(r, from, e);
	}
	forget(r);
	return fd;
}

void secret_reader_abandon(struct secret_reader *r)
{
	reap(r);
	forget(r);
}
