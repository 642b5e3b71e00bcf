/* SPDX-License-Identifier: Apache-2.0 */
/* pidfd: processes by descriptor, so that a number given out again is never mistaken. */
#ifndef SG_SANDBOX_PIDFD_H
#define SG_SANDBOX_PIDFD_H

#include <sys/types.h>

/* Close-on-exec; -1 with errno. */
int pidfd_open_child(pid_t pid);

/* The number in this process's PID namespace; 0 when it is not seen here, -1 when it has ended. */
pid_t pidfd_to_pid(int pidfd);

/* 0 or -errno. */
int pidfd_signal(int pidfd, int signo);

#endif
