/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_table: where the flows of a gate stand. For flow.c, handshake.c, dial.c and flow_dns.c only.
 *
 * One array, mapped and not touched until used; free ones in a list, those with a 4-tuple in
 * hash chains by slot number. A slot's generation is raised when it is freed, so that a late
 * DNS answer does not reach its next tenant.
 */
#ifndef SG_GATE_FLOW_TABLE_H
#define SG_GATE_FLOW_TABLE_H

#include "gate/flow.h"

/* Slot 0 is never used, so that fresh memory is an empty table. */
enum { NO_FLOW = 0 };

/* What both ends of a flow are watched for, edge-triggered. */
enum { FLOW_EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI };

struct flow_listener {
	struct watch watch;
	struct flows *flows;
};

struct flows {
	struct gate *gate;
	struct flow *flow;
	uint32_t max;  /* flows that find a place */
	uint32_t used; /* slots ever touched are below it */
	uint32_t open;
	uint32_t free, queue;
	uint32_t *bucket;
	uint32_t bucket_mask;
	struct flow_listener listener[2];
	struct timer sweep;
	/* The policy's rate as a bucket of new flows, filled with time. */
	double tokens;
	mono_t filled;
};

static inline struct flows *flow_table(const struct flow *fl)
{
	return fl->gate->flows;
}

static inline struct loop *flow_loop(const struct flow *fl)
{
	return fl->gate->loop;
}

/* False without memory. */
bool flow_table_init(struct flows *f, uint32_t max);

/* The flow of these endpoints as the sandbox sees them, or NULL. */
struct flow *flow_table_find(struct flows *f, const struct endpoint *src,
			     const struct endpoint *dst);
/* Makes a flow findable by its src and dst, which then stay as they are. */
void flow_table_insert(struct flows *f, struct flow *fl);
/* It is found no more, and may have another dst. */
void flow_table_forget(struct flow *fl);

/* A fresh flow in state FREE, or NULL when all are taken. */
struct flow *flow_table_take(struct flows *f);
/* Closes its sockets, gives back its pipes, and frees it. */
void flow_table_free(struct flow *fl);

/* Octets in flight are lost with their pipes. */
void flow_drop_pipes(struct flow *fl);

/* handshake.c: what was judged of its destination: the rule, the name, what is to be inspected. */
void flow_set_judged(struct flow *fl, const struct judged *j);

/* handshake.c: the events of a listener, and the answer to a SYN that is still held. */
void handshake_accept(struct watch *w, uint32_t events);
void handshake_reset_held(struct flow *fl);
/* Both ends are connected, and not an octet has passed. */
void flow_begin_accepted(struct flow *fl);

/* dial.c */
/* A socket of a flow's that connects, non-blocking, or -errno. The caller's. */
int dial_socket(const struct endpoint *to);
/* Tries the addresses that are left. 0 when one is under way, else -errno of the last. */
int dial_begin(struct flow *fl) sg_must_check;
/* The one that is under way has failed: gives it up and tries the next. As dial_begin(). */
int dial_next(struct flow *fl, int error) sg_must_check;
/* Is there no other address to try after this one? */
bool dial_is_last(const struct flow *fl);
/*
 * It has connected. True: to the far side. False: to the parent proxy, and `done` is called when the
 * tunnel is there, perhaps before this returns, with an errno.
 */
bool dial_reached(struct flow *fl, void (*done)(struct tunnel *t, int error));
/* The tunnel is there: from here on the socket's events are the far side's. */
void dial_tunnelled(struct flow *fl);
/* Tells the sandbox what the far side, or the way to it, said; frees the flow. */
void dial_fail(struct flow *fl, int error);
/* An event of the host's socket while DIALING. */
void dial_event(struct flow *fl, uint32_t events);
/* Gives the held SYN to the kernel: it may complete the handshake. */
void dial_offer(struct flow *fl);

/* flow_dns.c */
bool flow_dns_begin(struct flow *fl);
void flow_dns_ready(struct flow *fl);

/*
 * flow.c: what every socket of a flow has, and what is accepted inherits from a listener: a close
 * before flow_complete_side() is a reset, and an urgent octet keeps its place in the stream.
 */
int flow_set_socket(int fd) sg_must_check;

/* flow.c: what a connection towards the world has that lives for a while. */
void flow_keep_alive(int fd);

/* flow.c: a fresh flow's callbacks. */
void flow_in_ready(struct watch *w, uint32_t events);
void flow_out_ready(struct watch *w, uint32_t events);
void flow_expired(struct timer *t);

#endif
