/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/runtime_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folder.h"
#include "sandbox/files/ca_bundle.h"
#include "sandbox/engine/container_files.h"
#include "sandbox/control/control_socket.h"
#include "sandbox/engine/netns_claim.h"
#include "sandbox/engine/netns_lock.h"
#include "sandbox/person.h"
#include "sandbox/private_dir.h"
#include "sandbox/state_dir.h"

enum { NUMBERED_MAX = 10000, END_STEP_MS = 10 };

static const char lock_name[] = "lock";

/* --- the base --- */

/* What XDG_RUNTIME_DIR and systemd's folder must be to be used. 0 or -errno. */
static int check_own_dir(const char *path)
{
	struct stat st;

	if (*path != '/')
		return -ENOENT;
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && access(path, W_OK) == 0 ? 0
											: -EPERM;
}

/* A folder of another's is no mishap to be passed over: the person believes in it. */
static int choose_base(char out[PATH_MAX], struct err *e)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	unsigned uid = (unsigned)person_uid();
	bool root = person_is_root();
	char run_user[64];
	int n, rc = !root && xdg ? check_own_dir(xdg) : -ENOENT;

	snprintf(run_user, sizeof(run_user), "/run/user/%u", uid);
	if (rc == -EPERM)
		return err_set(
			e, "XDG_RUNTIME_DIR is %s, which is not yours; set it to %s or unset it",
			xdg, run_user);
	if (root && access("/run", W_OK) == 0)
		n = snprintf(out, PATH_MAX, "/run/sandgate");
	else if (rc == 0)
		n = snprintf(out, PATH_MAX, "%s/sandgate", xdg);
	else if (!root && check_own_dir(run_user) == 0)
		n = snprintf(out, PATH_MAX, "%s/sandgate", run_user);
	else
		n = snprintf(out, PATH_MAX, "/tmp/sandgate-%u", uid);
	return n < PATH_MAX ? 0 : err_set(e, "XDG_RUNTIME_DIR is too long");
}

int registry_open(struct registry *r, bool make, struct err *e)
{
	char link[64];
	ssize_t n;
	int rc;

	r->fd = -1;
	if (choose_base(r->path, e))
		return -EPERM;
	r->fd = private_dir_open(AT_FDCWD, r->path, make);
	if (r->fd < 0) {
		rc = r->fd;
		r->fd = -1;
		err_set(e, "%s: %s", r->path,
			rc == -EPERM
				? "it is not a folder of your own with mode 0700; remove it, or set "
				  "XDG_RUNTIME_DIR to a folder of yours"
				: err_why(-rc));
		return rc;
	}
	/* Without links: what lies in a bind mount is told by comparing paths. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	n = readlink(link, r->path, sizeof(r->path) - 1);
	if (n > 0)
		r->path[n] = 0;
	return 0;
}

void registry_close(struct registry *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

int registry_lock(const struct registry *r)
{
	int fd = openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno == EINTR)
			continue;
		close(fd);
		return -errno;
	}
	return fd;
}

/* --- who lives --- */

bool registry_is_alive(int dir)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(dir, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool alive = fd >= 0 && fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return alive;
}

static void remove_sandbox(const struct registry *r, const char *name, int dir)
{
	unlinkat(dir, CONTROL_SOCKET_NAME, 0);
	unlinkat(dir, EXEC_SOCKET_NAME, 0);
	unlinkat(dir, HOOK_SOCKET_NAME, 0);
	unlinkat(dir, NETNS_CLAIM_SANDBOX, 0);
	unlinkat(dir, NETNS_CLAIM_AIRLOCK, 0);
	ca_bundle_remove(dir);
	container_files_remove(dir);
	unlinkat(dir, lock_name, 0);
	unlinkat(r->fd, name, AT_REMOVEDIR);
}

static int open_sandbox(const struct registry *r, const char *name)
{
	int fd = openat(r->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int registry_open_sandbox(const struct registry *r, const char *name)
{
	int fd = sandbox_name_valid(name) ? open_sandbox(r, name) : -ENOENT;

	if (fd < 0 || registry_is_alive(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

int registry_await_end(int dir, int ms)
{
	mono_t end = mono_add_ms(mono_now(), ms);
	struct timespec step = {.tv_nsec = END_STEP_MS * 1000000L};

	while (registry_is_alive(dir)) {
		if (!mono_before(mono_now(), end))
			return -ETIMEDOUT;
		nanosleep(&step, NULL);
	}
	return 0;
}

int registry_find(const char *name, struct err *e)
{
	struct registry r;
	int rc = registry_open(&r, false, e), dir;

	if (rc)
		return rc == -ENOENT ? 0 : -1;
	dir = registry_open_sandbox(&r, name);
	registry_close(&r);
	if (dir >= 0)
		close(dir);
	return dir >= 0;
}

struct visit {
	void (*fn)(void *ctx, const char *name);
	void *ctx;
};

static void visit_one(const struct registry *r, const char *name, const struct visit *v)
{
	int dir = sandbox_name_valid(name) ? open_sandbox(r, name) : -1;

	if (dir < 0)
		return;
	if (!registry_is_alive(dir))
		remove_sandbox(r, name, dir);
	else if (v->fn)
		v->fn(v->ctx, name);
	close(dir);
}

/* The caller holds the registry's lock. */
static int visit_all(const struct registry *r, const struct visit *v)
{
	DIR *d = folder_list(openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		visit_one(r, entry->d_name, v);
	closedir(d);
	return 0;
}

int registry_each(struct registry *r, void (*fn)(void *ctx, const char *name), void *ctx,
		  struct err *e)
{
	struct visit v = {fn, ctx};
	int lock = registry_lock(r);
	int rc = lock < 0 ? lock : visit_all(r, &v);

	if (lock >= 0)
		close(lock);
	return rc ? err_set(e, "%s: %s", r->path, err_why(-rc)) : 0;
}

/* --- taking a name --- */

static int lock_sandbox(int dir)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(dir, lock_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &l) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* 0, -EEXIST when the name is taken, or another -errno. */
static int take(struct runtime_dir *d, const char *name)
{
	if (mkdirat(d->registry.fd, name, 0700) < 0)
		return -errno;
	d->fd = open_sandbox(&d->registry, name);
	if (d->fd < 0)
		return d->fd;
	d->lock = lock_sandbox(d->fd);
	if (d->lock < 0) {
		unlinkat(d->fd, lock_name, 0);
		unlinkat(d->registry.fd, name, AT_REMOVEDIR);
		return d->lock;
	}
	snprintf(d->name, sizeof(d->name), "%s", name);
	return 0;
}

/* A name that is kept belongs to another sandbox, although that does not run. */
static int take_free(struct runtime_dir *d, const char *name)
{
	struct err ignored;
	int kept = state_dir_open_sandbox(name, false, &ignored);

	if (kept < 0)
		return take(d, name);
	close(kept);
	return -EEXIST;
}

static int take_made(struct runtime_dir *d, const char *path)
{
	char base[SANDBOX_NAME_SIZE], name[SANDBOX_NAME_SIZE];
	int rc = -EEXIST;

	sandbox_name_from_path(path, base);
	if (sandbox_name_valid(base))
		rc = take_free(d, base);
	for (unsigned n = 2; rc == -EEXIST && n < NUMBERED_MAX; n++)
		rc = take_free(d, sandbox_name_numbered(base, n, name));
	return rc;
}

static int refuse_taken(const char *name, struct err *e)
{
	return err_set(e, "%s: a sandbox of that name runs; stop it, or take another name", name);
}

static int take_wanted(struct runtime_dir *d, const char *wanted, struct err *e)
{
	int rc;

	if (!sandbox_name_valid(wanted))
		return err_set(e,
			       "%s: a name is a-z, 0-9 and hyphens, at most %d, begins with no "
			       "hyphen and is no word of a command",
			       wanted, SANDBOX_NAME_MAX);
	rc = take(d, wanted);
	if (rc == -EEXIST) {
		refuse_taken(wanted, e);
		return rc;
	}
	return rc ? err_set(e, "%s/%s: %s", d->registry.path, wanted, err_why(-rc)) : 0;
}

static int take_any(struct runtime_dir *d, const char *wanted, const char *path, struct err *e)
{
	int rc;

	if (wanted)
		return take_wanted(d, wanted, e);
	rc = take_made(d, path);
	return rc ? err_set(e, "%s: a folder for the sandbox: %s", d->registry.path, err_why(-rc))
		  : 0;
}

static int claim(struct runtime_dir *d, const char *wanted, const char *path, struct err *e)
{
	struct visit sweep = {0};
	int lock, rc;

	if (registry_open(&d->registry, true, e))
		return -1;
	lock = registry_lock(&d->registry);
	rc = lock < 0 ? lock : visit_all(&d->registry, &sweep);
	rc = rc ? err_set(e, "%s: %s", d->registry.path, err_why(-rc))
		: take_any(d, wanted, path, e);
	if (lock >= 0)
		close(lock);
	if (rc)
		runtime_dir_release(d);
	return rc;
}

static int open_to_make(struct registry *r, struct err *e)
{
	mode_t mask = umask(077);
	int rc = registry_open(r, true, e);

	umask(mask);
	return rc ? -1 : 0;
}

/* The lock is held. */
static int do_unless_taken(const struct registry *r, const char *name,
			   int (*fn)(void *ctx, struct err *e), void *ctx, struct err *e)
{
	_cleanup_fd_ int taken = registry_open_sandbox(r, name);

	if (taken < 0)
		return fn(ctx, e);
	refuse_taken(name, e);
	return -EEXIST;
}

int registry_while_free(const char *name, int (*fn)(void *ctx, struct err *e), void *ctx,
			struct err *e)
{
	struct registry r;
	int lock, rc;

	if (open_to_make(&r, e))
		return -1;
	lock = registry_lock(&r);
	rc = lock < 0 ? err_set(e, "%s: %s", r.path, err_why(-lock))
		      : do_unless_taken(&r, name, fn, ctx, e);
	if (lock >= 0)
		close(lock);
	registry_close(&r);
	return rc;
}

int runtime_dir_claim(struct runtime_dir *d, const char *wanted, const char *path, struct err *e)
{
	/* One that takes from the owner as well would shut the folder to its own user. */
	mode_t mask = umask(077);
	int rc;

	*d = (struct runtime_dir){.registry.fd = -1, .fd = -1, .lock = -1};
	rc = claim(d, wanted, path, e);
	umask(mask);
	return rc;
}

void runtime_dir_release(struct runtime_dir *d)
{
	int lock = d->registry.fd >= 0 && d->fd >= 0 ? registry_lock(&d->registry) : -1;

	if (d->fd >= 0 && *d->name)
		remove_sandbox(&d->registry, d->name, d->fd);
	netns_lock_give(d->netns);
	netns_lock_give(d->airlock);
	if (d->lock >= 0)
		close(d->lock);
	if (d->fd >= 0)
		close(d->fd);
	if (lock >= 0)
		close(lock);
	registry_close(&d->registry);
	*d = (struct runtime_dir){.registry.fd = -1, .fd = -1, .lock = -1};
}
