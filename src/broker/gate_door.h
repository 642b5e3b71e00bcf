/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_door: the socket to the gate: connections come in, dials are asked for (docs/protocol.md,
 * "Gate and broker").
 */
#ifndef SG_BROKER_GATE_DOOR_H
#define SG_BROKER_GATE_DOOR_H

#include "broker/connection.h"

struct gate_door;

/* The socket is the door's from here on. NULL: no memory. */
struct gate_door *gate_door_new(struct broker *b, int fd);
void gate_door_free(struct gate_door *d);

/*
 * Asks for one more connection to the server of `peer`. connections_dialled() is called with
 * `*dial`. 0 or -errno.
 */
int gate_door_dial(struct gate_door *d, const struct handover *peer, uint32_t *dial);

extern const int gate_door_syscalls[];

#endif
