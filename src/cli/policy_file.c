/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	CHUNK = 64 * 1024,
	FILE_MAX = 64 * 1024 * 1024, /* a million names fit */
};

struct text {
	char *p;
	size_t n, cap;
};

static int grow(struct text *t)
{
	size_t cap = t->cap ? t->cap * 2 : CHUNK;
	char *p = realloc(t->p, cap);

	if (!p)
		return -ENOMEM;
	t->p = p;
	t->cap = cap;
	return 0;
}

/* All of fd, which may be a pipe. 0 or -errno. */
static int read_all(int fd, struct text *t)
{
	for (;;) {
		ssize_t n;

		if (t->n == t->cap && grow(t))
			return -ENOMEM;
		n = read(fd, t->p + t->n, t->cap - t->n);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			t->n += (size_t)n;
		if (t->n > FILE_MAX)
			return -EFBIG;
	}
}

const char *policy_file_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

static bool is_json(const char *path, const struct text *t)
{
	size_t n = strlen(path);

	if (strcmp(path, "-") != 0)
		return n > 5 && strcmp(path + n - 5, ".json") == 0;
	for (size_t i = 0; i < t->n; i++)
		if (!strchr(" \t\r\n", t->p[i]))
			return t->p[i] == '{';
	return false;
}

static int cannot_read(const char *path, int error, struct err *e)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return err_set(e, "%s: there is no such file; correct the path, or write it", path);
	case EACCES:
		return err_set(e, "%s: you may not read this policy; let your user read it", path);
	case EISDIR:
		return err_set(e, "%s: it is a folder; name the policy file in it", path);
	case EBADF:
		return err_set(e, "%s: it is closed; name a file, or send the policy there", path);
	case EFBIG:
		return err_set(e, "%s: larger than %d MiB, which no policy is; name another file",
			       path, FILE_MAX / (1024 * 1024));
	default:
		return err_set(e, "%s: cannot read the policy: %s", path, err_why(error));
	}
}

static int open_file(const char *path, struct err *e)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		cannot_read(policy_file_name(path), errno, e);
	return fd;
}

int policy_file_read(const char *path, const struct catalogue *c, struct policy *p,
		     struct digest *octets, struct err *e)
{
	_cleanup_fd_ int fd = open_file(path, e);
	struct text t = {0};
	int r;

	policy_init(p);
	if (fd < 0)
		return -1;
	r = read_all(fd, &t);
	if (r == 0 && octets)
		*octets = digest_of(&(struct span){(const uint8_t *)t.p, t.n}, 1);
	if (r)
		r = cannot_read(policy_file_name(path), -r, e);
	else
		r = policy_parse_known(span_of(t.p, t.n),
				       is_json(path, &t) ? POLICY_JSON : POLICY_YAML,
				       policy_file_name(path), c, p, e);
	free(t.p);
	return r;
}
