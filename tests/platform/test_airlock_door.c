/* SPDX-License-Identifier: Apache-2.0 */
/* The door: sockets connected into the sandbox, and what a hostile sandbox can do to it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/addr.h"
#include "lock.h"

enum { PORT = 8080, BACKLOG_PORT = 8081, CLOSED_PORT = 8082 };

/* The status octet of the answer; *fd is the socket that came, or -1. */
static int ask(uint16_t port, int *fd)
{
	uint16_t wire = htons(port);
	struct pollfd p = {.fd = lock.door, .events = POLLIN};
	union {
		struct cmsghdr header;
		char octets[CMSG_SPACE(sizeof(int))];
	} control;
	uint8_t status[2];
	struct iovec io = {.iov_base = status, .iov_len = sizeof(status)};
	struct msghdr h = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};

	*fd = -1;
	CHECK(send(lock.door, &wire, sizeof(wire), MSG_NOSIGNAL) == sizeof(wire));
	CHECK(poll(&p, 1, RIG_PATIENT_MS) == 1);
	CHECK(recvmsg(lock.door, &h, MSG_CMSG_CLOEXEC) == 1);
	if (CMSG_FIRSTHDR(&h))
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof(*fd));
	CHECK((status[0] == 0) == (*fd >= 0));
	return status[0];
}

static int listen_inside(const char *text, uint16_t port, int backlog)
{
	struct endpoint at = {.port = port};
	struct sockaddr_storage name;
	socklen_t n;
	int fd, one = 1;

	CHECK(addr_parse(text, strlen(text), &at.addr));
	n = endpoint_to_sockaddr(&at, &name);
	fd = socket(name.ss_family, SOCK_STREAM, 0);
	CHECK(fd >= 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	CHECK(bind(fd, (struct sockaddr *)&name, n) == 0 && listen(fd, backlog) == 0);
	return fd;
}

static const char *listen_at;

static void serve_one(void)
{
	int listener = listen_inside(listen_at, PORT, 5), fd;
	char c;

	CHECK(write(STDOUT_FILENO, "x", 1) == 1);
	fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0);
	while (read(fd, &c, 1) == 1)
		CHECK(write(fd, &c, 1) == 1);
}

/* Starts the body inside; returns when it has written an octet to its standard output. */
static pid_t start_inside(rig_body *body)
{
	int ready[2];
	pid_t pid;
	char c;

	CHECK(pipe(ready) == 0);
	pid = rig_fork();
	if (pid == 0) {
		CHECK(dup2(ready[1], STDOUT_FILENO) >= 0);
		_exit(lock_inside(body));
	}
	close(ready[1]);
	CHECK(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	return pid;
}

static void door_leads_inside(void)
{
	const char *const places[] = {"127.0.0.1", "::1", AIRLOCK_SANDBOX_V4, "0.0.0.0", "::"};
	int fd;

	lock_open(true);
	CHECK(lock.door >= 0);
	CHECK(ask(PORT, &fd) == ECONNREFUSED);
	for (size_t i = 0; i < sg_array_len(places); i++) {
		pid_t server;

		listen_at = places[i];
		server = start_inside(serve_one);
		CHECK(ask(PORT, &fd) == 0);
		CHECK(rig_echoes(fd, 1000));
		close(fd);
		CHECK(rig_wait(server) == 0);
	}
	airlock_close(&lock);
}

/* A backlog of one, filled from inside, so that a SYN to it is never answered. */
static void listen_without_accepting(void)
{
	listen_inside("127.0.0.1", BACKLOG_PORT, 0);
	CHECK(rig_connect("127.0.0.1", BACKLOG_PORT) >= 0);
	CHECK(write(STDOUT_FILENO, "x", 1) == 1);
	pause();
}

static void silent_listener_has_a_deadline(void)
{
	int64_t start;
	int fd;

	lock_open(true);
	start_inside(listen_without_accepting);
	start = rig_ms();
	CHECK(ask(BACKLOG_PORT, &fd) == ETIMEDOUT);
	/* Its own deadline, and not the kernel's two minutes. */
	CHECK(rig_ms() - start < 30000);
	CHECK(ask(CLOSED_PORT, &fd) == ECONNREFUSED);
	airlock_close(&lock);
}

/* A request of another size or for port 0 is not one: the door ends rather than guess. */
static void malformed_request_ends_the_door(void)
{
	const struct {
		const char *octets;
		size_t n;
	} requests[] = {{"\x1f", 1}, {"\x1f\x90\x00", 3}, {"\0\0", 2}};
	char c;

	for (size_t i = 0; i < sg_array_len(requests); i++) {
		lock_open(true);
		CHECK(send(lock.door, requests[i].octets, requests[i].n, 0) ==
		      (ssize_t)requests[i].n);
		CHECK(recv(lock.door, &c, 1, 0) == 0);
		airlock_close(&lock);
	}
}

static void no_door_unless_asked_for(void)
{
	lock_open(false);
	CHECK(lock.door == -1);
	airlock_close(&lock);
}

AS_ROOT(door_leads_inside)
AS_USER(door_leads_inside)
AS_USER(silent_listener_has_a_deadline)
AS_USER(malformed_request_ends_the_door)
AS_USER(no_door_unless_asked_for)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(door_leads_inside_as_root),
		cmocka_unit_test(door_leads_inside_as_user),
		cmocka_unit_test(silent_listener_has_a_deadline_as_user),
		cmocka_unit_test(malformed_request_ends_the_door_as_user),
		cmocka_unit_test(no_door_unless_asked_for_as_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
