/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_server: answers every question of the sandbox, whatever server it was sent to. It judges by
 * decide(), asks the resolver for what is admitted, vets each address, binds it to the name and
 * answers.
 *
 * The proxy port asks here as well, so that a name means the same there: the same judging, vetting,
 * binding and limits. Its lookups are not the sandbox's, so they are neither noted nor counted: who
 * asked notes what came of it.
 */
#ifndef SG_GATE_DNS_SERVER_H
#define SG_GATE_DNS_SERVER_H

#include "base/clock.h"
#include "gate/journal.h"
#include "gate/names.h"
#include "gate/resolver.h"
#include "gate/totals.h"
#include "gate/wildcards.h"
#include "policy/decide.h"

/* Who asked: copied with the question and handed back with the answer; only `tcp` is looked at. */
struct dns_client {
	bool by_proxy; /* the proxy port asks, for a program that names its host to it */
	bool tcp;      /* no limit of size; the answer has its two octets of length before it */
	struct endpoint from; /* the sandbox's side of a datagram */
	struct endpoint to;   /* the server it was sent to: the source of the reply */
	uint32_t flow;	      /* of a TCP connection: the owner's id, and its generation so that */
	uint32_t generation;  /* an answer to one that is gone is recognised */
};

/*
 * `message` is ready to send and lives only during the call. `why` it is no answer: a refusal, or
 * REASON_RESOLVER_FAILED; else REASON_NONE.
 */
typedef void dns_reply_fn(void *ctx, const struct dns_client *client, enum reason why,
			  struct span message);

struct dns_server_config {
	struct loop *loop; /* for the time at which an answer arrives */
	struct names *names;
	struct resolver *resolver;
	struct journal *journal;
	struct wildcards *wildcards;	    /* what was asked under each, and its limit */
	struct dns_counters *counters;	    /* of every question ever */
	const struct remedy_for *remedy;    /* changed in place by its owner */
	const struct ruleset *const *rules; /* where the present one stands; read anew each time */
	const struct host_prefixes *host;   /* changed in place by its owner; may be NULL */
	struct addr gate_v4, gate_v6;	    /* the gate's own, in the airlock */
	bool ipv6;			    /* the airlock has IPv6; else every AAAA is NODATA */
	dns_reply_fn *reply;
	void *ctx;
};

struct dns_server;

/* NULL without memory. All memory is taken here. */
struct dns_server *dns_server_new(const struct dns_server_config *c);
void dns_server_free(struct dns_server *s);

/* One message of the sandbox. The reply may be called before this returns, later, or never. */
void dns_server_query(struct dns_server *s, const struct dns_client *client, struct span message,
		      mono_t now);

#endif
