/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/mount_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/pidfd.h"

struct checked {
	const struct mount *mount;
	int fd; /* held open: the number of an inode in use is not given out again */
};

struct mount_check {
	size_t n;
	struct checked v[];
};

static int open_plain(int dir, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

struct mount_check *mount_check_begin(const struct file_plan *p, struct err *e)
{
	struct mount_check *c = calloc(1, sizeof(*c) + p->n * sizeof(c->v[0]));

	if (!c) {
		err_set(e, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct mount *m = &p->mounts[i];
		int fd;

		if (!m->checked)
			continue;
		fd = open_plain(AT_FDCWD, m->source, 0);
		if (fd < 0) {
			err_set(e, "%s: %s; it changed while the sandbox was made, start again",
				m->source, strerror(errno));
			mount_check_free(c);
			return NULL;
		}
		c->v[c->n++] = (struct checked){m, fd};
	}
	return c;
}

/* The same file, and read-only where it must be. */
static bool is_as_judged(const struct checked *k, int root)
{
	struct stat outside, inside;
	struct statvfs vfs;
	int fd = open_plain(root, k->mount->dest, RESOLVE_IN_ROOT);
	bool ok;

	if (fd < 0)
		return false;
	ok = fstat(fd, &inside) == 0 && fstat(k->fd, &outside) == 0 &&
	     inside.st_dev == outside.st_dev && inside.st_ino == outside.st_ino;
	if (ok && k->mount->kind == MOUNT_RO)
		ok = fstatvfs(fd, &vfs) == 0 && (vfs.f_flag & ST_RDONLY);
	close(fd);
	return ok;
}

int mount_check_end(const struct mount_check *c, int process, struct err *e)
{
	char path[64];
	pid_t pid = pidfd_to_pid(process);
	_cleanup_fd_ int root = -1;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root < 0)
		return err_set(e, "looking into the finished sandbox: %s",
			       pid > 0 ? strerror(errno) : "it has ended");
	for (size_t i = 0; i < c->n; i++)
		if (!is_as_judged(&c->v[i], root))
			return err_set(
				e,
				"%s: not what it was when the sandbox was planned; something "
				"changes it right now, perhaps another sandbox: start again",
				c->v[i].mount->dest);
	return 0;
}

void mount_check_free(struct mount_check *c)
{
	for (size_t i = 0; c && i < c->n; i++)
		close(c->v[i].fd);
	free(c);
}
