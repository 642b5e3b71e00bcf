/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/own_socket.h"

static const struct {
	const char *name;
	int type;
} sockets[] = {
	[CONTROL_SOCKET] = {CONTROL_SOCKET_NAME, SOCK_STREAM},
	[EXEC_SOCKET] = {EXEC_SOCKET_NAME, SOCK_SEQPACKET},
	[HOOK_SOCKET] = {HOOK_SOCKET_NAME, SOCK_SEQPACKET},
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
	int fd = socket(AF_UNIX, sockets[kind].type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	unlinkat(dir, sockets[kind].name, 0);
	return own_socket_listen(fd, &a);
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

/* In how many PID namespaces, from that of /proc on, a process has a number; 0: not known. */
static size_t count_pids(const char *status)
{
	static const char key[] = "NSpid:";
	char line[1024];
	size_t n = 0;
	FILE *f = fopen(status, "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *rest = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		for (char *word; (word = strtok_r(rest, " \t\n", &rest)); n++)
			;
		break;
	}
	if (f)
		fclose(f);
	return n;
}

/*
 * Not by the namespaces themselves, which a process of the person's does not show to one in a user
 * namespace of theirs. One that sits in a namespace below has a number more.
 */
bool control_socket_is_beside(pid_t pid)
{
	char path[64];
	size_t own = count_pids("/proc/self/status");

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return pid > 0 && own > 0 && count_pids(path) == own;
}

bool control_socket_peer_is_own(int fd, struct ucred *who)
{
	socklen_t n = sizeof(*who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &n) < 0)
		return false;
	/* Root is not in the sandbox of a person, and does not show its namespaces to one. */
	if (who->uid == 0 && geteuid() != 0)
		return true;
	return who->uid == geteuid() && control_socket_is_beside(who->pid);
}
