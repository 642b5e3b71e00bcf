/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the kernel that a namespace which is there already is watched by. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "rig.h"

static void send_fd(int to, int fd)
{
	char octet = 0, room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&octet, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(to, &m, 0) == 1);
}

static int receive_fd(int from)
{
	char octet, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&octet, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	int fd;

	CHECK(recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static int open_events(void)
{
	struct sockaddr_nl self = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&self, sizeof(self)) == 0);
	return fd;
}

/* Until a message of this type comes; the number of its device. */
static int await_message(int events, uint16_t type)
{
	char room[32768];

	for (;;) {
		struct pollfd f = {.fd = events, .events = POLLIN};
		struct nlmsghdr *h = (struct nlmsghdr *)room;
		ssize_t n;

		CHECK(poll(&f, 1, RIG_PATIENT_MS) == 1);
		n = recv(events, room, sizeof(room), 0);
		CHECK(n > 0);
		for (unsigned left = (unsigned)n; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
			if (h->nlmsg_type == type)
				return ((struct ifinfomsg *)NLMSG_DATA(h))->ifi_index;
	}
}

static void go_on(int sock)
{
	CHECK(write(sock, "G", 1) == 1);
}

static void wait_for_word(int sock)
{
	char octet;

	CHECK(read(sock, &octet, 1) == 1);
}

/* --- a socket belongs to the namespace that it was made in --- */

static void sg_noreturn make_a_device_when_told(int sock)
{
	rig_enter_userns(CLONE_NEWNET);
	send_fd(sock, open_events());
	wait_for_word(sock);
	rig_sh("ip link add one index 77 type veth peer name two");
	wait_for_word(sock);
	_exit(0);
}

static void a_socket_hears_of_the_namespace_that_it_was_made_in(void)
{
	int pair[2], events;
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	pid = rig_fork();
	if (pid == 0)
		make_a_device_when_told(pair[1]);
	events = receive_fd(pair[0]);
	/* Without any right there. */
	rig_become_ordinary();
	go_on(pair[0]);
	while (await_message(events, RTM_NEWLINK) != 77)
		;
	CHECK(if_nametoindex("one") == 0);
	go_on(pair[0]);
}

static void sockets_belong_to_their_namespace(void **state)
{
	assert_int_equal(rig_run(a_socket_hears_of_the_namespace_that_it_was_made_in), 0);
}

/* --- a device that leaves, by whatever way, is told by its number --- */

static void move_a_device_away(void)
{
	int events = open_events();

	rig_sh("ip link add one index 77 type veth peer name two");
	while (await_message(events, RTM_NEWLINK) != 77)
		;
	rig_sh("unshare -n sleep 9 & p=$!; until ip link set one netns $p && "
	       "! ip link show one >/dev/null 2>&1; do sleep 0.01; done; kill $p");
	CHECK(await_message(events, RTM_DELLINK) == 77);
	/* And its number is free for another. */
	rig_sh("ip link add three index 77 type veth peer name four");
}

static void delete_a_device(void)
{
	int events = open_events(), index;

	rig_sh("ip link add one index 77 type veth peer name two; ip link del one");
	while ((index = await_message(events, RTM_DELLINK)) != 77)
		CHECK(index > 0);
}

static void a_device_that_leaves_is_told(void **state)
{
	assert_int_equal(rig_run_in_netns(move_a_device_away), 0);
	assert_int_equal(rig_run_in_netns(delete_a_device), 0);
}

/* --- the initial namespace --- */

static void look_for_settings(void)
{
	CHECK(access("/proc/sys/net/core/somaxconn", F_OK) == 0);
	CHECK(access("/proc/sys/net/core/netdev_max_backlog", F_OK) < 0 && errno == ENOENT);
}

static void settings_of_the_machine_are_in_no_namespace_of_ours(void **state)
{
	assert_int_equal(rig_run_in_netns(look_for_settings), 0);
}

/* --- a peer, seen from a user namespace --- */

static size_t count_pids(pid_t pid)
{
	char path[64], line[512];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "NSpid:", 6) == 0)
			for (char *rest = line + 6; strtok_r(rest, " \t\n", &rest);)
				n++;
	fclose(f);
	return n;
}

/* The person that made the namespace is its root; what pid namespace it is in only NSpid says. */
static void look_at_peer(void)
{
	int pair[2];
	pid_t person;
	struct ucred who;
	socklen_t n = sizeof(who);
	char path[64];

	rig_become_ordinary();
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	person = getpid();
	if (rig_fork() == 0) {
		rig_enter_userns(0);
		CHECK(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &who, &n) == 0);
		CHECK(who.uid == 0 && who.pid == person);
		CHECK(count_pids(person) == count_pids(getpid()));
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)person);
		CHECK(open(path, O_RDONLY) < 0 && errno == EACCES);
		go_on(pair[1]);
		_exit(0);
	}
	wait_for_word(pair[0]);
}

static void a_peer_outside_is_root_within_and_shows_no_namespace(void **state)
{
	assert_int_equal(rig_run(look_at_peer), 0);
}

static void count_from_above(void)
{
	int pair[2];
	pid_t below;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	if (rig_fork() == 0) {
		rig_enter_userns(CLONE_NEWPID);
		below = fork();
		if (below == 0) {
			wait_for_word(pair[1]);
			_exit(0);
		}
		CHECK(write(pair[1], &below, sizeof(below)) == sizeof(below));
		_exit(rig_wait(below));
	}
	CHECK(read(pair[0], &below, sizeof(below)) == sizeof(below));
	CHECK(count_pids(below) == count_pids(getpid()) + 1);
	go_on(pair[0]);
}

static void a_process_of_a_namespace_below_has_a_number_more(void **state)
{
	assert_int_equal(rig_run(count_from_above), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_belong_to_their_namespace),
		cmocka_unit_test(a_device_that_leaves_is_told),
		cmocka_unit_test(settings_of_the_machine_are_in_no_namespace_of_ours),
		cmocka_unit_test(a_peer_outside_is_root_within_and_shows_no_namespace),
		cmocka_unit_test(a_process_of_a_namespace_below_has_a_number_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
