/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_dir: the registry of the sandboxes that run: one folder each.
 *
 * BASE is root's /run/sandgate, or a person's $XDG_RUNTIME_DIR/sandgate, /run/user/UID/sandgate or
 * /tmp/sandgate-UID, the first that there is; mode 0700, the person's own. It is locked (flock)
 * while folders are made and taken away.
 *
 * BASE/NAME/lock carries a record lock of the supervisor for as long as it lives: the kernel lets
 * go of it whatever the supervisor dies of, and forked children have no part in it. A folder
 * without that lock is left over and is taken away by whoever comes next.
 *
 * BASE/NAME/control is the control socket, BASE/NAME/exec the one for commands that are run inside,
 * BASE/NAME/netns says which network namespace is its own (netns_claim.h),
 * BASE/NAME/ca has the certificates that its programs trust (ca_bundle.h), BASE/NAME/podman what a
 * container's engine is given (container_files.h), and BASE/NAME/hook is the socket for its hook.
 */
#ifndef SG_SANDBOX_RUNTIME_DIR_H
#define SG_SANDBOX_RUNTIME_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "sandbox/sandbox_name.h"

struct registry {
	int fd; /* of BASE */
	char path[PATH_MAX];
};

struct runtime_dir {
	struct registry registry;
	int fd, lock;
	int netns, airlock; /* locks of its namespaces (netns_lock.h); 0: none */
	char name[SANDBOX_NAME_SIZE];
};

/* Opens BASE, making it when `make`. -ENOENT when it is not there; else as runtime_dir_claim. */
int registry_open(struct registry *r, bool make, struct err *e) sg_must_check;
void registry_close(struct registry *r);

/*
 * While it is open folders neither come nor go, and namespaces are nobody else's to claim. To be
 * closed soon, and before anything of the registry is called that takes it itself: all below but
 * registry_is_alive() and registry_open_sandbox(). -errno.
 */
int registry_lock(const struct registry *r) sg_must_check;

/* Takes left-over folders away, then calls fn for the name of each sandbox that lives. */
int registry_each(struct registry *r, void (*fn)(void *ctx, const char *name), void *ctx,
		  struct err *e) sg_must_check;

/* Whether the sandbox of an open folder lives. */
bool registry_is_alive(int dir);

/* The folder of a sandbox that lives, or -errno. */
int registry_open_sandbox(const struct registry *r, const char *name);

/*
 * Waits until the sandbox of an open folder lives no more, and not for another that has taken its
 * name since. 0 or -ETIMEDOUT.
 */
int registry_await_end(int dir, int ms) sg_must_check;

/* Does one of that name live? 1, 0, or -1 with the message. */
int registry_find(const char *name, struct err *e) sg_must_check;

/*
 * Calls fn when none of that name lives, and lets nobody take it, nor any other, until it has
 * returned: it has to be quick, and leaves no child. What it returned, or with the message -EEXIST
 * when the name is taken, or -1.
 */
int registry_while_free(const char *name, int (*fn)(void *ctx, struct err *e), void *ctx,
			struct err *e) sg_must_check;

/*
 * Takes the name `wanted`, or when that is NULL one made from `path`, with a number when it is
 * taken or a reserved word. 0, or with the message -EEXIST when `wanted` is taken, or -1.
 */
int runtime_dir_claim(struct runtime_dir *d, const char *wanted, const char *path,
		      struct err *e) sg_must_check;

/* Takes the folder away. */
void runtime_dir_release(struct runtime_dir *d);

#endif
