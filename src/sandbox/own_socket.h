/* SPDX-License-Identifier: Apache-2.0 */
/* own_socket: a socket of AF_UNIX at a path, that nobody but its owner (and root) can connect to. */
#ifndef SG_SANDBOX_OWN_SOCKET_H
#define SG_SANDBOX_OWN_SOCKET_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/compiler.h"

/*
 * Binds `fd`, which stays the caller's: its file has these bits of permission, and no more at any
 * moment. 0 or -errno. The umask is another one meanwhile, and that is the whole process's.
 */
int own_socket_bind(int fd, const struct sockaddr_un *a, mode_t mode) sg_must_check;

/* Binds it with 0700, and listens. `fd`, or -errno with it closed. */
int own_socket_listen(int fd, const struct sockaddr_un *a) sg_must_check;

#endif
