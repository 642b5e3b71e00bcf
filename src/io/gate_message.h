/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_message: what gate and broker say to each other (docs/protocol.md, "Gate and broker"). Pure.
 *
 *	octets	0 kind, 1 flags, 2-3 port, 4-7 number, 8-11 error, 12-27 address, 28-31 connection,
 *		32-39 octets out, 40-47 octets in, 48 length of the name, then the name
 *
 * Numbers are in network order. A message is that long, no longer.
 */
#ifndef SG_IO_GATE_MESSAGE_H
#define SG_IO_GATE_MESSAGE_H

#include "base/addr.h"
#include "base/buf.h"
#include "base/name.h"

enum gate_message_kind {
	/* Gate to broker, with two descriptors: the client's socket, the server's. */
	GATE_HANDOVER = 1,
	/* Broker to gate: one more connection to the server of `connection`; `number` is the dial's. */
	GATE_DIAL,
	GATE_DIALLED, /* gate to broker: its answer, one descriptor or `error` */
	GATE_MOVED,   /* broker to gate: `out` and `in` of `connection`, so far */
	GATE_WANTS,   /* the same, and it waits: all that may be read of its client was */
	GATE_ENDED,   /* the same, for the last time */
	GATE_MAY,     /* gate to broker: so many octets, `out`, may be read of the client in all */
	GATE_CUT,     /* gate to broker: reset it; answered by GATE_ENDED */
	/*
	 * Broker to gate: a connection of its own, to the token endpoint `name`, that no client
	 * asked for; `number` is the dial's. Answered by GATE_DIALLED.
	 */
	GATE_DIAL_TOKEN,
	/*
	 * Gate to broker, with the socket to the parent proxy: a tunnel is to be asked for to `name`, or
	 * without one to the address; `number` is the tunnel's.
	 */
	GATE_TUNNEL,
	GATE_TUNNELLED, /* broker to gate: it is there, or `error`; the gate has kept the socket */
	GATE_KINDS,	/* one more than the last */
};

/* Flags. */
enum {
	GATE_TLS = 1,
	GATE_OFFERS_HTTP2 = 2,
	GATE_OFFERS_HTTP1 = 4,
	GATE_BY_PROXY = 8, /* it came through the proxy port, and is judged so */
	GATE_PROXIED = 16, /* plain HTTP: one request to a proxy, in absolute form */
	GATE_FLAGS = 31,
};

/* Connections that are at the broker at once. */
enum { GATE_CONNECTIONS_MAX = 1024 };

struct gate_message {
	uint8_t kind, flags;
	struct endpoint dst;
	uint32_t number;     /* of a dial */
	uint32_t error;	     /* an errno */
	uint32_t connection; /* what the gate called it when it handed it over */
	uint64_t out, in;    /* octets from the client, and to it, as they are inside TLS */
	struct name name;    /* n is 0: none */
};

enum { GATE_MESSAGE_HEAD = 49, GATE_MESSAGE_MAX = GATE_MESSAGE_HEAD + NAME_MAX_OCTETS };

/* False: a field is out of its bounds, or the length is another one. */
bool gate_message_parse(struct span octets, struct gate_message *out);
/* At most GATE_MESSAGE_MAX octets. */
void gate_message_print(const struct gate_message *m, struct buf *out);

#endif
