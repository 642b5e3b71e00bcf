/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall_filter: the ways out that are not IP, closed by seccomp.
 *
 * Two programs are loaded one after the other; the stricter answer of the two counts.
 *   calls      by number: a call that this table does not know is ENOSYS, so that one that a later
 *              kernel brings is closed until somebody has looked at it; the refused ones are EPERM.
 *   arguments  sockets by family, type and protocol; two requests of terminals; tracing of
 *              the engine's own process 1.
 *   no_network  (not for every sandbox) no socket but those of AF_UNIX.
 * All hold for the 32-bit calls of the machine as well; x32 calls are ENOSYS, socketcall(2) EPERM.
 * libseccomp makes them when sandgate is built (syscall_filter_rules.c).
 * Registers have 64 bits, but the kernel looks at 32 of a family or a request: so do the rules.
 */
#ifndef SG_SANDBOX_SYSCALL_FILTER_H
#define SG_SANDBOX_SYSCALL_FILTER_H

#include "base/err.h"

struct syscall_filter {
	int calls, arguments,
		no_network; /* memory files with BPF as seccomp(2) takes it, at offset 0 */
};

/* 0, or -1 with the message and all descriptors -1. */
int syscall_filter_make(struct syscall_filter *f, struct err *e) sg_must_check;
void syscall_filter_close(struct syscall_filter *f);

#endif
