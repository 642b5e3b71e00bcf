/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate: how the gate gives up everything but its descriptors, in numbered stages, before
 * the first byte from the sandbox.
 *
 *	stage 1  after the fork: every descriptor that is not the gate's own is closed; the
 *	         environment is wiped; no capability, not even to gain (bounding set, ambient,
 *	         no_new_privs); not dumpable. It can still open files.
 *	stage 2  when everything has been made and read: off the person's terminal; Landlock
 *	         without any file, no abstract UNIX socket, no signal beyond itself; the seccomp
 *	         allow-list. It can use its descriptors, make INET sockets and pipes, and allocate.
 *	         What it connects it can pass on, and only over the UNIX sockets that it was given:
 *	         to the broker, and to the supervisor and the door, which take none of it.
 */
#ifndef SG_GATE_ISOLATE_H
#define SG_GATE_ISOLATE_H

#include <stddef.h>

#include "base/err.h"

/* Keeps 0, 1, 2 and the n descriptors of `keep`. 0 or -1 with a message. */
int isolate_early(const int *keep, size_t n, struct err *e) sg_must_check;

/* 0 or -1 with a message; the kernel must have seccomp; Landlock is used as far as it is there. */
int isolate_fully(struct err *e) sg_must_check;

#endif
