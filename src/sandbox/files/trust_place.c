/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/trust_place.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "airlock/namespace.h"
#include "airlock/userns.h"
#include "base/compiler.h"
#include "sandbox/errand.h"
#include "sandbox/files/in_root.h"
#include "sandbox/files/mount_clone.h"
#include "sandbox/pidfd.h"

/* A container's file system may be one that never answers. */
enum { PLACE_MS = 10000, LAYERS_MAX = 16 };

/* Where it goes. */
struct site {
	int mounts;	 /* the namespace */
	int table;	 /* its mountinfo, as the process sees it */
	int root;	 /* O_PATH; -1: still to be opened, in the namespace */
	int descriptors; /* the placer's own, as a folder of the caller's /proc */
	bool of_host;	 /* the root is that of the caller: nothing is to be made there */
};

#define SITE_NONE ((struct site){.mounts = -1, .table = -1, .root = -1, .descriptors = -1})

/* The places that were covered. */
struct covered {
	size_t n, first;
};

/* --- looking a place up --- */

/* A link would be written into the image. */
static bool is_placed(const struct file_over *o)
{
	return !o->link;
}

static int open_in(const struct site *s, const char *path, uint64_t flags, uint64_t resolve)
{
	return in_root_open(s->root, path, flags | O_PATH, 0, resolve);
}

/* Of the mount that it lies on; 0 or -errno. */
static int read_mount_id(int fd, uint64_t *out)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) < 0)
		return -errno;
	*out = x.stx_mnt_id;
	return x.stx_mask & STATX_MNT_ID ? 0 : -ENOSYS;
}

/* "36 35 98:0 /root /at rw,noatime shared:1 - ext4 ...", proc_pid_mountinfo(5). 1, 0 or -ENOENT. */
static int find_shared(FILE *table, uint64_t id)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int rc = -ENOENT;

	while (rc == -ENOENT && getline(&line, &room, table) > 0) {
		char *end = strstr(line, " - ");

		if (!end || strtoull(line, NULL, 10) != id)
			continue;
		*end = 0;
		rc = strstr(line, " shared:") != NULL;
	}
	return rc;
}

static int check_unshared(const struct site *s, int at, const char *path, struct err *e)
{
	int fd = fcntl(s->table, F_DUPFD_CLOEXEC, 3), rc;
	FILE *table = fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? NULL : fdopen(fd, "r");
	uint64_t id;

	if (!table) {
		if (fd >= 0)
			close(fd);
		return err_set(e, "the list of its mounts: %s", err_why(errno));
	}
	rc = read_mount_id(at, &id);
	if (rc == 0)
		rc = find_shared(table, id);
	fclose(table);
	if (rc == 0)
		return 0;
	return rc < 0 ? err_set(e, "%s: its mount: %s", path, err_why(-rc))
		      : err_set(e,
				"%s: it lies on a mount that is shared with others (bind "
				"propagation \"shared\"), where it would show as well",
				path);
}

static int put(const struct site *s, int tree, int at, const char *path, struct err *e)
{
	if (check_unshared(s, at, path, e))
		return -1;
	if (move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_set(e, "%s: the mount: %s", path, err_why(errno));
	return 0;
}

/* --- a file of the image --- */

/* Also where a link leads nowhere, or round, or to what a process of another's has open. */
static bool is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
}

/*
 * A mount of an earlier sandbox's, which has ended: what it shows has no name any more, and nothing can
 * be mounted upon that. 1 when it was taken away, 0 when it is none, -1 with the message.
 */
static int take_left_over(const struct site *s, int at, const char *path, struct err *e)
{
	struct stat st;
	char name[16];

	if (fstat(at, &st) < 0 || (S_ISDIR(st.st_mode) ? st.st_nlink > 1 : st.st_nlink > 0))
		return 0;
	snprintf(name, sizeof(name), "%d", at);
	if (fchdir(s->descriptors) < 0 || umount2(name, MNT_DETACH) < 0)
		return err_set(e, "%s: a mount of an earlier sandbox: %s", path, err_why(errno));
	return 1;
}

/* O_PATH. -ENOENT: there is none to cover; a file on a mount of its own is its owner's to choose. */
static int open_file(const struct site *s, const char *path, struct err *e)
{
	for (int i = 0; i < LAYERS_MAX; i++) {
		int at = open_in(s, path, 0, RESOLVE_NO_XDEV), rc;

		if (at >= 0 || is_absent(errno))
			return at < 0 ? -ENOENT : at;
		if (errno == EXDEV)
			at = open_in(s, path, 0, 0);
		if (at < 0)
			return is_absent(errno) ? -ENOENT
						: err_set(e, "%s: %s", path, err_why(errno));
		rc = take_left_over(s, at, path, e);
		close(at);
		if (rc <= 0)
			return rc ? -1 : -ENOENT;
	}
	return -ENOENT;
}

/* 1 when it is covered, 0 when there is none to cover. */
static int cover(const struct site *s, const struct file_over *o, int tree, struct err *e)
{
	int at = open_file(s, o->path, e), rc = 0;
	struct stat st;

	if (at < 0)
		return at == -ENOENT ? 0 : -1;
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode))
		rc = put(s, tree, at, o->path, e) ? -1 : 1;
	close(at);
	return rc;
}

/* --- the folder --- */

static bool may_make_in(const struct site *s, int parent)
{
	uint64_t there, root;
	struct statfs fs;

	if (s->of_host)
		return false;
	if (fstatfs(parent, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
		return true;
	return read_mount_id(parent, &there) == 0 && read_mount_id(s->root, &root) == 0 &&
	       there == root;
}

/* `path` ends in a name that is not there. */
static int make_folder(const struct site *s, char *path, struct err *e)
{
	char *slash = strrchr(path, '/');
	_cleanup_fd_ int parent = -1;
	int rc = 0;

	*slash = 0;
	parent = open_in(s, *path ? path : "/", O_DIRECTORY, 0);
	if (parent < 0)
		rc = -errno;
	else if (!may_make_in(s, parent))
		rc = -EXDEV;
	else if (mkdirat(parent, slash + 1, 0755) < 0 && errno != EEXIST)
		rc = -errno;
	*slash = '/';
	if (rc == -EXDEV)
		return err_set(e,
			       "%s: no folder is made there, in a file system of the host's; make "
			       "it",
			       path);
	return rc ? err_set(e, "%s: %s", path, err_why(-rc)) : 0;
}

/* O_PATH, or -1 with the message. */
static int open_folder(const struct site *s, const char *whole, struct err *e)
{
	char path[PATH_MAX];
	int fd = -1;

	for (const char *end = whole; *end;) {
		end = strchrnul(end + 1, '/');
		snprintf(path, sizeof(path), "%.*s", (int)(end - whole), whole);
		if (fd >= 0)
			close(fd);
		fd = open_in(s, path, O_DIRECTORY, 0);
		if (fd < 0 && errno == ENOENT && make_folder(s, path, e))
			return -1;
		if (fd < 0)
			fd = open_in(s, path, O_DIRECTORY, 0);
		if (fd < 0)
			return err_set(e, "%s: %s", path, err_why(errno));
	}
	return fd;
}

static int place_folder(const struct site *s, const struct file_over *o, int tree, struct err *e)
{
	int at, rc = 1;

	for (int i = 0; i < LAYERS_MAX && rc == 1; i++) {
		at = open_folder(s, o->path, e);
		rc = at < 0 ? -1 : take_left_over(s, at, o->path, e);
		if (rc == 0)
			rc = put(s, tree, at, o->path, e);
		if (at >= 0)
			close(at);
	}
	return rc == 1 ? err_set(e, "%s: too many mounts lie there", o->path) : rc;
}

/* --- in the container's mount namespace --- */

/* What move_mount() and folders of another user's want. */
static int keep_rights(struct err *e)
{
	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_ADMIN,
			  CAP_DAC_OVERRIDE, -1) ||
	    capng_apply(CAPNG_SELECT_CAPS))
		return err_set(e, "giving up rights before the container's files are entered");
	umask(022);
	return 0;
}

static int enter(struct site *s, const char *root, struct err *e)
{
	s->descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->descriptors < 0)
		return err_set(e, "/proc/self/fd: %s", err_why(errno));
	if (setns(s->mounts, CLONE_NEWNS) < 0)
		return err_set(e, "its mount namespace cannot be entered: %s", err_why(errno));
	if (s->root < 0)
		s->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return err_set(e, "%s: %s", root, err_why(errno));
	return keep_rights(e);
}

static int place_one(const struct site *s, const struct ca_bundle *ca, const struct file_over *o,
		     int clones, struct err *e)
{
	_cleanup_fd_ int tree = mount_clone_take(clones, e);

	if (tree < 0)
		return -1;
	return strcmp(o->source, ca->folder) == 0 ? place_folder(s, o, tree, e)
						  : cover(s, o, tree, e);
}

static int place_all(const struct site *s, const struct ca_bundle *ca,
		     const struct file_over *places, int clones, struct covered *r, struct err *e)
{
	int rc;

	for (size_t i = 0; places[i].path; i++) {
		rc = is_placed(&places[i]) ? place_one(s, ca, &places[i], clones, e) : 0;
		if (rc < 0)
			return -1;
		if (rc && r->n++ == 0)
			r->first = i;
	}
	return 0;
}

/* Its name in the folder of the certificates. */
static const char *name_of(const struct ca_bundle *ca, const struct file_over *o)
{
	const char *slash = strrchr(o->source, '/');

	return strcmp(o->source, ca->folder) == 0 || !slash ? "." : slash + 1;
}

static int begin_clones(const struct ca_bundle *ca, const struct file_over *places, struct err *e)
{
	const char *names[CA_BUNDLE_PLACES + 1] = {NULL};
	size_t n = 0;

	for (const struct file_over *o = places; o->path; o++)
		if (is_placed(o))
			names[n++] = name_of(ca, o);
	return mount_clone_begin(ca->folder, names, e);
}

struct placing {
	struct site *site;
	const struct ca_bundle *ca;
	const struct file_over *places;
	const char *root;
};

/* The clones are made where this process comes from: the sandbox's files are not seen in the container. */
static int work(void *ctx, void *answer, int *fds, struct err *e)
{
	const struct placing *p = ctx;
	_cleanup_fd_ int clones = -1;

	if (userns_enter_owner(p->site->mounts, e))
		return err_set(e, "its files belong to another user; run sandgate as that one, or "
				  "as root");
	clones = begin_clones(p->ca, p->places, e);
	if (clones < 0)
		return -1;
	return enter(p->site, p->root, e) || place_all(p->site, p->ca, p->places, clones, answer, e)
		       ? -1
		       : 0;
}

/* --- the caller --- */

static int open_of(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, flags | O_CLOEXEC);
}

/* What is opened by the number is of that very process when it lives afterwards. */
static int open_site(const struct trust_target *t, struct site *s, struct err *e)
{
	struct pollfd ended = {.fd = t->process, .events = POLLIN};
	pid_t pid = pidfd_to_pid(t->process);

	if (pid <= 0)
		return err_set(e, "the process has ended, or is not seen here");
	s->mounts = open_of(pid, "ns/mnt", O_RDONLY);
	s->table = s->mounts < 0 ? -1 : open_of(pid, "mountinfo", O_RDONLY);
	if (s->table >= 0 && !t->root)
		s->root = open_of(pid, "root", O_PATH | O_DIRECTORY);
	if (s->table < 0 || (!t->root && s->root < 0))
		return err_set(e, "the files of process %d: %s", (int)pid, err_why(errno));
	if (poll(&ended, 1, 0) != 0)
		return err_set(e, "the process has ended");
	s->of_host = s->root >= 0 && namespace_is(s->root, "/");
	return 0;
}

static void close_site(struct site *s)
{
	if (s->mounts >= 0)
		close(s->mounts);
	if (s->table >= 0)
		close(s->table);
	if (s->root >= 0)
		close(s->root);
}

/* The folder last: where none can be made, what the image has is covered all the same. */
static void choose_places(const struct ca_bundle *ca, struct file_over places[CA_BUNDLE_PLACES])
{
	struct file_over folder;
	size_t n = 1;

	ca_bundle_places(ca, places);
	for (folder = places[0]; places[n].path; n++)
		places[n - 1] = places[n];
	places[n - 1] = folder;
}

int trust_place(const struct ca_bundle *ca, const struct trust_target *t, struct trust_placed *out,
		struct err *e)
{
	struct file_over places[CA_BUNDLE_PLACES];
	struct site s = SITE_NONE;
	struct placing p = {&s, ca, places, t->root};
	const struct errand x = {.what = "its mounts",
				 .ms = PLACE_MS,
				 .work = work,
				 .ctx = &p,
				 .size = sizeof(struct covered)};
	struct covered r = {0};
	int rc = open_site(t, &s, e);

	choose_places(ca, places);
	if (rc == 0 && (namespace_is(s.mounts, "/proc/self/ns/mnt") ||
			namespace_is(s.mounts, "/proc/1/ns/mnt")))
		rc = 1;
	else if (rc == 0)
		rc = errand_run(&x, &r, NULL, e);
	close_site(&s);
	*out = (struct trust_placed){.first = r.n ? places[r.first].path : NULL, .n = r.n};
	return rc < 0 ? err_prefix(e, "the container's certificates") : rc;
}
