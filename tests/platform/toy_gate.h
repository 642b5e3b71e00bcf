/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toy_gate: the least that stands at the outer end of an airlock. It lets every SYN go but
 * those to TOY_REFUSED, and sends back what it gets: TCP, UDP and ping, both families. A
 * connection to TOY_NAMES gets the address and port that it was made to, and is closed.
 */
#ifndef SG_TESTS_PLATFORM_TOY_GATE_H
#define SG_TESTS_PLATFORM_TOY_GATE_H

#include "airlock/airlock.h"

enum { TOY_REFUSED = 1, TOY_NAMES = 2, TOY_TAP_OCTETS = 64 };

/*
 * Starts it in a child, with the descriptors of f, which are closed here. `tap`: -1, or a datagram
 * socket that gets the head of every packet that came by the tun device.
 */
pid_t toy_gate_start(struct airlock_gate_fds *f, int tap);

/* How many SYNs the gates that this process has started have read so far. */
uint64_t toy_gate_syns(void);

#endif
