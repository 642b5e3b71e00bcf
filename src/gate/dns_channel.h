/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_channel: c-ares in the gate's loop. It carries questions to the host's servers and says what
 * came back; which questions there are, and for how long, is the resolver's.
 *
 * Theory of operation. c-ares owns the sockets, the order of servers, retransmission and the retry
 * over TCP. It says which sockets it wants watched, and is called when one is ready or when its
 * timer has expired. It is made with every option given, so that it reads no file but the system's
 * random numbers, once, at creation. It tries each server for a short time, in turn, and gives up
 * every question within a few seconds: so each that was asked comes back exactly once.
 *
 * Source address, id and question of an answer are compared by c-ares.
 */
#ifndef SG_GATE_DNS_CHANNEL_H
#define SG_GATE_DNS_CHANNEL_H

#include <ares.h>

#include "base/span.h"
#include "gate/gate.h"
#include "io/loop.h"

enum { DNS_CHANNEL_SOCKETS_MAX = 4 * RESOLVER_SERVERS_MAX }; /* UDP and TCP to each, old and new */

enum channel_outcome {
	CHANNEL_ANSWERED,
	CHANNEL_TIMED_OUT, /* no server has answered any of the tries */
	CHANNEL_TAKEN_BACK,
	CHANNEL_FAILED,
};

/* A question that was asked; embedded in the caller's object, which stays until it has come back. */
struct channel_query {
	/* `octets` are the answer's, as they came, and live only during the call. */
	void (*back)(struct channel_query *q, enum channel_outcome outcome, struct span octets);
};

struct dns_channel {
	struct loop *loop;
	ares_channel ares;
	size_t n_servers;
	struct timer timer; /* always set, so that there is always room for it */
	struct channel_socket {
		struct watch watch; /* fd -1: free */
		struct dns_channel *channel;
	} sockets[DNS_CHANNEL_SOCKETS_MAX];
};

/*
 * Of memory that is all zero. The servers are still to be set; of `config` only the number of tries
 * counts, each of `try_ms`. 0 or -errno; dns_channel_close() in both cases.
 */
int dns_channel_open(struct dns_channel *c, struct loop *loop, const struct resolver_config *config,
		     int64_t try_ms) sg_must_check;

/* What is in flight does not come back. */
void dns_channel_close(struct dns_channel *c);

/* All that is in flight comes back as CHANNEL_TAKEN_BACK. */
void dns_channel_take_back(struct dns_channel *c);

/* While nothing is in flight. 0, or -errno: then there is no server. */
int dns_channel_set_servers(struct dns_channel *c,
			    const struct resolver_config *config) sg_must_check;

/*
 * Sends it. It may be back before this returns. False, and it does not come back, when there is no
 * server.
 */
bool dns_channel_ask(struct dns_channel *c, struct channel_query *q,
		     struct span question) sg_must_check;

/* After questions were asked otherwise than from back(): when c-ares is to be called next. */
void dns_channel_set_timer(struct dns_channel *c);

#endif
