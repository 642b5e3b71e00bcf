/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paced: a socket whose messages are read at a bounded pace. While none may be read the loop does not
 * watch it: what is more waits in the kernel's buffer of the socket, or is lost there, and costs
 * nothing here.
 */
#ifndef SG_GATE_PACED_H
#define SG_GATE_PACED_H

#include "gate/pace.h"
#include "io/loop.h"

struct paced;

/* Reads one message and does what it asks for; false when none is there. */
typedef bool paced_fn(struct paced *p);

struct paced {
	paced_fn *take;
	struct loop *loop;
	int fd;
	struct watch watch;
	struct timer rest;
	struct pace pace;
};

enum { PACED_AT_ONCE = 16, PACED_PER_S = 16 };

/* The rest of `p` is zeroed. 0 or -errno. */
int paced_begin(struct paced *p, struct loop *l, int fd, paced_fn *take) sg_must_check;

#endif
