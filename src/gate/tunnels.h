/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnels: the way to far sides that only the parent proxy reaches (policy/parent_proxy.h). The gate
 * connects to the parent; the broker, which has its password, asks for the tunnel on that socket
 * (docs/protocol.md, "Gate and broker").
 */
#ifndef SG_GATE_TUNNELS_H
#define SG_GATE_TUNNELS_H

#include "gate/context.h"
#include "policy/parent_proxy.h"

enum { TUNNELS_MAX = 1024 }; /* that are asked for at once */

/* Embedded in what waits for it; all zero: it does not wait. */
struct tunnel {
	uint32_t number;
	/* 0: what is sent and received now is the far side's; else an errno. */
	void (*done)(struct tunnel *t, int error);
};

struct tunnels;

/* `parent` is borrowed. NULL: no memory. A gate without a parent proxy has none. */
struct tunnels *tunnels_new(struct gate *g, const struct parent_proxy *parent);

/* Is the destination reached through the parent, and never directly? `name` may be NULL. */
bool tunnels_carry(const struct gate *g, const struct name *name, const struct addr *a);

/* An address of the parent, the `i`th; NULL: there are no more. */
const struct endpoint *tunnels_parent(const struct gate *g, size_t i);

/*
 * Asks for a tunnel on a socket that is connected to the parent, and stays the caller's, who takes
 * nothing from it before `done`. 0, or an errno: nothing has begun.
 */
int tunnel_ask(struct gate *g, struct tunnel *t, int fd, const struct name *name,
	       const struct endpoint *to);

/* It is not waited for any more; nothing when it does not wait. */
void tunnel_forget(struct gate *g, struct tunnel *t);

static inline bool tunnel_waits(const struct tunnel *t)
{
	return t->number != 0;
}

/* The broker's answer; one to a number that does not wait is passed over. */
void tunnels_answer(struct gate *g, uint32_t number, int error);

/* The broker is gone: none will be answered. */
void tunnels_fail(struct gate *g);

#endif
