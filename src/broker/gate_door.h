/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_door: the socket to the gate: connections come in, dials are asked for (docs/protocol.md,
 * "Gate and broker").
 */
#ifndef SG_BROKER_GATE_DOOR_H
#define SG_BROKER_GATE_DOOR_H

#include "base/err.h"
#include "broker/connection.h"
#include "io/gate_message.h"

struct gate_door;

/* Without a gate. NULL: no memory. */
struct gate_door *gate_door_new(struct broker *b);
void gate_door_free(struct gate_door *d);

/*
 * The socket to a gate, which stays the caller's. One that is there goes, with all its connections:
 * there is one gate. 0 or -1.
 */
int gate_door_connect(struct gate_door *d, int fd, struct err *e) sg_must_check;

/*
 * Asks for one more connection to the server of `peer`. connections_dialled() is called with
 * `*dial`. 0 or -errno.
 */
int gate_door_dial(struct gate_door *d, const struct handover *peer, uint32_t *dial);

/*
 * Tells the gate of the octets of a connection: GATE_MOVED, GATE_WANTS or GATE_ENDED. False: there
 * is no gate, or no room for a GATE_MOVED.
 */
bool gate_door_tell(struct gate_door *d, enum gate_message_kind kind, uint32_t connection,
		    uint64_t out, uint64_t in);

/* The answer to GATE_TUNNEL: 0 or an errno. */
void gate_door_answer_tunnel(struct gate_door *d, uint32_t number, int error);

/*
 * Asks for a connection to the token endpoint of a credential; refresher_dialled() is called with
 * `*dial`. 0 or -errno.
 */
int gate_door_dial_token(struct gate_door *d, const struct name *server, uint16_t port,
			 uint32_t *dial);

extern const int gate_door_syscalls[];

#endif
