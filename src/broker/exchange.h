/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: requests of one connection and their answers, from the head that came to the last octet
 * that went. What may pass is decided here; octets are the codecs', sockets the connection's.
 */
#ifndef SG_BROKER_EXCHANGE_H
#define SG_BROKER_EXCHANGE_H

#include "base/clock.h"
#include "broker/codec.h"
#include "broker/connection.h"
#include "broker/credential.h"
#include "broker/judge_request.h"
#include "broker/request_log.h"

enum { EXCHANGES_MAX = 128 }; /* of a connection, at once */

struct exchange_counters {
	uint64_t requests, refused, failed;
	uint64_t open;
};

/* What decides, for all connections of a broker. */
struct exchange_rules {
	struct request_judge judge; /* its `addr` is filled for each connection */
	struct vault *vault;	    /* NULL: there are no credentials */
	void (*stale)(void *ctx);   /* a request waits for a credential; not without a vault */
	void *stale_ctx;
	struct request_log *log;
	struct exchange_counters counters;
};

/* Why no request reaches the server. */
struct upstream_failure {
	enum reason reason;
	char why[256]; /* a sentence piece; printable */
};

enum exchange_sent { EXCHANGE_SENT, EXCHANGE_WAITS, EXCHANGE_UNSENT };

/* What a connection does for its exchanges. */
struct exchange_ways {
	/*
	 * Gives the request to a codec that faces the server, which `*to` then is. EXCHANGE_WAITS:
	 * none can take it now; exchanges_advance() is called when one may. EXCHANGE_UNSENT: none
	 * will; `*failure` says why.
	 */
	enum exchange_sent (*send)(void *owner, struct exchange *x, const struct message *request,
				   struct codec **to, struct upstream_failure *failure);
};

struct live_exchange;

/* All exchanges of one connection. */
struct exchanges {
	struct exchange_rules *rules;
	const struct exchange_ways *ways;
	void *owner;
	const struct handover *peer;
	struct codec *client;
	bool client_http2; /* another authority is answered with 421, not 403 */
	struct live_exchange *live, *over;
	unsigned n_live, n_waiting;
};

/*
 * The events of both codecs of a connection. The server-role codec's ctx is the struct exchanges.
 */
extern const struct codec_events exchange_events;

/* Tries again to send what waits for a server, for a credential, or for the audit log. */
void exchanges_advance(struct exchanges *xs);
/* When a request has waited for the audit log for `patience` milliseconds; false: none waits. */
bool exchanges_deadline(const struct exchanges *xs, int64_t patience, mono_t *at);
/* Refuses those that have. */
void exchanges_give_up(struct exchanges *xs, int64_t patience, mono_t now);
/*
 * Another policy, or other credentials: what would not be admitted now is refused, or cut when it
 * was answered.
 */
void exchanges_rejudge(struct exchanges *xs);
/* A codec is about to be freed: its side of every exchange is over. */
void exchanges_lose(struct exchanges *xs, struct codec *c, enum codec_error why,
		    const struct upstream_failure *failure);
/* Answers what waits with the failure. */
void exchanges_fail_waiting(struct exchanges *xs, const struct upstream_failure *failure);
/* Frees those that are over. Never from within an event. */
void exchanges_sweep(struct exchanges *xs);
/* Cuts all that is left, notes it, and frees it. */
void exchanges_free(struct exchanges *xs);

#endif
