/* SPDX-License-Identifier: Apache-2.0 */
#include "io/passed_fd.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/socket.h>

const int passed_fd_syscalls[] = {SCMP_SYS(recvmsg), -1};

static void take_descriptors(struct msghdr *m, int *passed, size_t most)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(passed, CMSG_DATA(c), (n < most ? n : most) * sizeof(int));
}

ssize_t passed_fds_receive(int from, void *message, size_t n, int *passed, size_t most)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(PASSED_FDS_MAX * sizeof(int))];
	} control;
	struct iovec v = {message, n};
	struct msghdr m = {
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control.octets,
		/* Not CMSG_SPACE(), whose padding may have room for one more. */
		.msg_controllen = CMSG_LEN(most * sizeof(int)),
	};
	ssize_t got = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	for (size_t i = 0; i < most; i++)
		passed[i] = -1;
	if (got >= 0)
		take_descriptors(&m, passed, most);
	return got;
}

ssize_t passed_fd_receive(int from, void *message, size_t n, int *passed)
{
	return passed_fds_receive(from, message, n, passed, 1);
}

int passed_fds_send(int to, const void *message, size_t n, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(PASSED_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec v = {(void *)message, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	struct cmsghdr *c = &control.align;

	if (n_fds) {
		m.msg_control = control.octets;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n ? 0 : -errno;
}
