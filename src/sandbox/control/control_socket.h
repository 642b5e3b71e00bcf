/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_socket: the sockets "control" (a stream), "exec" and "hook" (SOCK_SEQPACKET) in a
 * sandbox's folder of the registry, by the folder's descriptor, so that their paths may be longer
 * than a socket address holds.
 */
#ifndef SG_SANDBOX_CONTROL_SOCKET_H
#define SG_SANDBOX_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

#define CONTROL_SOCKET_NAME "control"
#define EXEC_SOCKET_NAME    "exec"
#define HOOK_SOCKET_NAME    "hook"

enum control_socket_kind { CONTROL_SOCKET, EXEC_SOCKET, HOOK_SOCKET };

/* A listening, non-blocking descriptor, or -errno. */
int control_socket_listen(int dir, enum control_socket_kind kind);

/* A connected, blocking descriptor, or -errno. */
int control_socket_connect(int dir, enum control_socket_kind kind);

/* This process's user or root, in this process's PID namespace. Fills `who` when it is true. */
bool control_socket_peer_is_own(int fd, struct ucred *who);

/* Is that process in this one's PID namespace, and in none below? */
bool control_socket_is_beside(pid_t pid);

#endif
