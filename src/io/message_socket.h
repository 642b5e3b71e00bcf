/* SPDX-License-Identifier: Apache-2.0 */
/* message_socket: one end of a SOCK_SEQPACKET pair (unix(7)) that another process handed over. */
#ifndef SG_IO_MESSAGE_SOCKET_H
#define SG_IO_MESSAGE_SOCKET_H

#include "base/err.h"

/*
 * A copy of the descriptor, the caller's, close-on-exec. -1 with a message: it is no such socket (a
 * stream would run messages into each other), or there is no descriptor left. `whose` is its other
 * end's, for the message: "the gate's".
 */
int message_socket_keep(int fd, const char *whose, struct err *e) sg_must_check;

extern const int message_socket_syscalls[]; /* fcntl(F_DUPFD_CLOEXEC) goes by its argument */

#endif
