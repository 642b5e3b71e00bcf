/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: the parts of one gate, made once by gate.c and found by all its modules.
 */
#ifndef SG_GATE_CONTEXT_H
#define SG_GATE_CONTEXT_H

#include "base/addr.h"
#include "gate/answers.h"
#include "gate/journal.h"
#include "io/loop.h"
#include "gate/totals.h"
#include "gate/tun.h"
#include "policy/decide.h"

struct gate {
	struct loop *loop;
	bool may_inspect; /* the present policy has hosts that have to be seen (inspects.h) */
	struct remedy_for remedy; /* whom remedies are for, under the present policy */
	struct ruleset *rules;
	struct host_prefixes *host;
	struct names *names;
	struct resolver *resolver;
	struct dns_server *dns;
	struct refusals *refusals;
	struct journal *journal;
	struct answers *answers; /* that say that a datagram is refused */
	struct tun *tun;
	struct fragments *fragments; /* packets that are not whole yet */
	struct pipes *pipes;
	struct quota *quota;
	struct flows *flows;
	struct tunnels *tunnels;     /* through the parent proxy; NULL: there is none */
	struct datagrams *datagrams; /* UDP and echo */
	struct publisher *publisher;
	struct broker_door *broker;
	struct retell *retell;	  /* for a capture that begins */
	struct dhcp_server *dhcp; /* of a machine that configures itself; NULL: there is none */
	struct router *router;	  /* likewise */
	struct requests *control;
	struct addr gate_v4, gate_v6, sandbox_v4; /* in the airlock */
	struct prefix sandbox_v6; /* an address, or all that a guest may make itself */
	const struct gate_totals *totals;
	struct gate_counters *counters; /* of the totals, as `refusals` and `quota` */
};

/* True for what the sandbox may have as a source; the gate's own address is in its prefix. */
static inline bool gate_is_sandbox(const struct gate *g, const struct addr *a)
{
	return addr_equal(a, &g->sandbox_v4) ||
	       (prefix_contains(&g->sandbox_v6, a) && !addr_equal(a, &g->gate_v6));
}

#endif
