/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the kernel that the handover of a connection from the gate to the broker relies on:
 * SCM_RIGHTS (unix(7)) with sockets of another network namespace, octets unread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/passed_fd.h"
#include "rig.h"

static int pair[2]; /* gate, broker */

/* A client and the gate's end of its connection, in a namespace that the broker is not in. */
static void connect_within(int out[2])
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	rig_sh("ip link set lo up");
	CHECK(bind(listener, (struct sockaddr *)&a, n) == 0 && listen(listener, 1) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&a, &n) == 0);
	out[0] = rig_connect("127.0.0.1", ntohs(a.sin_port));
	out[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(out[0] >= 0 && out[1] >= 0);
	CHECK(setsockopt(out[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
	close(listener);
}

/* What a client sees of it: `client` is its end. */
typedef void client_sees(int client);

/* The gate and its client: hands its end over with octets unread, and closes it. */
static pid_t start_gate(client_sees *sees)
{
	pid_t gate;
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	gate = rig_fork();
	if (gate != 0) {
		close(pair[0]);
		return gate;
	}
	close(pair[1]);
	CHECK(unshare(CLONE_NEWNET) == 0);
	connect_within(ends);
	CHECK(write(ends[0], "unread", 6) == 6);
	CHECK(passed_fds_send(pair[0], "m", 1, &ends[1], 1) == 0);
	close(ends[1]);
	sees(ends[0]);
	_exit(0);
}

static void sees_an_answer(int client)
{
	char got[8];

	CHECK(read(client, got, sizeof(got)) == 6 && memcmp(got, "answer", 6) == 0);
}

static void sees_a_reset(int client)
{
	char got[8];

	CHECK(read(client, got, sizeof(got)) < 0 && errno == ECONNRESET);
}

static int take(void)
{
	char octet;
	int fd;

	CHECK(recv(pair[1], &octet, 1, MSG_PEEK) == 1);
	CHECK(passed_fds_receive(pair[1], &octet, 1, &fd, 1) == 1 && fd >= 0);
	return fd;
}

/* Its octets are there, it works in its own namespace, and the copy's close was no reset. */
static void a_passed_socket_lives_on(void)
{
	pid_t gate = start_gate(sees_an_answer);
	int fd = take();
	char got[8];

	CHECK(read(fd, got, sizeof(got)) == 6 && memcmp(got, "unread", 6) == 0);
	CHECK(write(fd, "answer", 6) == 6);
	CHECK(rig_wait(gate) == 0);
}

/* What its first owner set is its own: the last close resets, whoever makes it. */
static void the_last_close_resets(void)
{
	pid_t gate = start_gate(sees_a_reset);
	pid_t broker = rig_fork();

	if (broker == 0) {
		take();
		_exit(0);
	}
	close(pair[1]);
	CHECK(rig_wait(broker) == 0);
	CHECK(rig_wait(gate) == 0);
}

/* On its way to a broker that dies, it is nobody's. */
static void one_that_nobody_took_is_reset(void)
{
	pid_t gate = start_gate(sees_a_reset);
	char octet;

	CHECK(recv(pair[1], &octet, 1, MSG_PEEK) == 1);
	close(pair[1]);
	CHECK(rig_wait(gate) == 0);
}

/* A receiver that makes no room for descriptors gets none, and keeps none open. */
static void recv_takes_no_descriptor(void)
{
	pid_t gate = start_gate(sees_a_reset);
	int before;
	char octet;

	CHECK(recv(pair[1], &octet, 1, MSG_PEEK) == 1);
	before = rig_count_entries("/proc/self/fd");
	CHECK(recv(pair[1], &octet, 1, 0) == 1);
	CHECK(rig_count_entries("/proc/self/fd") == before);
	CHECK(rig_wait(gate) == 0);
}

/* Closing a copy takes it out of no epoll set, and it cannot be taken out any more. */
static void a_copy_keeps_it_in_the_loop(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int ends[2], copy, loop = epoll_create1(EPOLL_CLOEXEC);

	connect_within(ends);
	copy = dup(ends[1]);
	CHECK(loop >= 0 && copy >= 0);
	CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, ends[1], &e) == 0);
	CHECK(write(ends[0], "x", 1) == 1);
	close(ends[1]);
	CHECK(epoll_wait(loop, &e, 1, 1000) == 1);
	CHECK(epoll_ctl(loop, EPOLL_CTL_DEL, ends[1], NULL) < 0 && errno == EBADF);
}

static void run_in_netns(void **state)
{
	assert_int_equal(rig_run_in_netns((rig_body *)*state), 0);
}

#define IN_NETNS(body)                                                                    \
	{                                                                                 \
		.name = #body, .test_func = run_in_netns, .initial_state = (void *)(body) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_NETNS(a_passed_socket_lives_on),	 IN_NETNS(the_last_close_resets),
		IN_NETNS(one_that_nobody_took_is_reset), IN_NETNS(recv_takes_no_descriptor),
		IN_NETNS(a_copy_keeps_it_in_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
