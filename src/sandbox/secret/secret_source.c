/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/secret/secret_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "policy/secret_from.h"
#include "sandbox/engine/exposure.h"
#include "sandbox/files/home.h"
#include "sandbox/person.h"
#include "sandbox/secret/secret_command.h"

enum { PATH_TEXT_MAX = 4096 };

struct reading {
	const char *host;
	int timeout_ms;
	const struct exposure *exposure;
};

static const char exposed[] = "a sandbox may write it, or a link that leads to it; keep it in a "
			      "folder that no sandbox has";

/* ---- file ---- */

static int check_file(const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return err_set(e, "it is not a regular file");
	if (st->st_uid != geteuid() && !person_sees_root(st->st_uid))
		return err_set(e, "the file belongs to another user");
	if (st->st_mode & (S_IRWXG | S_IRWXO))
		return err_set(e, "other users may use the file (mode %03o); chmod 600 it",
			       st->st_mode & 0777);
	return 0;
}

static int read_open_file(int fd, struct buf *out, struct err *e)
{
	size_t room = out->cap - out->n, n = 0;

	for (;;) {
		ssize_t got = read(fd, out->p + out->n + n, room - n);

		if (got < 0)
			return err_set(e, "cannot be read: %s", err_why(errno));
		n += (size_t)got;
		if (got == 0)
			break;
		if (n == room)
			return err_set(e,
				       "the file holds more than %d octets, too many for a secret",
				       SECRET_SOURCE_MAX);
	}
	out->n += n;
	return 0;
}

static int read_file(const struct reading *r, const char *path, struct buf *out, struct err *e)
{
	const char *home = path[0] == '~' ? home_find() : "";
	char whole[PATH_TEXT_MAX];
	struct stat st;
	_cleanup_fd_ int fd = -1;

	if (!home)
		return err_set(e, "there is no home folder for `~`");
	if (snprintf(whole, sizeof(whole), "%s%s", home, path + (path[0] == '~')) >=
	    (int)sizeof(whole))
		return err_set(e, "the path is too long");
	if (exposure_has(r->exposure, whole))
		return err_set(e, "%s", exposed);
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st))
		return err_set(e, "cannot be read: %s", err_why(errno));
	return check_file(&st, e) ? -1 : read_open_file(fd, out, e);
}

/* ---- command ---- */

static int run(const struct reading *r, const char *const *argv, struct buf *out, struct err *e)
{
	struct secret_command c = {
		.argv = argv,
		.timeout_ms = r->timeout_ms,
		.exposure = r->exposure,
	};

	return secret_command_run(&c, out, e);
}

static int run_words(const struct reading *r, const char *words, struct buf *out, struct err *e)
{
	const char *argv[SECRET_ARGUMENTS_MAX + 1] = {NULL};
	char text[SECRET_FROM_MAX_OCTETS + 1], *rest = NULL;
	size_t n = 0;
	int rc;

	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &rest); w && n < SECRET_ARGUMENTS_MAX;
	     w = strtok_r(NULL, " ", &rest))
		argv[n++] = w;
	if (argv[0][0] == '/' && exposure_has(r->exposure, argv[0]))
		return err_set(e, "%s", exposed);
	rc = run(r, argv, out, e);
	return rc == -ENOENT ? err_set(e, "there is no program `%s`; write its whole path", argv[0])
			     : rc;
}

/* ---- keyring ---- */

static int read_keyring(const struct reading *r, const char *names, struct buf *out, struct err *e)
{
	char service[SECRET_FROM_MAX_OCTETS + 1];
	const char *slash = strchr(names, '/');
	const char *argv[] = {"secret-tool",
			      "lookup",
			      "service",
			      service,
			      slash ? "account" : NULL,
			      slash ? slash + 1 : NULL,
			      NULL};
	size_t before = out->n;
	int rc;

	snprintf(service, sizeof(service), "%.*s",
		 slash ? (int)(slash - names) : (int)strlen(names), names);
	rc = run(r, argv, out, e);
	if (rc == -ENOENT)
		return err_set(e, "secret-tool is not installed; apt-get install libsecret-tools");
	if (rc == 0 && out->n == before)
		return err_set(e,
			       "the keyring has no such secret; store it with `secret-tool store`");
	return rc;
}

/* ---- git ---- */

/* gh and git know the site, of which the API is a part. */
static const char *site_of(const char *host)
{
	size_t n = strlen(host);
	static const char end[] = ".github.com";

	return n > sizeof(end) - 1 && strcmp(host + n - (sizeof(end) - 1), end) == 0 ? "github.com"
										     : host;
}

/* Of the lines that git prints, KEY=VALUE each, only the password is kept. */
static int keep_password(struct buf *out, size_t before, struct err *e)
{
	static const char key[] = "password=";
	uint8_t *text = out->p + before, *at = text;
	size_t n = out->n - before, kept = 0;

	while (at < text + n) {
		uint8_t *end = memchr(at, '\n', n - (size_t)(at - text));
		size_t line = (size_t)((end ? end : text + n) - at);

		if (line > sizeof(key) - 1 && memcmp(at, key, sizeof(key) - 1) == 0) {
			kept = line - (sizeof(key) - 1);
			memmove(text, at + sizeof(key) - 1, kept);
			break;
		}
		at += line + 1;
	}
	explicit_bzero(text + kept, n - kept);
	out->n = before + kept;
	return kept ? 0 : err_set(e, "git has no password for it");
}

/*
 * The first three: nobody is asked in the middle of a request. GIT_DIR would name a repository,
 * whose configuration may be an agent's.
 */
static int read_git(const struct reading *r, const char *site, struct buf *out, struct err *e)
{
	static const char *const argv[] = {
		"git", "-c", "core.askPass=", "credential", "fill", NULL};
	static const char *const env[] = {"GIT_TERMINAL_PROMPT=0",
					  "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_DIR", NULL};
	char input[512];
	struct secret_command c = {.argv = argv,
				   .env = env,
				   .input = input,
				   .timeout_ms = r->timeout_ms,
				   .exposure = r->exposure};
	size_t before = out->n;
	int rc;

	snprintf(input, sizeof(input), "protocol=https\nhost=%s\n\n", site);
	rc = secret_command_run(&c, out, e);
	return rc ? rc : keep_password(out, before, e);
}

static int read_gh(const struct reading *r, const char *site, struct buf *out, struct err *e)
{
	const char *argv[] = {"gh", "auth", "token", "--hostname", site, NULL};

	if (strcmp(site, "github.com") != 0)
		return err_set(e, "it is for GitHub");
	return run(r, argv, out, e);
}

static int read_signed_in(const struct reading *r, struct buf *out, struct err *e)
{
	const char *site = site_of(r->host);
	mono_t until = mono_add_ms(mono_now(), r->timeout_ms);
	struct err gh = {"gh is not installed"}, git = {"git is not installed"};
	struct reading rest = *r;

	if (read_gh(r, site, out, &gh) == 0)
		return 0;
	rest.timeout_ms = (int)mono_ms_until(mono_now(), until);
	if (rest.timeout_ms > 0 && read_git(&rest, site, out, &git) == 0)
		return 0;
	return err_set(e,
		       "nobody is signed in at %s; sign in with gh or git outside of the sandbox "
		       "(gh: %s; git: %s)",
		       site, gh.text, git.text);
}

/* ---- All ---- */

static int read_kind(const struct reading *r, enum secret_kind kind, const char *rest,
		     struct buf *out, struct err *e)
{
	switch (kind) {
	case SECRET_ENV:
		return err_set(e, "a variable is kept from the start on");
	case SECRET_FILE:
		return read_file(r, rest, out, e);
	case SECRET_COMMAND:
		return run_words(r, rest, out, e);
	case SECRET_KEYRING:
		return read_keyring(r, rest, out, e);
	case SECRET_GIT:
		return read_signed_in(r, out, e);
	case SECRET_KINDS:
		break;
	}
	return err_set(e, "an unknown source");
}

static int read_source(const struct secret_request *what, struct buf *out, struct err *e)
{
	struct exposure exposure;
	struct reading r = {
		.host = what->host,
		.timeout_ms = what->timeout_ms ? what->timeout_ms : SECRET_SOURCE_SECONDS * 1000,
		.exposure = &exposure,
	};
	enum secret_kind kind;
	const char *rest;
	int rc;

	if (secret_from_parse(what->from, &kind, &rest, e) || exposure_read(&exposure, e))
		return -1;
	rc = read_kind(&r, kind, rest, out, e);
	exposure_free(&exposure);
	return rc ? -1 : 0;
}

/* The room is what the caller has, or less: what is bigger is no secret. */
int secret_source_read(const struct secret_request *r, struct buf *out, struct err *e)
{
	struct buf room = buf_of(out->p + out->n, out->cap - out->n);

	if (room.cap > SECRET_SOURCE_MAX)
		room.cap = SECRET_SOURCE_MAX;
	if (read_source(r, &room, e)) {
		explicit_bzero(room.p, room.cap);
		return err_prefix(e, "%s", r->from);
	}
	out->n += room.n;
	return 0;
}
