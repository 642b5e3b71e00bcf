/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipes: kernel pipes that a flow borrows for splice(2) while octets are in flight.
 *
 * A sandbox can open many flows and stop reading on each, so the pool is bounded
 * and a caller must do without one (relay.c copies then). An idle pool keeps a few
 * pipes; the others are closed as they come back.
 */
#ifndef SG_GATE_PIPES_H
#define SG_GATE_PIPES_H

#include <stdbool.h>
#include <stddef.h>

/* Even one beyond its user's limits holds two pages (PIPE_MIN_DEF_BUFFERS, fs/pipe.c). */
enum { PIPE_OCTETS = 256 * 1024, PIPE_OCTETS_SURE = 8192, PIPES_MAX = 128, PIPES_IDLE_MAX = 8 };

struct pipe {
	int read, write;
	size_t n;	   /* octets inside */
	struct pipe *next; /* in the pool's list of idle ones */
};

struct pipes;

struct pipes *pipes_new(void);

/* True when the next pipes_borrow() cannot fail. */
bool pipes_ready(const struct pipes *p);

/* An empty pipe, or NULL when none can be had now. */
struct pipe *pipes_borrow(struct pipes *p);
/* What is still inside is lost with it: only an ended flow returns one that is not empty. */
void pipes_return(struct pipes *p, struct pipe *pipe);

extern const int pipes_syscalls[];

#endif
