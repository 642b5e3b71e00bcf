/* SPDX-License-Identifier: Apache-2.0 */
#include "io/message_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

const int message_socket_syscalls[] = {SCMP_SYS(fcntl), SCMP_SYS(getsockopt), -1};

static bool is_message_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t n = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX;
}

int message_socket_keep(int fd, const char *whose, struct err *e)
{
	int own;

	if (!is_message_socket(fd))
		return err_set(e, "%s end is no SOCK_SEQPACKET socket", whose);
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return own >= 0 ? own : err_set(e, "%s end cannot be kept: %s", whose, strerror(errno));
}
