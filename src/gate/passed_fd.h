/* SPDX-License-Identifier: Apache-2.0 */
/* passed_fd: a message that may bring a descriptor with it (SCM_RIGHTS, unix(7)). */
#ifndef SG_GATE_PASSED_FD_H
#define SG_GATE_PASSED_FD_H

#include <sys/types.h>

/*
 * The next message, without waiting; -1 with errno, 0 at the end. `*passed` is the descriptor that
 * came with it, close-on-exec and the caller's, or -1; of several the kernel keeps the first. A
 * message that is longer than n is cut.
 */
ssize_t passed_fd_receive(int from, void *message, size_t n, int *passed);

extern const int passed_fd_syscalls[];

#endif
