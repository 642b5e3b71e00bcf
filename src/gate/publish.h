/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish: connections from the host's loopback to a port of the sandbox (--publish H:P).
 *
 * The gate cannot make a socket in the sandbox's network; it asks the door, a process without
 * privileges that stands there (airlock.h), and relays between the two.
 */
#ifndef SG_GATE_PUBLISH_H
#define SG_GATE_PUBLISH_H

#include "gate/context.h"
#include "gate/gate.h"

struct publisher;

/* Takes over the listeners and the door's socket. NULL without memory. */
struct publisher *publisher_new(struct gate *g, int door, const struct gate_publish *p, size_t n);

extern const int publish_syscalls[];

#endif
