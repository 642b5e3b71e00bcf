/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "airlock/layout.h"

static bool set(int fd, int level, int option)
{
	int one = 1;

	return setsockopt(fd, level, option, &one, sizeof(one)) == 0;
}

static bool bind_any(int fd, int family)
{
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(AIRLOCK_TPROXY_PORT)};
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6,
				    .sin6_port = htons(AIRLOCK_TPROXY_PORT)};

	if (family == AF_INET)
		return set(fd, SOL_IP, IP_TRANSPARENT) &&
		       bind(fd, (struct sockaddr *)&any4, sizeof(any4)) == 0;
	return set(fd, SOL_IPV6, IPV6_V6ONLY) && set(fd, SOL_IPV6, IPV6_TRANSPARENT) &&
	       bind(fd, (struct sockaddr *)&any6, sizeof(any6)) == 0;
}

int listen_open(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/*
	 * SO_REUSEADDR: connections of a gate that died may still be closing on the port. Not
	 * TCP_DEFER_ACCEPT: the gate waits for the far side before the handshake, not after it.
	 */
	if (!set(fd, SOL_SOCKET, SO_REUSEADDR) || !set(fd, SOL_TCP, TCP_NODELAY) ||
	    !bind_any(fd, family) || listen(fd, AIRLOCK_BACKLOG) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}
