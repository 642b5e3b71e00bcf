/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int make(const char *name, unsigned flags, const void *p, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC | flags);
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

int memory_file(const char *name, const void *p, size_t n)
{
	return make(name, 0, p, n);
}

int memory_file_sealed(const char *name, const void *p, size_t n)
{
	int fd = make(name, MFD_ALLOW_SEALING, p, n);

	if (fd >= 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}
