/* SPDX-License-Identifier: Apache-2.0 */
/* passed_fd: a message that may bring descriptors with it (SCM_RIGHTS, unix(7)). */
#ifndef SG_IO_PASSED_FD_H
#define SG_IO_PASSED_FD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The next message, without waiting; -1 with errno, 0 at the end. `*passed` is the descriptor that
 * came with it, close-on-exec and the caller's, or -1; of several the kernel keeps the first. A
 * message that is longer than n is cut.
 */
ssize_t passed_fd_receive(int from, void *message, size_t n, int *passed);

/*
 * The same for as many as `most`, PASSED_FDS_MAX at most: those that came, then -1, and of more
 * than `most` the first.
 */
enum { PASSED_FDS_MAX = 4 };
ssize_t passed_fds_receive(int from, void *message, size_t n, int *passed, size_t most);

/*
 * A message with n_fds descriptors, at most PASSED_FDS_MAX, without waiting; the caller keeps its
 * own. 0 or -errno: nothing was sent. It is sendmsg(2), which passed_fd_syscalls has not.
 */
int passed_fds_send(int to, const void *message, size_t n, const int *fds, size_t n_fds);

extern const int passed_fd_syscalls[];

#endif
