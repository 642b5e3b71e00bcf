/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/namespace.h"

#include <sys/stat.h>

bool namespace_is(int fd, const char *path)
{
	struct stat one, other;

	return fstat(fd, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}
