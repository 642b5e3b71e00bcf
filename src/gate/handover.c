/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/handover.h"

#include "gate/flow_table.h"
#include "gate/names.h"
#include "policy/inspects.h"

enum { BOUND_MAX = 32 }; /* names of one address that are looked at */

static const struct endpoint *dialled(const struct flow *fl)
{
	return &fl->dial[fl->at_dial];
}

struct carried carried_by(const struct flow *fl)
{
	return (struct carried){
		.gate = fl->gate,
		.dst = &fl->dst,
		.dialled = &dialled(fl)->addr,
		.name = flow_name(fl),
		.whole = flow_is_whole(fl),
	};
}

bool carried_is_due(const struct carried *c, const struct name *name)
{
	const struct gate *g = c->gate;
	enum inspects_why why = policy_inspects(g->rules, g->remedy.catalogue, g->host, name,
						c->dialled, c->dst->port);

	return c->whole ? why == INSPECTS_CREDENTIALS || why == INSPECTS_LISTED
			: why != INSPECTS_NOT;
}

bool carried_is_owed(const struct carried *c)
{
	const struct name *bound[BOUND_MAX];
	const struct gate *g = c->gate;
	size_t n;

	if (carried_is_due(c, c->name))
		return true;
	n = names_bound_to(g->names, &c->dst->addr, loop_now(g->loop), bound, BOUND_MAX);
	for (size_t i = 0; i < n; i++)
		if (carried_is_due(c, bound[i]))
			return true;
	return false;
}

bool carried_is_dodged(const struct carried *c, const struct name *inside)
{
	const struct gate *g = c->gate;

	if (inside && names_is_bound(g->names, inside, &c->dst->addr, loop_now(g->loop)))
		return false;
	return carried_is_owed(c);
}

enum reason handover_make(struct flow *fl, uint8_t flags)
{
	const struct handing h = {
		.client = fl->in.watch.fd,
		.server = fl->out.watch.fd,
		.flags = fl->by_proxy ? flags | GATE_BY_PROXY : flags,
		.proto = fl->proto,
		.name = flow_name(fl),
		.src = fl->src,
		.dst = fl->dst,
		.dialled = *dialled(fl),
		.rule = fl->rule,
		.by_default = fl->by_default,
		.begun = fl->begun,
	};
	enum reason why;

	/* What the server has said by now was to no hello: it is no TLS that could be opened. */
	if (fl->down.octets || fl->down.pipe)
		return REASON_NOT_INSPECTED;
	flow_keep_alive(h.server);
	why = broker_door_hand_over(fl->gate->broker, &h);
	if (why != REASON_NONE)
		return why;
	flow_note_admitted(fl);
	flow_tell_handed_over(fl);
	fl->handed_over = true;
	/* The broker's copies would keep them in the loop. */
	loop_remove(flow_loop(fl), &fl->in.watch);
	loop_remove(flow_loop(fl), &fl->out.watch);
	close(h.client);
	close(h.server);
	flow_table_free(fl);
	return REASON_NONE;
}
