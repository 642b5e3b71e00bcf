/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

enum { NAME_ROOM = 64 };

#ifndef DISK_FAULTS
static struct disk_fate disk_fault(const struct disk_step *step)
{
	return (struct disk_fate){.n = step->n};
}
#endif

/* What fate has in store after a step that went well. */
static int end_step(const struct disk_fate *fate)
{
	if (fate->dies)
		raise(SIGKILL);
	return -fate->error;
}

/* A step that is done whole or not at all. */
static int begin_step(enum disk_op op, int fd, uint64_t at)
{
	const struct disk_step step = {.op = op, .fd = fd, .at = at};
	struct disk_fate fate = disk_fault(&step);

	return end_step(&fate);
}

int disk_create(int dir, const char *name, bool fresh)
{
	int r = begin_step(DISK_CREATE, dir, 0), fd;

	if (r < 0)
		return r;
	fd = openat(dir, name, O_RDWR | O_CREAT | (fresh ? O_EXCL : 0) | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd < 0 ? -errno : fd;
}

int disk_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

int disk_write_at(int fd, struct span what, uint64_t at)
{
	const struct disk_step step = {.op = DISK_WRITE, .fd = fd, .at = at, .n = what.n};
	struct disk_fate fate = disk_fault(&step);
	size_t done = 0;

	while (done < fate.n) {
		ssize_t n = pwrite(fd, what.p + done, fate.n - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return end_step(&fate);
}

ssize_t disk_read_at(int fd, void *p, size_t n, uint64_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(fd, (char *)p + done, n - done, (off_t)(at + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

int disk_cut(int fd, uint64_t size)
{
	int r = begin_step(DISK_CUT, fd, size);

	if (r < 0)
		return r;
	return ftruncate(fd, (off_t)size) == 0 ? 0 : -errno;
}

int disk_sync(int fd)
{
	int r = begin_step(DISK_SYNC, fd, 0);

	if (r < 0)
		return r;
	return fdatasync(fd) == 0 ? 0 : -errno;
}

static int write_new(int dir, const char *name, struct span what, mode_t mode, bool fleeting)
{
	int fd, r = begin_step(DISK_CREATE, dir, 0);

	if (r < 0)
		return r;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = disk_write_at(fd, what, 0);
	if (r == 0 && !fleeting)
		r = disk_sync(fd);
	close(fd);
	return r;
}

int disk_replace(int dir, const char *name, struct span what, mode_t mode, bool fleeting)
{
	char new[NAME_ROOM];
	int r;

	snprintf(new, sizeof(new), "%s.new", name);
	r = write_new(dir, new, what, mode, fleeting);
	if (r == 0)
		r = begin_step(DISK_RENAME, dir, 0);
	if (r == 0 && renameat(dir, new, dir, name) != 0)
		r = -errno;
	return r == 0 && !fleeting ? disk_sync(dir) : r;
}

int disk_remove(int dir, const char *name)
{
	int r = begin_step(DISK_REMOVE, dir, 0);

	if (r < 0)
		return r;
	return unlinkat(dir, name, 0) == 0 ? 0 : -errno;
}

static int read_all(int fd, size_t max, char **out, size_t *n)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return -EFBIG;
	*out = malloc((size_t)st.st_size + 1);
	if (!*out)
		return -ENOMEM;
	got = disk_read_at(fd, *out, (size_t)st.st_size, 0);
	if (got < 0) {
		free(*out);
		*out = NULL;
		return (int)got;
	}
	(*out)[got] = 0;
	*n = (size_t)got;
	return 0;
}

int disk_read(int dir, const char *name, size_t max, char **out, size_t *n)
{
	int fd = disk_open(dir, name), r;

	*out = NULL;
	*n = 0;
	if (fd < 0)
		return fd;
	r = read_all(fd, max, out, n);
	close(fd);
	return r;
}
