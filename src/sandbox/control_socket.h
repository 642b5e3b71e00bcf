/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_socket: the socket "control" in a sandbox's folder of the registry, by the folder's
 * descriptor, so that its path may be longer than a socket address holds.
 */
#ifndef SG_SANDBOX_CONTROL_SOCKET_H
#define SG_SANDBOX_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

#define CONTROL_SOCKET_NAME "control"

/* A listening, non-blocking descriptor, or -errno. */
int control_socket_listen(int dir);

/* A connected, blocking descriptor, or -errno. */
int control_socket_connect(int dir);

/* This process's user or root, in this process's PID namespace. Fills `who` when it is true. */
bool control_socket_peer_is_own(int fd, struct ucred *who);

#endif
