/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judgement: what the rules say of a destination, layer by layer, before anything is decided.
 *
 * Theory of operation. The rules of each layer that fit the name and those that fit the
 * address are found and matched: among those of a layer that match wholly the most
 * specific wins, and at equal specificity deny.
 *
 * A lookup has a name and nothing else. It is a message by itself, so it is allowed
 * only when some connection to the name could be: an allow rule whose scope neither
 * an equally or more specific deny of its own layer takes away, nor any deny of a
 * layer that wins over it.
 */
#ifndef SG_POLICY_JUDGEMENT_H
#define SG_POLICY_JUDGEMENT_H

#include "policy/address.h"
#include "policy/ruleset.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

/* What the rules say about one half of a destination, its name or its address. */
struct found {
	const struct rule *allow, *deny; /* the most specific match; at most one is set */
	const struct rule *near;	 /* an allow rule that fits but for what `why` says */
	enum reason why : 8;		 /* REASON_NOT_IN_POLICY: nothing fits */
	enum layer near_layer : 8;
	bool private_ok, raw; /* of any allow rule at the level that won */
	bool quic;	      /* allowed for TCP 443, and so for QUIC ... */
	bool written;	      /* ... or by a rule that covers the port itself */
	bool denies_requests; /* a deny is for some requests, and none was seen yet */
};

struct judgement {
	const struct ruleset *rs;
	const struct policy *policy;
	const struct destination *d;
	struct found name[LAYERS], addr[LAYERS]; /* of the layers that are present */
	struct special special;			 /* of the address */
	bool listed; /* an allow rule lists the address or its network */
};

/* Fills `found` of every layer that is present, and what the address is. */
void judgement_make(struct judgement *j, const struct ruleset *rs, const struct host_prefixes *host,
		    const struct destination *d);

/* How near a rule was that did not match for a reason; 0 is far. */
unsigned judgement_nearness(enum reason r);

/* Do the rules list an address or its network? `levels` are those that hold it. */
bool judgement_lists(const struct special *special, const struct levels *levels);

static inline bool is_web(const struct destination *d)
{
	return d->proto == PROTO_TCP && (d->port == HTTP_PORT || d->port == HTTPS_PORT);
}

static inline bool is_quic(const struct destination *d)
{
	return d->proto == PROTO_UDP && d->port == HTTPS_PORT;
}

#endif
