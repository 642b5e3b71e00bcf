/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about mounts that are handed from one mount namespace to another. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rig.h"
#include "sandbox/control/exec_wire.h"

/* A read-only clone of a folder's file, out of a mount namespace that a user namespace of its own has. */
static void be_cloner(int to, const char *folder)
{
	struct mount_attr a = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	int tree, file;

	CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	tree = open_tree(AT_FDCWD, folder, OPEN_TREE_CLONE);
	CHECK(tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &a, sizeof(a)) == 0);
	CHECK(move_mount(tree, "", AT_FDCWD, folder, MOVE_MOUNT_F_EMPTY_PATH) == 0);
	CHECK(fchdir(tree) == 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	file = open_tree(AT_FDCWD, "file", OPEN_TREE_CLONE);
	CHECK(file >= 0 && exec_send(to, "", 1, &file, 1) == 0);
	_exit(0);
}

static int take_clone(int from)
{
	int fds[EXEC_FDS_MAX], n = 0;
	char octet;

	CHECK(exec_receive(from, &octet, 1, fds, &n) == 1 && n == 1);
	return fds[0];
}

static void make_file(const char *folder, const char *name, char path[64])
{
	int fd;

	snprintf(path, 64, "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	close(fd);
}

/* mount_clone.c: whoever has CAP_SYS_ADMIN where it was moved to can take it away, not write to it. */
static void hold_read_only(void)
{
	struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
	char folder[] = "/tmp/sandgate-mounts-XXXXXX", file[64], target[64];
	int pair[2], clone, status;
	pid_t pid;

	rig_enter_userns(CLONE_NEWNS);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("tmp", "/tmp", "tmpfs", 0, NULL) == 0 && mkdtemp(folder));
	make_file(folder, "file", file);
	make_file("/tmp", "target", target);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0 && (pid = fork()) >= 0);
	if (pid == 0)
		be_cloner(pair[1], folder);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	clone = take_clone(pair[0]);
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(move_mount(clone, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) == 0);
	CHECK(mount(NULL, target, NULL, MS_REMOUNT | MS_BIND, NULL) < 0 && errno == EPERM);
	CHECK(mount_setattr(AT_FDCWD, target, 0, &writable, sizeof(writable)) < 0 &&
	      errno == EPERM);
	clone = open_tree(AT_FDCWD, target, OPEN_TREE_CLONE);
	CHECK(mount_setattr(clone, "", AT_EMPTY_PATH, &writable, sizeof(writable)) < 0);
	CHECK(open(target, O_WRONLY) < 0 && errno == EROFS && umount2(target, MNT_DETACH) == 0);
}

static void a_clone_is_held_read_only_for_good(void **state)
{
	assert_int_equal(rig_run(hold_read_only), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clone_is_held_read_only_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
