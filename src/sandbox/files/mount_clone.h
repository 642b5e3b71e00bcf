/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_clone: read-only clones of a folder's mount and of files in it, as descriptors that can be moved
 * into another mount namespace (open_tree(2), move_mount(2)).
 *
 * Theory of operation. A child of the caller makes the folder a read-only mount in a mount namespace of
 * its own, and enters a user and a mount namespace below that: the kernel then holds its mounts so for
 * good, as of one that has fewer rights (mount_namespaces(7)). What is cloned there stays so wherever it
 * is moved: whoever has CAP_SYS_ADMIN there can take it away, and can write to none.
 */
#ifndef SG_SANDBOX_MOUNT_CLONE_H
#define SG_SANDBOX_MOUNT_CLONE_H

#include "base/err.h"

/*
 * Begins to clone: `names` are those of files in the folder, "." itself, NULL-terminated. The caller has
 * CAP_SYS_ADMIN over its mount namespace, and the child dies with it. A socket, or -1 with the message.
 */
int mount_clone_begin(const char *folder, const char *const *names, struct err *e);

/* That of the next name, or -1 with the message. */
int mount_clone_take(int sock, struct err *e);

#endif
