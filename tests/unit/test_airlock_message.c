/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "airlock/airlock_message.h"

static int ends[2];

static int setup(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
	       x.st_rdev == y.st_rdev;
}

static void descriptors_keep_their_slots(void **state)
{
	struct airlock_message m, got;

	airlock_message_init(&m, MESSAGE_READY);
	m.counters.noise = 7;
	m.fds[SLOT_NETNS] = open("/dev/null", O_RDONLY);
	m.fds[SLOT_DOOR] = open("/dev/zero", O_RDONLY);
	assert_int_equal(airlock_message_send(ends[0], &m), 0);
	assert_int_equal(airlock_message_receive(ends[1], &got, 1000), 0);
	assert_int_equal(got.kind, MESSAGE_READY);
	assert_int_equal(got.counters.noise, 7);
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(got.fds[i] >= 0, i == SLOT_NETNS || i == SLOT_DOOR);
	assert_true(same_file(got.fds[SLOT_NETNS], m.fds[SLOT_NETNS]));
	assert_true(same_file(got.fds[SLOT_DOOR], m.fds[SLOT_DOOR]));
	assert_int_equal(fcntl(got.fds[SLOT_DOOR], F_GETFD), FD_CLOEXEC);
	airlock_message_close_fds(&m);
	airlock_message_close_fds(&got);
}

static void all_slots_fit(void **state)
{
	struct airlock_message m, got;

	airlock_message_init(&m, MESSAGE_READY);
	for (int i = 0; i < SLOTS; i++)
		m.fds[i] = open("/dev/null", O_RDONLY);
	assert_int_equal(airlock_message_send(ends[0], &m), 0);
	assert_int_equal(airlock_message_receive(ends[1], &got, 1000), 0);
	for (int i = 0; i < SLOTS; i++)
		assert_true(got.fds[i] >= 0);
	airlock_message_close_fds(&m);
	airlock_message_close_fds(&got);
}

/* The lowest number that is free: the same before and after when nothing was leaked. */
static int free_number(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void send_octets(const void *p, size_t n, int fd)
{
	union {
		struct cmsghdr header;
		char octets[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec io = {.iov_base = (void *)p, .iov_len = n};
	struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1};

	if (fd >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
	}
	assert_int_equal(sendmsg(ends[0], &h, 0), n);
}

static void another_size_is_no_message(void **state)
{
	struct airlock_message got;
	char octets[sizeof(struct airlock_message) + 64] = {0};
	const size_t sizes[] = {1, 8, offsetof(struct airlock_message, fds) - 1,
				offsetof(struct airlock_message, fds) + 1, sizeof(octets)};
	int before = free_number();

	for (size_t i = 0; i < sg_array_len(sizes); i++) {
		send_octets(octets, sizes[i], -1);
		assert_int_equal(airlock_message_receive(ends[1], &got, 1000), -EBADMSG);
		send_octets(octets, sizes[i], ends[0]);
		assert_int_equal(airlock_message_receive(ends[1], &got, 1000), -EBADMSG);
	}
	assert_int_equal(free_number(), before);
}

/* Announced and not sent, sent and not announced, announced for a slot that does not exist. */
static void descriptors_are_as_announced(void **state)
{
	const uint32_t announced[] = {1U << SLOT_TUN, 0, 1U << 31, 3};
	const int sent[] = {-1, 0, 0, 0};
	struct airlock_message m, got;
	int before = free_number();

	for (size_t i = 0; i < sg_array_len(announced); i++) {
		airlock_message_init(&m, MESSAGE_READY);
		m.slots = announced[i];
		send_octets(&m, offsetof(struct airlock_message, fds), sent[i] < 0 ? -1 : ends[0]);
		assert_int_equal(airlock_message_receive(ends[1], &got, 1000), -EBADMSG);
		for (int s = 0; s < SLOTS; s++)
			assert_int_equal(got.fds[s], -1);
	}
	assert_int_equal(free_number(), before);
}

static void text_ends(void **state)
{
	struct airlock_message m, got;

	airlock_message_init(&m, MESSAGE_FAILED);
	memset(m.err.text, 'x', sizeof(m.err.text));
	send_octets(&m, offsetof(struct airlock_message, fds), -1);
	assert_int_equal(airlock_message_receive(ends[1], &got, 1000), 0);
	assert_int_equal(strlen(got.err.text), sizeof(got.err.text) - 1);
}

static void silence_and_the_end_are_told_apart(void **state)
{
	struct airlock_message m, got;

	assert_int_equal(airlock_message_receive(ends[1], &got, 1), -ETIMEDOUT);
	close(ends[0]);
	assert_int_equal(airlock_message_receive(ends[1], &got, 1000), -EPIPE);
	airlock_message_init(&m, MESSAGE_COUNT);
	assert_int_equal(airlock_message_send(ends[1], &m), -EPIPE);
	ends[0] = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(descriptors_keep_their_slots, setup, teardown),
		cmocka_unit_test_setup_teardown(all_slots_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(another_size_is_no_message, setup, teardown),
		cmocka_unit_test_setup_teardown(descriptors_are_as_announced, setup, teardown),
		cmocka_unit_test_setup_teardown(text_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(silence_and_the_end_are_told_apart, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
