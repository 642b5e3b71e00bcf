/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/kept_home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/state_dir.h"

static const char home_name[] = "home";

/* Its owner may have made it anything; mode 0700 again is what keeps other users out. */
static int open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0)
		return errno == ENOTDIR ? -EPERM : -errno;
	rc = fstat(fd, &st) < 0 || st.st_uid != geteuid() ? -EPERM : 0;
	close(fd);
	if (rc == 0 && fchmodat(at, name, 0700, 0) < 0)
		rc = -errno;
	if (rc)
		return rc;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int path_of(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	if (n <= 0)
		return -errno;
	out[n] = 0;
	return 0;
}

int kept_home_open(const char *sandbox, char path[PATH_MAX], struct err *e)
{
	_cleanup_fd_ int dir = state_dir_open_sandbox(sandbox, false, e);
	int fd, rc;

	if (dir == -ENOENT)
		return err_set(e, "%s: it has been removed meanwhile", sandbox);
	if (dir < 0)
		return -1;
	rc = mkdirat(dir, home_name, 0700) < 0 && errno != EEXIST ? -errno : 0;
	fd = rc ? rc : open_folder(dir, home_name);
	if (fd >= 0) {
		rc = path_of(fd, path);
		if (rc == 0)
			return fd;
		close(fd);
	}
	return err_set(e, "%s: its kept home: %s", sandbox,
		       rc == -EPERM || fd == -EPERM ? "it must be a folder of your own"
						    : err_why(fd < 0 ? -fd : -rc));
}

/* --- places for mounts --- */

/* One part of a path, which is no link. A descriptor, or -errno. */
static int make_part(int at, const char *name, bool folder)
{
	int fd;

	if (folder && mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = folder ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
		    : openat(at, name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			     0600);
	return fd < 0 ? -errno : fd;
}

/* `rest` is the path below HOME. */
static int make_place(int home, const char *rest, bool folder)
{
	int at = fcntl(home, F_DUPFD_CLOEXEC, 3);
	char part[NAME_MAX + 1];

	while (at >= 0 && *rest) {
		size_t n = strcspn(rest, "/");
		bool last = !rest[n];
		int next = -ENAMETOOLONG;

		if (n < sizeof(part)) {
			memcpy(part, rest, n);
			part[n] = 0;
			next = make_part(at, part, folder || !last);
		}
		close(at);
		at = next;
		rest += last ? n : n + 1;
	}
	if (at < 0)
		return at;
	close(at);
	return 0;
}

static bool is_folder(const struct mount *m, const struct tree *host)
{
	if (m->kind == MOUNT_RO || m->kind == MOUNT_RW)
		return host->kind(host->ctx, m->source) == PATH_DIR;
	return m->kind == MOUNT_TMPFS || m->kind == MOUNT_DIR;
}

int kept_home_prepare(int home, const struct file_plan *p, const struct tree *host, struct err *e)
{
	size_t n = strlen(p->home);

	for (size_t i = 0; i < p->n; i++) {
		const struct mount *m = &p->mounts[i];
		int rc;

		if (!path_holds(p->home, m->dest) || !m->dest[n] || m->kind == MOUNT_LINK)
			continue;
		rc = make_place(home, m->dest + n + 1, is_folder(m, host));
		if (rc)
			return err_set(
				e,
				"%s: the sandbox has something else in its place in its kept home: %s; "
				"take that away, or the sandbox",
				m->dest, strerror(-rc));
	}
	return 0;
}
