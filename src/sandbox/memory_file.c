/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int memory_file(const char *name, const void *p, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	size_t at = 0;

	while (fd >= 0 && at < n) {
		ssize_t w = pwrite(fd, (const char *)p + at, n - at, (off_t)at);

		if (w > 0) {
			at += (size_t)w;
		} else if (errno != EINTR) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}
