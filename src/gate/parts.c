/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "airlock/addresses.h"
#include "gate/broker_dials.h"
#include "gate/broker_door.h"
#include "gate/control.h"
#include "gate/datagrams.h"
#include "gate/dhcp_server.h"
#include "gate/dispatch.h"
#include "gate/dns_server.h"
#include "gate/flow.h"
#include "gate/fragments.h"
#include "gate/names.h"
#include "gate/pipes.h"
#include "gate/publish.h"
#include "gate/resolver.h"
#include "gate/retell.h"
#include "gate/router_advert.h"
#include "gate/tunnels.h"
#include "policy/inspects.h"

/* Descriptors beyond two a flow: datagrams, pipes, the resolver's sockets, the gate's own. */
enum { FLOWS_LATER = 65536 };
enum { OTHER_DESCRIPTORS = DATAGRAM_FLOWS_MAX + 2 * PIPES_MAX + BROKER_DIALS_MAX + 512 };

static void after_turn(void *ctx)
{
	struct gate *g = ctx;

	flows_run_queue(g->flows);
}

static void set_airlock_addresses(struct gate *g, const struct gate_setup *s)
{
	struct airlock_addresses usual = airlock_usual_addresses();
	const struct airlock_addresses *a = s->addresses ? s->addresses : &usual;

	/* As the airlock has it for a machine, which makes addresses of its own. */
	usual.v6_prefix = s->dhcp >= 0;
	g->gate_v4 = a->gate_v4;
	g->gate_v6 = a->gate_v6;
	g->sandbox_v4 = a->sandbox_v4;
	g->sandbox_v6 = (struct prefix){
		.addr = a->sandbox_v6,
		.bits = a->v6_prefix ? a->v6_bits : 128,
	};
}

/*
 * As many flows as the policy says, or another policy may say later, and the descriptors of this
 * process allow. Places that are not used cost address space only.
 */
static uint32_t size_flows(const struct ruleset *rules)
{
	uint32_t limit = ruleset_policy(rules)->limits.flows;
	uint32_t wanted = limit > FLOWS_LATER ? limit : FLOWS_LATER;
	struct rlimit l;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return wanted;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	most = l.rlim_max > OTHER_DESCRIPTORS + 64 ? (l.rlim_max - OTHER_DESCRIPTORS) / 2 : 32;
	return most < wanted ? (uint32_t)most : wanted;
}

static int begin_names(struct gate *g, const struct gate_setup *s, struct err *e)
{
	struct dns_server_config c = {
		.loop = g->loop,
		.journal = g->journal,
		.wildcards = g->totals->wildcards,
		.counters = g->totals->dns,
		.remedy = &g->remedy,
		.rules = (const struct ruleset *const *)&g->rules,
		.host = g->host,
		.gate_v4 = g->gate_v4,
		.gate_v6 = g->gate_v6,
		.ipv6 = s->listen_v6 >= 0,
		.reply = dispatch_reply,
		.ctx = g,
	};

	g->resolver = resolver_new(g->loop, s->resolver, e);
	if (!g->resolver)
		return -1;
	g->names = names_new();
	c.names = g->names;
	c.resolver = g->resolver;
	g->dns = g->names ? dns_server_new(&c) : NULL;
	return g->dns ? 0 : err_set(e, "cannot start the gate: no memory for names");
}

static void take_totals(struct gate *g, const struct gate_totals *t)
{
	totals_mend(t);
	g->counters = t->counters;
	g->totals = t;
	g->refusals = t->refusals;
	g->quota = t->quota;
}

/* A machine that configures itself finds a DHCP server, and a router where there is IPv6. */
static int begin_guest(struct gate *g, const struct gate_setup *s, struct err *e)
{
	g->dhcp = s->dhcp >= 0 ? dhcp_server_new(g, s) : NULL;
	g->router = s->router >= 0 ? router_new(g, s) : NULL;
	if ((s->dhcp >= 0 && !g->dhcp) || (s->router >= 0 && !g->router))
		return err_set(e, "cannot start the gate: its sockets for a machine: %s",
			       err_why(errno));
	return 0;
}

int parts_make(struct gate *g, const struct gate_setup *s, struct err *e)
{
	uint32_t max_flows = size_flows(s->rules);
	static struct gate_totals own;

	if (!s->totals && totals_make(&own, e) != 0)
		return -1;
	take_totals(g, s->totals ? s->totals : &own);
	g->rules = s->rules;
	g->remedy = (struct remedy_for){.sandbox = s->sandbox,
					.catalogue = s->catalogue,
					.on = ruleset_policy(s->rules)->resolved.on};
	g->may_inspect = policy_needs_broker(ruleset_policy(g->rules), s->catalogue);
	set_airlock_addresses(g, s);
	g->loop = loop_new(max_flows + 2 * RESOLVER_IN_FLIGHT_MAX + 1024);
	g->pipes = pipes_new();
	g->host = malloc(sizeof(*g->host));
	g->journal = journal_new(g->refusals, s->ring, s->wake);
	g->answers = answers_new();
	if (!g->loop || !g->pipes || !g->host || !g->journal || !g->answers)
		return err_set(e, "cannot start the gate: no memory");
	journal_follow_recorder(g->journal, s->verdicts);
	journal_set_generation(g->journal, ruleset_generation(g->rules));
	*g->host = *s->host;
	loop_set_after_turn(g->loop, after_turn, g);
	if (begin_names(g, s, e) != 0)
		return -1;
	g->flows = flows_new(g, max_flows, s->listen_v4, s->listen_v6, e);
	if (!g->flows)
		return -1;
	g->datagrams = datagrams_new(g);
	g->publisher = publisher_new(g, s->door, s->publish, s->n_publish);
	g->broker = broker_door_new(g);
	g->retell = retell_new(g);
	g->tunnels = s->parent ? tunnels_new(g, s->parent) : NULL;
	g->control = control_new(g, s->control);
	g->fragments = fragments_new();
	g->tun = tun_new(g->loop, s->tun, dispatch_packet, dispatch_run_end, g);
	if (!g->datagrams || !g->publisher || !g->broker || !g->retell || !g->control || !g->tun ||
	    !g->fragments || (s->parent && !g->tunnels))
		return err_set(e, "cannot start the gate: no memory");
	tun_set_mtu(g->tun, s->guest_mtu);
	return begin_guest(g, s, e);
}
