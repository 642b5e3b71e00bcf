/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_dials: connections that the broker asked for and that are on their way to a server. What
 * may be dialled was judged by broker_door.c.
 */
#ifndef SG_GATE_BROKER_DIALS_H
#define SG_GATE_BROKER_DIALS_H

#include "gate/context.h"

enum { BROKER_DIALS_MAX = 128 };

struct broker_dials;

/* `done` is called when there is an answer that no call asked for. NULL: no memory. */
struct broker_dials *broker_dials_new(struct gate *g, void (*done)(void *ctx), void *ctx);

struct broker_dial {
	uint32_t number, connection;
	const struct endpoint *to;
	const struct name *name; /* for the parent proxy; NULL: none */
	int error;		 /* an errno: it is answered with that; 0: it is dialled */
};

/*
 * Begins one. Beyond BROKER_DIALS_MAX, or the rate of new flows, its answer is EAGAIN; without a
 * place even for that it is dropped, and the broker gives it up for its time.
 */
void broker_dials_begin(struct broker_dials *d, const struct broker_dial *dial);

/* Says what there is to say to the broker. False: there is no room for it now. */
bool broker_dials_answer(struct broker_dials *d, int broker);

/* Those of a connection that has ended, and all: what was not answered is closed. */
void broker_dials_forget(struct broker_dials *d, uint32_t connection);
void broker_dials_forget_all(struct broker_dials *d);

#endif
