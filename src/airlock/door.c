/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door stays in the sandbox's network namespace, where whatever listens is the sandbox's: a
 * request has a deadline, so that a listener that does not answer holds up its own kind only.
 * Requests are answered one after the other, in the order in which they came.
 */
#include "airlock/door.h"

#include <arpa/inet.h>
#include <cap-ng.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/clock.h"
#include "confine/confine.h"

enum { CONNECT_MS = 1000 };

int door_confine(int sock, int keeper, const struct door_places *places, struct err *e)
{
	const struct confine_call calls[] = {
		{SCMP_SYS(recvmsg), 0, (uint32_t)sock},
		{SCMP_SYS(recvfrom), 0, (uint32_t)sock},
		{SCMP_SYS(sendmsg), 0, (uint32_t)sock},
		{SCMP_SYS(sendmsg), 0, (uint32_t)keeper},
		{SCMP_SYS(socket), 0, AF_INET},
		{SCMP_SYS(socket), 0, AF_INET6},
		{SCMP_SYS(connect), CONFINE_ANY, 0},
		{SCMP_SYS(getsockopt), CONFINE_ANY, 0},
		{SCMP_SYS(poll), CONFINE_ANY, 0},
		{SCMP_SYS(ppoll), CONFINE_ANY, 0},
		{SCMP_SYS(close), CONFINE_ANY, 0},
		{SCMP_SYS(clock_gettime), CONFINE_ANY, 0},
		{SCMP_SYS(exit_group), CONFINE_ANY, 0},
		{SCMP_SYS(restart_syscall), CONFINE_ANY, 0},
		{SCMP_SYS(setsockopt), 2, IP_TRANSPARENT},
	};
	/* IP_TRANSPARENT asks for it at each socket. */
	uint64_t kept = places->transparent ? CONFINE_CAPABILITY(CAP_NET_RAW) : 0;

	if (confine_privileges(kept, e) < 0 || confine_files(&(struct confine_files){0}, e) < 0)
		return -1;
	return confine_calls(calls, sg_array_len(calls), e);
}

/* Waits for a connection under way. 0 or -errno. */
static int finish(int fd, mono_t until)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t n = sizeof(int);
	int ready, error = 0;

	do {
		int64_t left = mono_ms_until(mono_now(), until);

		ready = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready < 0 ? -errno : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		return -errno;
	return -error;
}

/* A connected socket, or -errno. */
static int connect_to(const struct addr *place, uint16_t port, bool transparent, mono_t until)
{
	struct endpoint to = {.addr = *place, .port = port};
	struct sockaddr_storage name;
	socklen_t n = endpoint_to_sockaddr(&to, &name);
	int fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0, on = 1;

	if (fd < 0)
		return -errno;
	if (transparent && setsockopt(fd, SOL_IP, IP_TRANSPARENT, &on, sizeof(on)) < 0)
		error = -errno;
	else if (connect(fd, (struct sockaddr *)&name, n) < 0)
		error = errno == EINPROGRESS ? finish(fd, until) : -errno;
	if (error < 0) {
		close(fd);
		return error;
	}
	return fd;
}

/* The error is that of the first place. */
static int connect_inside(const struct door_places *places, uint16_t port)
{
	mono_t until = mono_add_ms(mono_now(), CONNECT_MS);
	int first = -EHOSTUNREACH;

	for (size_t i = 0; i < places->n; i++) {
		int fd = connect_to(&places->v[i], port, places->transparent, until);

		if (fd >= 0)
			return fd;
		first = i == 0 ? fd : first;
	}
	return first;
}

static int send_answer(int sock, int result)
{
	union {
		struct cmsghdr header;
		char octets[CMSG_SPACE(sizeof(int))];
	} control = {0};
	uint8_t status = result < 0 ? (uint8_t)-result : 0;
	struct iovec io = {.iov_base = &status, .iov_len = sizeof(status)};
	struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1};

	if (result >= 0) {
		h.msg_control = control.octets;
		h.msg_controllen = sizeof(control.octets);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &result, sizeof(int));
	}
	return sendmsg(sock, &h, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void door_serve(int sock, const struct door_places *places)
{
	for (;;) {
		uint16_t port;
		ssize_t got = recv(sock, &port, sizeof(port), MSG_TRUNC);
		int result, error;

		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(port) || port == 0)
			_exit(got == 0 ? 0 : 1);
		result = connect_inside(places, ntohs(port));
		error = send_answer(sock, result);
		if (result >= 0)
			close(result);
		if (error < 0)
			_exit(0);
	}
}
