/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream: the connections to the server behind one connection of a client: the one that was
 * handed over, and those that the gate was asked to dial when that is busy or has ended.
 */
#ifndef SG_BROKER_UPSTREAM_H
#define SG_BROKER_UPSTREAM_H

#include "broker/exchange.h"
#include "broker/link.h"

enum { UPSTREAMS_MAX = 4 };

struct upstreams;

enum upstream_state { UPSTREAM_NONE, UPSTREAM_TLS, UPSTREAM_OPEN };

struct upstream {
	struct link link;
	struct upstreams *all;
	enum upstream_state state;
	bool http2;
	mono_t begun; /* of the handshake */
};

struct upstreams {
	struct broker *broker;
	const struct handover *peer;
	struct exchanges *exchanges;
	void (*wake)(struct upstreams *all); /* something is ready */
	struct upstream v[UPSTREAMS_MAX];
	bool settled; /* the first one is open, or has failed */
	bool dialling;
	uint32_t dial;
	mono_t dialled_at;
	bool failed; /* and for good */
	struct upstream_failure failure;
};

/* Takes the server's socket of the handover. False: it is closed, `failure` says why. */
bool upstreams_begin(struct upstreams *all);
/* Closes what is open; dials that are under way are forgotten. */
void upstreams_close(struct upstreams *all);

/* Handshakes, octets both ways, ends. True: something happened. */
bool upstreams_work(struct upstreams *all);
/* Would upstreams_send() do more than wait? */
bool upstreams_may_take(const struct upstreams *all);
/* See exchange_ways.send. */
enum exchange_sent upstreams_send(struct upstreams *all, struct exchange *x,
				  const struct message *request, struct codec **to,
				  struct upstream_failure *failure);
/* The gate's answer to the dial that is under way. */
void upstreams_dialled(struct upstreams *all, int fd, int error);

/* What did the first one agree to? After it settled. */
bool upstreams_speak_http2(const struct upstreams *all);
/* Of all of them, so far. */
uint64_t upstreams_octets(const struct upstreams *all);
/* When a handshake or a dial has taken too long. False: none is under way. */
bool upstreams_deadline(const struct upstreams *all, mono_t *when);
/* Gives up those of which that is true now. */
void upstreams_give_up(struct upstreams *all, mono_t now);

#endif
