/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/exec_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/control/client.h"
#include "sandbox/engine/environment.h"
#include "sandbox/engine/exec_elsewhere.h"
#include "sandbox/control/exec_relay.h"
#include "sandbox/files/memory_file.h"
#include "sandbox/run.h"

extern char **environ;

enum { SIGNAL_STATUS = 128 };

/* What the person's terminal is, the sandbox's new one is as well. */
static const char *const of_terminal[] = {"TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR"};

/* --- what is asked --- */

struct texts {
	FILE *to;
	struct exec_hello *hello;
};

static void put(struct texts *t, const char *text, uint32_t *count)
{
	fwrite(text, 1, strlen(text) + 1, t->to);
	++*count;
}

static void put_all(struct texts *t, const struct exec_options *o)
{
	uint32_t one = 0;

	put(t, o->cwd ? o->cwd : "", &one);
	for (char *const *p = o->argv; *p; p++)
		put(t, *p, &t->hello->n_args);
	for (size_t i = 0; i < sg_array_len(of_terminal); i++) {
		const char *value = environment_get(environ, of_terminal[i]);

		if (!value || t->hello->passed == EXEC_ALL_PASSED)
			continue;
		fprintf(t->to, "%s=", of_terminal[i]);
		put(t, value, &t->hello->n_env);
	}
	for (const char *const *p = o->env; p && *p; p++)
		put(t, *p, &t->hello->n_env);
}

/* A file of the texts, or -errno. */
static int make_texts(const struct exec_options *o, struct exec_hello *h)
{
	char *text = NULL;
	size_t n = 0;
	struct texts t = {open_memstream(&text, &n), h};
	int fd;

	if (!t.to)
		return -errno;
	put_all(&t, o);
	if (fclose(t.to) != 0)
		return -ENOMEM;
	h->size = (uint32_t)n;
	if (n > EXEC_TEXT_MAX || h->n_args > EXEC_WORDS_MAX || h->n_env > EXEC_WORDS_MAX)
		fd = -E2BIG;
	else
		fd = memory_file("exec", text, n);
	free(text);
	return fd == -1 ? -errno : fd;
}

/* A folder's descriptor leads anywhere on the host. */
static int choose_standard(struct exec_hello *h, int fds[EXEC_FDS_MAX], int *n_fds, struct err *e)
{
	static const char *const names[] = {"input", "output", "error"};
	struct stat st;

	for (int fd = 0; fd < EXEC_STANDARD; fd++) {
		if (isatty(fd))
			continue;
		if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
			return err_set(
				e,
				"standard %s is a folder, which is not handed in; give a file or "
				"a pipe",
				names[fd]);
		h->passed |= 1U << fd;
		fds[(*n_fds)++] = fd;
	}
	return 0;
}

static void set_size(struct exec_hello *h)
{
	struct winsize size;

	for (int fd = 0; fd < EXEC_STANDARD; fd++)
		if (!(h->passed >> fd & 1) && ioctl(fd, TIOCGWINSZ, &size) == 0) {
			h->rows = size.ws_row;
			h->columns = size.ws_col;
			return;
		}
}

/* 0 or -1 with the message. */
static int send_request(int connection, const struct exec_options *o, struct exec_hello *h,
			struct err *e)
{
	int fds[EXEC_FDS_MAX] = {-1}, n_fds = 1, rc;

	if (choose_standard(h, fds, &n_fds, e))
		return -1;
	set_size(h);
	fds[0] = make_texts(o, h);
	if (fds[0] == -E2BIG)
		return err_set(e, "the command line and its variables are too long");
	if (fds[0] < 0)
		return err_set(e, "asking for a command: %s", err_why(-fds[0]));
	rc = exec_send(connection, h, sizeof(*h), fds, n_fds);
	close(fds[0]);
	/* Closed already: the end of the connection says more than this error. */
	return rc && rc != -EPIPE && rc != -ECONNRESET
		       ? err_set(e, "asking for a command: %s", err_why(-rc))
		       : 0;
}

/* --- what came of it --- */

static int say_failed(const struct exec_options *o, const struct exec_news *failed, struct err *e)
{
	const char *what = o->argv[0], *why = strerror(failed->value);

	switch (failed->step) {
	case EXEC_CHDIR:
		err_set(e, "--cwd %s: %s in the sandbox; name a folder that it sees",
			o->cwd ? o->cwd : ".", why);
		return EXIT_SANDGATE;
	case EXEC_TERMINAL:
		err_set(e, "a terminal in the sandbox: %s", why);
		return EXIT_SANDGATE;
	case EXEC_INTERPRETER:
		err_set(e, "%s: what it names as its interpreter is not in the sandbox", what);
		return EXIT_CANNOT_EXECUTE;
	default:
		break;
	}
	if (failed->value == ENOENT) {
		err_set(e, "%s: not found in the sandbox; install it there, or give its path",
			what);
		return EXIT_NOT_FOUND;
	}
	err_set(e, "%s: cannot be executed: %s", what, why);
	return EXIT_CANNOT_EXECUTE;
}

static int say_refused(const struct exec_options *o, int why, struct err *e)
{
	if (why == EPROTO)
		err_set(e,
			"%s: it was started by another version of sandgate; stop it and start it "
			"again",
			o->name);
	else if (why == EBUSY)
		err_set(e, "%s: too many commands run in it; wait for the end of one", o->name);
	else
		err_set(e, "%s: the command could not be started: %s", o->name, err_why(why));
	return EXIT_SANDGATE;
}

static int exit_status(const struct exec_options *o, const struct exec_end *end, struct err *e)
{
	int status = end->news.value;

	if (!end->told) {
		err_set(e,
			end->begun ? "%s: the sandbox has ended, and the command with it"
				   : "%s: the sandbox has ended, and the command was not started",
			o->name);
		return end->begun ? EXIT_SANDGATE : EXEC_NOT_BEGUN;
	}
	if (end->news.kind == EXEC_REFUSED)
		return say_refused(o, status, e);
	if (end->failed.kind)
		return say_failed(o, &end->failed, e);
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Of one that is ending nobody listens any more. */
static int connect_to(const struct exec_options *o, struct err *e)
{
	int fd = client_connect_in(o->dir, EXEC_SOCKET);

	if (fd >= 0)
		return fd;
	err_set(e, "%s: commands cannot be run in it: %s", o->name, err_why(-fd));
	return fd;
}

static bool has_ended(int rc)
{
	return rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -ENOENT;
}

int exec_client_run(const struct exec_options *o, struct err *e)
{
	struct exec_hello h = {.magic = EXEC_MAGIC, .holds = o->holds};
	_cleanup_fd_ int connection = -1;
	struct exec_end end;
	int rc;

	if (!exec_elsewhere_is_inside(o->name) && exec_elsewhere_run(o, e) < 0)
		return EXIT_SANDGATE;
	connection = connect_to(o, e);
	if (connection < 0)
		return has_ended(connection) ? EXEC_NOT_BEGUN : EXIT_SANDGATE;
	if (send_request(connection, o, &h, e))
		return EXIT_SANDGATE;
	*e->text = 0;
	rc = exec_relay_run(connection, h.passed, &end);
	if (rc == 0)
		return exit_status(o, &end, e);
	err_set(e, "%s: waiting for the command: %s", o->name, err_why(-rc));
	return EXIT_SANDGATE;
}
