/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/own_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 128 };

int own_socket_bind(int fd, const struct sockaddr_un *a, mode_t mode)
{
	mode_t mask = umask(~mode & 0777);
	int rc = bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 ? -errno : 0;

	umask(mask);
	return rc;
}

int own_socket_listen(int fd, const struct sockaddr_un *a)
{
	int rc = own_socket_bind(fd, a, 0700);

	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}
