/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/files/home.h"
#include "sandbox/name_list.h"
#include "sandbox/path.h"
#include "sandbox/person.h"
#include "sandbox/private_dir.h"
#include "sandbox/sandbox_name.h"

static const char sandboxes[] = "sandboxes";

/* --- the folders --- */

/* One that may not write there has its state in its home, as a person's. */
static bool is_system_root(void)
{
	return person_is_root() &&
	       (access("/var/lib/sandgate", W_OK) == 0 || access("/var/lib", W_OK) == 0);
}

/* Many a service's user has one that is not there, or none. */
static bool can_be_home(const char *home)
{
	return home && *home == '/' && access(home, X_OK) == 0;
}

int state_dir_path(char out[PATH_MAX], struct err *e)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = home_find();
	char path[PATH_MAX];
	int n;

	if (is_system_root())
		n = snprintf(path, sizeof(path), "/var/lib/sandgate");
	else if (xdg && *xdg == '/')
		n = snprintf(path, sizeof(path), "%s/sandgate", xdg);
	else if (can_be_home(home))
		n = snprintf(path, sizeof(path), "%s/.local/state/sandgate", home);
	else
		n = snprintf(path, sizeof(path), "/var/tmp/sandgate-%u", (unsigned)person_uid());
	if (n >= PATH_MAX || !path_tidy(path, out))
		return err_set(e, "%s is too long for a folder",
			       !person_is_root() && xdg ? "XDG_STATE_HOME" : "HOME");
	return 0;
}

/* The folders above it, which may be open to others to read. */
static int make_parents(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* -ENOENT, or -1 with the message. */
static int cannot_open(const char *path, int rc, struct err *e)
{
	if (rc == -ENOENT)
		return rc;
	return err_set(e, "%s: %s", path,
		       rc == -EPERM
			       ? "it must be a folder of your own with mode 0700, no link; chmod "
				 "0700 it if it is yours, move it away, or set XDG_STATE_HOME"
			       : err_why(-rc));
}

static int open_base(bool make, char path[PATH_MAX], struct err *e)
{
	mode_t mask;
	int fd;

	if (state_dir_path(path, e))
		return -1;
	mask = umask(077);
	fd = make ? make_parents(path) : 0;
	fd = fd ? fd : private_dir_open(AT_FDCWD, path, make);
	umask(mask);
	if (fd == -ENOENT && make)
		return err_set(e, "%s: a folder above it cannot be made", path);
	return fd < 0 ? cannot_open(path, fd, e) : fd;
}

int state_dir_open(bool make, struct err *e)
{
	char path[PATH_MAX];

	return open_base(make, path, e);
}

/* A folder within an open one, which is closed. `path` gets its name added. */
static int descend(int at, char path[PATH_MAX], const char *name, bool make, struct err *e)
{
	mode_t mask = umask(077);
	size_t n = strlen(path);
	int fd = private_dir_open(at, name, make);

	umask(mask);
	close(at);
	snprintf(path + n, PATH_MAX - n, "/%s", name);
	return fd < 0 ? cannot_open(path, fd, e) : fd;
}

static int open_sandboxes(bool make, char path[PATH_MAX], struct err *e)
{
	int base = open_base(make, path, e);

	return base < 0 ? base : descend(base, path, sandboxes, make, e);
}

int state_dir_open_sandbox(const char *name, bool make, struct err *e)
{
	char path[PATH_MAX];
	int fd;

	if (!sandbox_name_valid(name))
		return -ENOENT;
	fd = open_sandboxes(make, path, e);
	return fd < 0 ? fd : descend(fd, path, name, make, e);
}

/* --- the names --- */

char **state_dir_list(struct err *e)
{
	char path[PATH_MAX];
	struct name_list l = {0};
	int fd = open_sandboxes(false, path, e);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd < 0 && fd != -ENOENT)
		return NULL;
	while (d && (entry = readdir(d)))
		if (sandbox_name_valid(entry->d_name))
			name_list_add(&l, entry->d_name);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return name_list_finish(&l, e);
}

/* --- taking one away --- */

/*
 * What lies in a home is the sandbox's making: of any depth, of any mode. So a folder is never
 * descended into: the folders in it are moved up beside it, under names of their own, and it is
 * taken away when it holds nothing any more. No link is followed.
 */
struct removal {
	int top; /* the folder that all is moved up to */
	unsigned long next;
};

static int enter(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return fd;
	/* Its own may shut a folder to itself; a link in its place would have been ENOTDIR. */
	if (fchmodat(at, name, 0700, 0) < 0)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int move_up(struct removal *r, int from, const char *name)
{
	char to[32];
	int rc;

	do {
		snprintf(to, sizeof(to), ".%lu", r->next++);
		rc = renameat2(from, name, r->top, to, RENAME_NOREPLACE);
		/* To move a folder is to write its "..". */
		if (rc < 0 && errno == EACCES && fchmodat(from, name, 0700, 0) == 0)
			rc = renameat2(from, name, r->top, to, RENAME_NOREPLACE);
	} while (rc < 0 && errno == EEXIST);
	return rc < 0 ? -errno : 0;
}

/* Takes the files of a folder away and moves its folders up. Consumes the descriptor. */
static int empty_folder(struct removal *r, int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;
	int rc = d ? 0 : -errno;

	if (d && fchmod(fd, 0700) < 0)
		rc = -errno;
	while (rc == 0 && (entry = readdir(d))) {
		if (is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0)
			continue;
		rc = errno == EISDIR ? move_up(r, fd, entry->d_name) : -errno;
	}
	if (d)
		closedir(d);
	else
		close(fd);
	return rc;
}

/*
 * One pass over the top: every entry of it is taken away, and those that come up stay for the next.
 */
static int remove_entries(struct removal *r, DIR *d, bool *any)
{
	struct dirent *entry;
	int rc = 0;

	rewinddir(d);
	*any = false;
	while (rc == 0 && (entry = readdir(d))) {
		int fd;

		if (is_dots(entry->d_name))
			continue;
		*any = true;
		if (unlinkat(r->top, entry->d_name, 0) == 0)
			continue;
		fd = enter(r->top, entry->d_name);
		rc = fd < 0 ? -errno : empty_folder(r, fd);
		if (rc == 0 && unlinkat(r->top, entry->d_name, AT_REMOVEDIR) < 0)
			rc = -errno;
	}
	return rc;
}

static int remove_all_in(int top)
{
	struct removal r = {.top = top};
	DIR *d = fdopendir(top);
	bool any = true;
	int rc = 0;

	if (!d)
		return -errno;
	while (rc == 0 && any)
		rc = remove_entries(&r, d, &any);
	closedir(d);
	return rc;
}

/* Out of sight first: what is left of a removal that was cut short is no sandbox. */
static int remove_in(int at, const char *name)
{
	char gone[SANDBOX_NAME_SIZE + 16];
	int fd, rc;

	snprintf(gone, sizeof(gone), ".%s.removed", name);
	if (renameat2(at, name, at, gone, RENAME_NOREPLACE) < 0 && errno != EEXIST &&
	    errno != ENOENT)
		return -errno;
	fd = enter(at, gone);
	rc = fd < 0 ? -errno : remove_all_in(fd);
	return rc == 0 && unlinkat(at, gone, AT_REMOVEDIR) < 0 ? -errno : rc;
}

int state_dir_remove(const char *name, struct err *e)
{
	char path[PATH_MAX];
	int at = sandbox_name_valid(name) ? open_sandboxes(false, path, e) : -ENOENT, rc = at;

	if (at >= 0) {
		/* Twice: an earlier removal that was cut short lies in the way of this one. */
		rc = remove_in(at, name);
		if (rc == 0 && faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			rc = remove_in(at, name);
		close(at);
		if (rc && rc != -ENOENT)
			return err_set(
				e, "%s/%s: it cannot be removed whole: %s; remove the rest by hand",
				path, name, err_why(-rc));
	}
	if (rc == -ENOENT)
		return err_set(e, "%s: nothing is kept of a sandbox of that name", name);
	return rc;
}
