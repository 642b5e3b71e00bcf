/* SPDX-License-Identifier: Apache-2.0 */
/* folder: a folder to be listed, of a descriptor. */
#ifndef SG_BASE_FOLDER_H
#define SG_BASE_FOLDER_H

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/*
 * Takes the descriptor of a folder over; one below 0 is what an open that failed returns. For
 * closedir(); NULL with errno, that of the open when it was that.
 */
static inline DIR *folder_list(int fd)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int why = errno;

	if (!d && fd >= 0)
		close(fd);
	errno = why;
	return d;
}

#endif
