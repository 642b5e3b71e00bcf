/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/log_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "sandbox/private_dir.h"
#include "sandbox/state_dir.h"

static const char passing[] = "passing";

/* --- the folder of all that pass --- */

/* -ENOENT, or another negative number with the message. */
static int open_passing(bool make, struct err *e)
{
	char path[PATH_MAX];
	int base = state_dir_open(make, e), fd;

	if (base < 0)
		return base;
	fd = private_dir_open(base, passing, make);
	if (fd < 0 && fd != -ENOENT && state_dir_path(path, e) == 0)
		err_set(e, "%s/%s: %s", path, passing, err_why(-fd));
	close(base);
	return fd;
}

static int open_one(int all, const char *name, bool make, struct err *e)
{
	int fd = private_dir_open(all, name, make);

	if (fd < 0 && fd != -ENOENT)
		err_set(e, "the folder of the logs of %s: %s", name, err_why(-fd));
	return fd;
}

/* --- for reading --- */

/* No passing one takes the name of one that is kept. */
int log_folder_open(const char *name, struct err *e)
{
	_cleanup_fd_ int all = -1;
	int fd = state_dir_open_sandbox(name, false, e);

	if (fd != -ENOENT || !sandbox_name_valid(name))
		return fd;
	all = open_passing(false, e);
	return all < 0 ? all : open_one(all, name, false, e);
}

/* --- taking away --- */

static DIR *open_list(int at, const char *name)
{
	return folder_list(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void remove_files(int at, const char *name)
{
	DIR *d = open_list(at, name);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_type != DT_DIR)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

/* Of the supervisor's own making: two folders of files, and no more. */
static void remove_one(int all, const char *name)
{
	int fd = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	remove_files(fd, "audit");
	remove_files(fd, "connections");
	close(fd);
	unlinkat(all, name, AT_REMOVEDIR);
}

void log_folder_remove(const char *name)
{
	struct err ignored;
	int all = open_passing(false, &ignored);

	if (all < 0)
		return;
	remove_one(all, name);
	close(all);
}

static bool is_running(const struct registry *r, const char *name)
{
	int fd = registry_open_sandbox(r, name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The caller holds the lock: who has just claimed a name waits before it makes its folder. */
static void sweep(int all, const struct registry *r, const char *own, log_folder_fn *fn)
{
	DIR *d = open_list(all, ".");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		const char *name = entry->d_name;
		int fd;

		if (!sandbox_name_valid(name) || (strcmp(name, own) != 0 && is_running(r, name)))
			continue;
		fd = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0) {
			fn(name, fd);
			close(fd);
		}
		remove_one(all, name);
	}
	if (d)
		closedir(d);
}

static int make_passing(const struct registry *r, const char *name, log_folder_fn *fn,
			struct err *e)
{
	_cleanup_fd_ int all = open_passing(true, e);

	if (all < 0)
		return all;
	if (flock(all, LOCK_EX) < 0)
		return err_set(e, "the folder of the logs: %s", err_why(errno));
	sweep(all, r, name, fn);
	return open_one(all, name, true, e);
}

int log_folder_make(const struct registry *r, const char *name, bool lasting, log_folder_fn *fn,
		    struct err *e)
{
	mode_t mask = umask(077);
	int fd = lasting ? state_dir_open_sandbox(name, true, e) : make_passing(r, name, fn, e);

	umask(mask);
	return fd < 0 ? -1 : fd;
}
