/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/passed_fd.h"

#include <seccomp.h>
#include <string.h>
#include <sys/socket.h>

const int passed_fd_syscalls[] = {SCMP_SYS(recvmsg), -1};

static int descriptor_of(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

ssize_t passed_fd_receive(int from, void *message, size_t n, int *passed)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = {message, n};
	struct msghdr m = {
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control.octets,
		/* Not CMSG_SPACE(), whose padding has room for a second one. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t got = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*passed = got >= 0 ? descriptor_of(&m) : -1;
	return got;
}
