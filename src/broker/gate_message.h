/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_message: what gate and broker say to each other (docs/protocol.md, "Gate and broker"). Pure.
 *
 *	octets	0 kind, 1 flags, 2-3 port, 4-7 number, 8-11 error, 12-27 address,
 *		28 length of the name, then the name
 *
 * Numbers are in network order. A message is that long, no longer.
 */
#ifndef SG_BROKER_GATE_MESSAGE_H
#define SG_BROKER_GATE_MESSAGE_H

#include "base/addr.h"
#include "base/buf.h"
#include "base/name.h"

enum gate_message_kind {
	GATE_HANDOVER =
		1, /* gate to broker, with two descriptors: the client's socket, the server's */
	GATE_DIAL, /* broker to gate: one more connection to this server; `number` names the dial */
	GATE_DIALLED, /* gate to broker: its answer, one descriptor or `error` */
	GATE_KINDS,   /* one more than the last */
};

/* Flags. */
enum { GATE_TLS = 1, GATE_OFFERS_HTTP2 = 2, GATE_OFFERS_HTTP1 = 4, GATE_FLAGS = 7 };

struct gate_message {
	uint8_t kind, flags;
	struct endpoint dst;
	uint32_t number;  /* of a dial */
	uint32_t error;	  /* an errno */
	struct name name; /* n is 0: none */
};

enum { GATE_MESSAGE_HEAD = 29, GATE_MESSAGE_MAX = GATE_MESSAGE_HEAD + NAME_MAX_OCTETS };

/* False: a field is out of its bounds, or the length is another one. */
bool gate_message_parse(struct span octets, struct gate_message *out);
/* At most GATE_MESSAGE_MAX octets. */
void gate_message_print(const struct gate_message *m, struct buf *out);

#endif
