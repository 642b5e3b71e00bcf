/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

static const struct {
	const char *name;
	int type;
} sockets[] = {
	[CONTROL_SOCKET] = {CONTROL_SOCKET_NAME, SOCK_STREAM},
	[EXEC_SOCKET] = {EXEC_SOCKET_NAME, SOCK_SEQPACKET},
};

static struct sockaddr_un address_in(int dir, enum control_socket_kind kind)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, sockets[kind].name);
	return a;
}

int control_socket_listen(int dir, enum control_socket_kind kind)
{
	struct sockaddr_un a = address_in(dir, kind);
	int fd = socket(AF_UNIX, sockets[kind].type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	mode_t mask;

	if (fd < 0)
		return -errno;
	unlinkat(dir, sockets[kind].name, 0);
	mask = umask(077);
	rc = bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, BACKLOG) ? -errno : 0;
	umask(mask);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int control_socket_connect(int dir, enum control_socket_kind kind)
{
	struct sockaddr_un a = address_in(dir, kind);
	int fd = socket(AF_UNIX, sockets[kind].type | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static bool same_pid_namespace(pid_t pid)
{
	char path[64];
	struct stat own, other;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return pid > 0 && stat(path, &other) == 0 && stat("/proc/self/ns/pid", &own) == 0 &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool control_socket_peer_is_own(int fd, struct ucred *who)
{
	socklen_t n = sizeof(*who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &n) < 0)
		return false;
	/* Root is not in the sandbox of a person, and does not show its namespaces to one. */
	if (who->uid == 0 && geteuid() != 0)
		return true;
	return who->uid == geteuid() && same_pid_namespace(who->pid);
}
