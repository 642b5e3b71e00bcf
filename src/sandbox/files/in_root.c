/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/in_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A mount or rename anywhere on the machine while ".." is followed makes the kernel give up. */
enum { TRIES = 1000 };

int in_root_open(int root, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		sched_yield();
	}
	return fd;
}
