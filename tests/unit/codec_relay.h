/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_relay: a server codec and a client codec of any versions back to back, any number of
 * exchanges at once, with the least that can stand between them. A request that no stream is free
 * for waits.
 */
#ifndef SG_TESTS_CODEC_RELAY_H
#define SG_TESTS_CODEC_RELAY_H

#include "broker/codec.h"

struct relay_exchange;

/* http1_server_new() and its like. */
typedef struct codec *codec_new_fn(const struct codec_events *events, void *ctx);

struct codec_relay {
	struct codec *server, *client; /* owned */
	struct relay_exchange *exchanges;
	/* May be NULL. Called for every request before an octet of it goes on. False: it gets 403.
	 */
	bool (*judge)(void *ctx, struct message *request);
	/* May be NULL. More of the body of the request judged last; `whole`: it ended with that. */
	void (*body)(void *ctx, struct span octets, bool whole);
	void *ctx;
	bool server_continues;			    /* 100 comes from the server alone */
	unsigned requests, retries, failures, done; /* failures of either side */
};

void relay_open(struct codec_relay *r, codec_new_fn *server, codec_new_fn *client);
void relay_close(struct codec_relay *r);
/* Octets of bodies that are in it now. */
size_t relay_held(const struct codec_relay *r);

#endif
