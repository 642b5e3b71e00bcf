/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/frames_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/own_socket.h"

enum { BACKLOG = 4 };

static int type_of(enum frames_kind kind)
{
	return kind == FRAMES_STREAM ? SOCK_STREAM : SOCK_DGRAM;
}

static int set_address(struct sockaddr_un *a, const char *path, struct err *e)
{
	size_t n = strlen(path);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n == 0)
		return err_set(e, "a socket of frames needs a path");
	if (n >= sizeof(a->sun_path))
		return err_set(
			e, "%s: the path of a socket has at most %zu octets; take a shorter one",
			path, sizeof(a->sun_path) - 1);
	memcpy(a->sun_path, path, n);
	return 0;
}

/* A socket whose process has gone without taking its file away refuses everybody. */
static bool is_left_over(const struct sockaddr_un *a, enum frames_kind kind)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_uid == geteuid() && connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
	       errno == ECONNREFUSED;
}

static int bind_at(int fd, const struct sockaddr_un *a, enum frames_kind kind)
{
	int r = own_socket_bind(fd, a, 0600);

	if (r != -EADDRINUSE || !is_left_over(a, kind))
		return r;
	return unlink(a->sun_path) < 0 ? -errno : own_socket_bind(fd, a, 0600);
}

static int refuse(const char *path, int error, struct err *e)
{
	if (error == EADDRINUSE)
		return err_set(
			e,
			"%s: something is there already, and it is in use or no socket; take "
			"another path",
			path);
	return err_set(e, "cannot make the socket %s: %s", path, err_why(error));
}

int frames_socket_open(struct frames_socket *s, enum frames_kind kind, const char *path,
		       struct err *e)
{
	struct sockaddr_un a;
	struct stat st;
	int r;

	*s = FRAMES_SOCKET_NONE;
	if (set_address(&a, path, e) < 0)
		return -1;
	s->fd = socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_set(e, "cannot make the socket %s: %s", path, err_why(errno));
	r = bind_at(s->fd, &a, kind);
	if (r == 0 && kind == FRAMES_STREAM && listen(s->fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0 && lstat(path, &st) < 0)
		r = -errno;
	if (r < 0) {
		close(s->fd);
		*s = FRAMES_SOCKET_NONE;
		return refuse(path, -r, e);
	}
	s->path = path;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

void frames_socket_close(struct frames_socket *s)
{
	struct stat st;

	if (s->fd < 0)
		return;
	close(s->fd);
	if (lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
	*s = FRAMES_SOCKET_NONE;
}
