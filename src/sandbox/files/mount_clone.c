/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/mount_clone.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/control/exec_wire.h"

enum { CLONE_MS = 10000 };

/* With each clone, or instead of the rest. */
struct word {
	int rc;
	struct err e;
};

/* It becomes the working directory, as a mount of its own in namespaces that end with this process. */
static int enter_locked(const char *folder, struct err *e)
{
	struct mount_attr reading = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    MOUNT_ATTR_NOEXEC,
		.propagation = MS_PRIVATE,
	};
	_cleanup_fd_ int tree = -1;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_set(e, "a mount namespace: %s", err_why(errno));
	tree = open_tree(AT_FDCWD, folder,
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &reading, sizeof(reading)) < 0 ||
	    move_mount(tree, "", AT_FDCWD, folder, MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(tree) < 0)
		return err_set(e, "%s: a read-only mount: %s", folder, err_why(errno));
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_set(e, "a user namespace that holds mounts read-only: %s",
			       err_why(errno));
	return 0;
}

static int hand_out(const char *name, int sock, struct err *e)
{
	_cleanup_fd_ int tree = open_tree(
		AT_FDCWD, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	struct word good = {0};

	if (tree < 0)
		return err_set(e, "%s: %s", name, err_why(errno));
	return exec_send(sock, &good, sizeof(good), &tree, 1)
		       ? err_set(e, "nobody listens for clones")
		       : 0;
}

static void sg_noreturn be_cloner(const char *folder, const char *const *names, int sock,
				  pid_t parent)
{
	struct word w = {0};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	w.rc = enter_locked(folder, &w.e);
	for (; w.rc == 0 && *names; names++)
		w.rc = hand_out(*names, sock, &w.e);
	if (w.rc)
		exec_send(sock, &w, sizeof(w), NULL, 0);
	_exit(w.rc != 0);
}

int mount_clone_begin(const char *folder, const char *const *names, struct err *e)
{
	pid_t self = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "a socket pair: %s", err_why(errno));
	pid = fork();
	if (pid == 0)
		be_cloner(folder, names, pair[1], self);
	close(pair[1]);
	if (pid > 0)
		return pair[0];
	close(pair[0]);
	return err_set(e, "a process that clones mounts: %s", err_why(errno));
}

int mount_clone_take(int sock, struct err *e)
{
	struct pollfd f = {.fd = sock, .events = POLLIN};
	struct word w;
	int fds[EXEC_FDS_MAX], n = 0;
	ssize_t got = poll(&f, 1, CLONE_MS) == 1 ? exec_receive(sock, &w, sizeof(w), fds, &n) : 0;

	if (got == (ssize_t)sizeof(w) && w.rc == 0 && n == 1)
		return fds[0];
	exec_close_all(fds, n);
	if (got == (ssize_t)sizeof(w) && w.rc)
		*e = w.e;
	else
		err_set(e, "the process that clones mounts has ended");
	return -1;
}
