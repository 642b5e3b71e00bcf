/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_door: the gate's end of the socket to the broker (docs/protocol.md, "Gate and broker"):
 * connections whose requests have to be seen go out, and the broker's dials come in.
 */
#ifndef SG_GATE_BROKER_DOOR_H
#define SG_GATE_BROKER_DOOR_H

#include <jansson.h>

#include "gate/context.h"
#include "io/gate_message.h"

struct broker_door;

/* Without a broker. NULL: no memory. */
struct broker_door *broker_door_new(struct gate *g);

/*
 * The socket to a broker, which stays the caller's. One that is there goes, and with it what is
 * noted of its connections: there is one broker. 0 or -1.
 */
int broker_door_connect(struct broker_door *d, int fd, struct err *e) sg_must_check;

/* A connection that was admitted, and whose requests have to be seen. */
struct handing {
	int client, server;	  /* stay the caller's */
	uint8_t flags;		  /* GATE_TLS, GATE_OFFERS_..., GATE_BY_PROXY, GATE_PROXIED */
	enum record_proto proto;  /* for the journal */
	const struct name *name;  /* of the hello or the Host; NULL: none */
	struct endpoint src, dst; /* as the sandbox sees it */
	struct endpoint dialled;
	const struct rule *rule; /* that admitted it; NULL: none */
	bool by_default;	 /* the base did */
	mono_t begun;
};

/*
 * REASON_NONE: the broker has both sockets, and the caller closes its own. Else why it cannot be
 * handed over, and nothing has happened: REASON_BROKER_DOWN, REASON_LIMIT_FLOWS, or a limit on
 * octets that is met.
 */
enum reason broker_door_hand_over(struct broker_door *d, const struct handing *h);

/*
 * A message of another part of the gate, with a descriptor that stays the caller's. 0 or an errno:
 * ECONNREFUSED without a broker, EAGAIN when there is no room for it now.
 */
int broker_door_send(struct broker_door *d, const struct gate_message *m, int fd);

/* Connections that are at the broker. */
uint32_t broker_door_open(const struct broker_door *d);

/* Cuts those that would not be admitted now; the others name rules of the present ruleset. */
void broker_door_rejudge(struct broker_door *d);

/* A capture has begun: how it stands with the one in that place of GATE_CONNECTIONS_MAX, if any. */
void broker_door_tell(const struct broker_door *d, uint32_t place);

extern const int broker_door_syscalls[];

#endif
