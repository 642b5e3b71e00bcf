/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/person.h"

/* Where each user has a group of the same name and is alone in it, its right to write is the
 * user's. */
static bool is_own_group(gid_t gid)
{
	const struct passwd *pw = getpwuid(person_uid());
	_cleanup_free_ char *user = pw ? strdup(pw->pw_name) : NULL;
	const struct group *gr = getgrgid(person_gid(gid));

	if (!user || !gr || gid != getegid() || strcmp(gr->gr_name, user) != 0)
		return false;
	for (char *const *m = gr->gr_mem; *m; m++)
		if (strcmp(*m, user) != 0)
			return false;
	return true;
}

/* In a person's namespace the number is the person's own group. */
static bool is_roots_group(gid_t gid)
{
	return gid == 0 && (geteuid() != 0 || person_is_root());
}

static bool is_systems(const struct stat *st)
{
	struct stat top;

	return stat("/", &top) == 0 && st->st_uid == top.st_uid;
}

const char *trusted_why_not(const struct stat *st, enum trusted_owner owner)
{
	bool root = person_sees_root(st->st_uid) && owner != OWNER_PERSON;
	bool person = st->st_uid == geteuid() && owner != OWNER_ROOT;

	if (!root && !person && !(owner == OWNER_SYSTEM && is_systems(st)))
		return owner == OWNER_ROOT ? "it does not belong to root" : "it is not yours";
	if (st->st_mode & S_IWOTH)
		return "everyone may write it";
	if ((st->st_mode & S_IWGRP) && !is_roots_group(st->st_gid) && !is_own_group(st->st_gid))
		return "a group may write it";
	return NULL;
}

/*
 * -ENOENT, or -1 with the message: a link to what is gone, or a file in a folder's place, was meant
 * to say something, and is not taken for nothing.
 */
static int not_opened(int at, const char *name, const char *shown, int error, struct err *e)
{
	struct stat st;

	if (error != ENOENT && error != ENOTDIR)
		return err_set(e, "%s: %s", shown, err_why(error));
	/* One that is made at this moment is a file, or a folder. */
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (error == ENOENT ? !S_ISLNK(st.st_mode) : S_ISDIR(st.st_mode)))
		return -ENOENT;
	return err_set(e, "%s: %s; correct it, or take it away", shown,
		       error == ENOENT ? "it is a link to what is not there" : "it is no folder");
}

int trusted_folder_open(const char *path, enum trusted_owner owner, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *why;
	struct stat st;

	if (fd < 0)
		return not_opened(AT_FDCWD, path, path, errno, e);
	why = fstat(fd, &st) < 0 ? strerror(errno) : trusted_why_not(&st, owner);
	if (!why)
		return fd;
	close(fd);
	return err_set(e, "%s: %s, so nothing in it can be trusted; correct its owner and mode",
		       path, why);
}

/* The file's, opened for reading. 0 or -1 with the message. */
static int check_file(int fd, const struct trusted_request *r, struct err *e)
{
	const char *why;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, "%s: %s", r->shown, err_why(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, "%s: it is no regular file; put one in its place", r->shown);
	why = trusted_why_not(&st, r->owner);
	if (why)
		return err_set(e, "%s: %s, so it is not used; correct its owner and mode", r->shown,
			       why);
	if ((uint64_t)st.st_size > r->max)
		return err_set(e, "%s: larger than %zu KiB, which no such file is", r->shown,
			       r->max / 1024);
	return 0;
}

static int read_all(int fd, const struct trusted_request *r, struct trusted_text *out,
		    struct err *e)
{
	ssize_t n = 1;

	*out = (struct trusted_text){.p = malloc(r->max + 2)};
	if (!out->p)
		return err_set(e, "out of memory");
	while (n && out->n <= r->max) {
		n = read(fd, out->p + out->n, r->max + 1 - out->n);
		if (n < 0 && errno != EINTR)
			break;
		out->n += n > 0 ? (size_t)n : 0;
	}
	out->p[out->n] = 0;
	if (n == 0 && out->n <= r->max)
		return 0;
	err_set(e, "%s: %s", r->shown, n < 0 ? err_why(errno) : "it grows while it is read");
	free(out->p);
	*out = (struct trusted_text){0};
	return -1;
}

int trusted_file_read(const struct trusted_request *r, struct trusted_text *out, struct err *e)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (r->follow ? 0 : O_NOFOLLOW);
	_cleanup_fd_ int fd = openat(r->folder, r->name, flags);

	*out = (struct trusted_text){0};
	if (fd >= 0)
		return check_file(fd, r, e) || read_all(fd, r, out, e) ? -1 : 0;
	if (errno == ELOOP)
		return err_set(e, "%s: it is a link; put the file itself there", r->shown);
	return not_opened(r->folder, r->name, r->shown, errno, e);
}

static int write_all(int fd, struct span text)
{
	for (size_t at = 0; at < text.n;) {
		ssize_t n = write(fd, text.p + at, text.n - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

int trusted_file_replace(int folder, const char *name, struct span text, mode_t mode)
{
	char fresh[NAME_MAX + 1];
	int rc;

	if ((size_t)snprintf(fresh, sizeof(fresh), ".%s.%d.new", name, (int)getpid()) >=
	    sizeof(fresh))
		return -ENAMETOOLONG;
	unlinkat(folder, fresh, 0);
	{
		_cleanup_fd_ int fd = openat(
			folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return -errno;
		rc = write_all(fd, text);
		if (rc == 0 && fchmod(fd, mode) < 0)
			rc = -errno;
	}
	if (rc == 0 && renameat(folder, fresh, folder, name) < 0)
		rc = -errno;
	if (rc)
		unlinkat(folder, fresh, 0);
	else if (fsync(folder) < 0)
		rc = -errno;
	return rc;
}
