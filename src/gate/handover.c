/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/handover.h"

#include "gate/flow_table.h"
#include "policy/inspects.h"

static const struct endpoint *dialled(const struct flow *fl)
{
	return &fl->dial[fl->at_dial];
}

bool handover_is_due(const struct flow *fl, const struct name *name)
{
	const struct gate *g = fl->gate;

	return policy_inspects(g->rules, g->remedy.catalogue, g->host, name, &dialled(fl)->addr,
			       fl->dst.port) != INSPECTS_NOT;
}

enum reason handover_make(struct flow *fl, uint8_t flags)
{
	const struct handing h = {
		.client = fl->in.watch.fd,
		.server = fl->out.watch.fd,
		.flags = flags,
		.name = flow_name(fl),
		.dst = fl->dst,
		.dialled = *dialled(fl),
		.rule = fl->rule,
		.by_default = fl->by_default,
		.begun = fl->begun,
	};
	enum reason why;

	flow_keep_alive(h.server);
	why = broker_door_hand_over(fl->gate->broker, &h);
	if (why != REASON_NONE)
		return why;
	flow_note_admitted(fl);
	fl->handed_over = true;
	/* The broker's copies would keep them in the loop. */
	loop_remove(flow_loop(fl), &fl->in.watch);
	loop_remove(flow_loop(fl), &fl->out.watch);
	close(h.client);
	close(h.server);
	flow_table_free(fl);
	return REASON_NONE;
}
