/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control: the gate's side of its socket to the supervisor.
 *
 * SOCK_SEQPACKET, one JSON object a message. Only the supervisor holds the other end, and the
 * gate ends when it closes. docs/protocol.md lists the requests.
 */
#ifndef SG_GATE_CONTROL_H
#define SG_GATE_CONTROL_H

#include "base/err.h"
#include "gate/context.h"

struct control;

/* Takes over the descriptor. NULL without memory. */
struct control *control_new(struct gate *g, int fd);

/* Tells the supervisor that the gate is isolated and will pass packets. False when it is gone. */
bool control_say_ready(struct control *c);

/* Tells why the gate cannot start, over the descriptor itself: there may be no loop yet. */
void control_say_failed(int fd, const struct err *e);

extern const int control_syscalls[];

#endif
