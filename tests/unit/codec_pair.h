/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_pair: a server codec and a client codec of HTTP/1.1 back to back, with the least that can
 * stand between them: each request is judged and passed on, each answer relayed.
 */
#ifndef SG_TESTS_CODEC_PAIR_H
#define SG_TESTS_CODEC_PAIR_H

#include "broker/codec.h"

struct pair_exchange;

struct codec_pair {
	struct codec *server, *client;
	struct pair_exchange *exchange; /* the one under way */
	/* Called for every request before an octet of it goes on. False: it gets 403. */
	bool (*judge)(void *ctx, struct message *request);
	/* May be NULL. Octets of the body of the request judged last; `whole`: it ended with them. */
	void (*body)(void *ctx, struct span octets, bool whole);
	void *ctx;
	unsigned failures; /* of either side of an exchange */
};

/* False: no memory. */
bool pair_open(struct codec_pair *p, bool (*judge)(void *ctx, struct message *request), void *ctx);
void pair_close(struct codec_pair *p);

#endif
