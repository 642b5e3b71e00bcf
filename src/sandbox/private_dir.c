/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_anothers(int at, const char *path)
{
	struct stat st;

	return fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid();
}

int private_dir_open(int at, const char *path, bool make)
{
	struct stat st;
	int fd;

	if (make && mkdirat(at, path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		int error = errno;
		bool other = error == ENOTDIR || error == ELOOP || is_anothers(at, path);

		return other ? -EPERM : -error;
	}
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700)
		return fd;
	close(fd);
	return -EPERM;
}
