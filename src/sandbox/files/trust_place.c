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
#include "sandbox/files/ca_layers.h"
#include "sandbox/files/mount_clone.h"
#include "sandbox/files/trust_layer.h"
#include "sandbox/pidfd.h"

/* A container's file system may be one that never answers. */
enum { PLACE_MS = 10000, LAYERS_MAX = 16 };

/* The places that were covered, and whether the folder has layers. */
struct covered {
	size_t n, first;
	bool layered;
	char unlayered[TRUST_WHY_MAX];
};

_Static_assert(sizeof(struct covered) <= ERRAND_ANSWER_MAX, "it is an errand's answer");

/* A link would be written into the image. */
static bool is_placed(const struct file_over *o)
{
	return !o->link;
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
static int take_left_over(const struct trust_site *s, int at, const char *path, struct err *e)
{
	struct stat st;
	int rc;

	if (fstat(at, &st) < 0 || (S_ISDIR(st.st_mode) ? st.st_nlink > 1 : st.st_nlink > 0))
		return 0;
	rc = trust_site_unmount(s, at);
	return rc ? err_set(e, "%s: a mount of an earlier sandbox: %s", path, err_why(-rc)) : 1;
}

/* O_PATH. -ENOENT: there is none to cover; a file on a mount of its own is its owner's to choose. */
static int open_file(const struct trust_site *s, const char *path, struct err *e)
{
	for (int i = 0; i < LAYERS_MAX; i++) {
		int at = trust_site_open(s, path, 0, RESOLVE_NO_XDEV), rc;

		if (at >= 0 || is_absent(errno))
			return at < 0 ? -ENOENT : at;
		if (errno == EXDEV)
			at = trust_site_open(s, path, 0, 0);
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
static int cover(const struct trust_site *s, const struct file_over *o, int tree, struct err *e)
{
	int at = open_file(s, o->path, e), rc = 0;
	struct stat st;

	if (at < 0)
		return at == -ENOENT ? 0 : -1;
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode))
		rc = trust_site_put(s, tree, at, o->path, e) ? -1 : 1;
	close(at);
	return rc;
}

/* --- the folder --- */

static bool may_make_in(const struct trust_site *s, int parent)
{
	uint64_t there, root;
	struct statfs fs;

	if (s->of_host)
		return false;
	if (fstatfs(parent, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
		return true;
	return trust_site_mount_id(parent, &there) == 0 &&
	       trust_site_mount_id(s->root, &root) == 0 && there == root;
}

/* `path` ends in a name that is not there. */
static int make_folder(const struct trust_site *s, char *path, struct err *e)
{
	char *slash = strrchr(path, '/');
	_cleanup_fd_ int parent = -1;
	int rc = 0;

	*slash = 0;
	parent = trust_site_open(s, *path ? path : "/", O_DIRECTORY, 0);
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
static int open_folder(const struct trust_site *s, const char *whole, struct err *e)
{
	char path[PATH_MAX];
	int fd = -1;

	for (const char *end = whole; *end;) {
		end = strchrnul(end + 1, '/');
		snprintf(path, sizeof(path), "%.*s", (int)(end - whole), whole);
		if (fd >= 0)
			close(fd);
		fd = trust_site_open(s, path, O_DIRECTORY, 0);
		if (fd < 0 && errno == ENOENT && make_folder(s, path, e))
			return -1;
		if (fd < 0)
			fd = trust_site_open(s, path, O_DIRECTORY, 0);
		if (fd < 0)
			return err_set(e, "%s: %s", path, err_why(errno));
	}
	return fd;
}

static int place_folder(const struct trust_site *s, const struct file_over *o, int tree,
			struct err *e)
{
	int at, rc = 1;

	for (int i = 0; i < LAYERS_MAX && rc == 1; i++) {
		at = open_folder(s, o->path, e);
		rc = at < 0 ? -1 : take_left_over(s, at, o->path, e);
		if (rc == 0)
			rc = trust_site_put(s, tree, at, o->path, e);
		if (at >= 0)
			close(at);
	}
	return rc == 1 ? err_set(e, "%s: too many mounts lie there", o->path) : rc;
}

/* --- in the container's mount namespace --- */

/*
 * What move_mount() and folders of another user's want; and an overlay, which changes its files by the
 * rights of who has mounted it, when the container's own have been asked.
 */
static int keep_rights(bool layered, struct err *e)
{
	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_ADMIN,
			  CAP_DAC_OVERRIDE, -1) ||
	    (layered && capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_CHOWN,
				      CAP_FOWNER, CAP_FSETID, -1)) ||
	    capng_apply(CAPNG_SELECT_CAPS))
		return err_set(e, "giving up rights before the container's files are entered");
	umask(022);
	return 0;
}

/* Who is not privileged over the machine cannot set the attributes that an overlay usually has. */
static bool is_in_first_userns(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned long inside, outside, count;
	bool whole = map && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
		     inside == 0 && outside == 0 && count == UINT32_MAX;

	if (map)
		fclose(map);
	return whole;
}

static int enter(struct trust_site *s, const struct trust_target *t, struct err *e)
{
	s->user_xattrs = !is_in_first_userns();
	s->descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->descriptors < 0)
		return err_set(e, "/proc/self/fd: %s", err_why(errno));
	if (setns(s->mounts, CLONE_NEWNS) < 0)
		return err_set(e, "its mount namespace cannot be entered: %s", err_why(errno));
	if (s->root < 0)
		s->root = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return err_set(e, "%s: %s", t->root, err_why(errno));
	return keep_rights(t->layered, e);
}

static int place_one(const struct trust_site *s, const struct ca_bundle *ca,
		     const struct file_over *o, int clones, struct err *e)
{
	_cleanup_fd_ int tree = mount_clone_take(clones, e);

	if (tree < 0)
		return -1;
	return strcmp(o->source, ca->folder) == 0 ? place_folder(s, o, tree, e)
						  : cover(s, o, tree, e);
}

static int place_all(const struct trust_site *s, const struct ca_bundle *ca,
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

/* Before the files: one that is in a folder with layers is not covered. */
static int place_layers(const struct trust_site *s, int clones, struct covered *r, struct err *e)
{
	struct err why = {0};
	enum trust_layered rc = trust_layer_put(s, clones, &why);

	if (rc == TRUST_LAYER_BROKEN)
		return err_set(e, "%s", why.text);
	r->layered = rc == TRUST_LAYER_DONE;
	if (rc == TRUST_LAYER_FAILED)
		snprintf(r->unlayered, sizeof(r->unlayered), "%.*s", (int)sizeof(r->unlayered) - 1,
			 why.text);
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
	struct trust_site *site;
	const struct ca_bundle *ca;
	const struct file_over *places;
	const struct trust_target *target;
};

/* The clones are made where this process comes from: the sandbox's files are not seen in the container. */
static int work(void *ctx, void *answer, int *fds, struct err *e)
{
	static const char *const names[] = {CA_LAYERS_BUNDLE, CA_LAYERS_JAVA, NULL};
	const struct placing *p = ctx;
	bool layered = p->target->layered;
	_cleanup_fd_ int clones = -1;
	_cleanup_fd_ int layers = -1;

	if (userns_enter_owner(p->site->mounts, e))
		return err_set(e, "its files belong to another user; run sandgate as that one, or "
				  "as root");
	clones = begin_clones(p->ca, p->places, e);
	if (clones >= 0 && layered)
		layers = mount_clone_begin(p->ca->layers, names, e);
	if (clones < 0 || (layered && layers < 0) || enter(p->site, p->target, e) ||
	    (layered && place_layers(p->site, layers, answer, e)))
		return -1;
	return place_all(p->site, p->ca, p->places, clones, answer, e);
}

/* --- the caller --- */

static int open_of(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, flags | O_CLOEXEC);
}

/* What is opened by the number is of that very process when it lives afterwards. */
static int open_site(const struct trust_target *t, struct trust_site *s, struct err *e)
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

static void close_site(struct trust_site *s)
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
	struct trust_site s = TRUST_SITE_NONE;
	struct placing p = {&s, ca, places, t};
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
	*out = (struct trust_placed){
		.first = r.n ? places[r.first].path : NULL,
		.n = r.n,
		.layered = r.layered,
	};
	memcpy(out->unlayered, r.unlayered, sizeof(out->unlayered));
	return rc < 0 ? err_prefix(e, "the container's certificates") : rc;
}
