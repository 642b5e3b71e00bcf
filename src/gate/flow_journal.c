/* SPDX-License-Identifier: Apache-2.0 */
/* flow_journal: what the journal hears of a flow, and when (flow.h). */
#include "gate/handover.h"

/* Made from outside through a published port: it is none of the sandbox's going out. */
static bool is_joined(const struct flow *fl)
{
	return fl->src.port == 0;
}

static bool is_proxied(const struct flow *fl)
{
	return fl->by_proxy || fl->state == FLOW_PROXY || fl->proto != RECORD_TCP;
}

/* Of the proxy port the packets are known by the sandbox's end. */
static struct exchange exchange_of(const struct flow *fl)
{
	return (struct exchange){
		.near = is_joined(fl) ? NULL : &fl->src,
		.far = is_proxied(fl) ? NULL : &fl->dst,
		.proto = IPPROTO_TCP,
	};
}

static struct event event_of(const struct flow *fl, enum record_kind kind)
{
	return (struct event){
		.kind = kind,
		.proto = fl->proto,
		.name = flow_name(fl),
		.addr = &fl->dst.addr,
		.port = fl->dst.port,
		.rule = fl->rule,
		.exchange = exchange_of(fl),
	};
}

void flow_refuse(struct flow *fl, struct event refusal)
{
	refusal.kind = RECORD_DENY;
	refusal.proto = refusal.proto == RECORD_TCP ? fl->proto : refusal.proto;
	refusal.addr = &fl->dst.addr;
	refusal.port = fl->dst.port;
	refusal.exchange = exchange_of(fl);
	fl->ended_for = refusal.reason;
	fl->gate->counters->flows_refused++;
	fl->gate->counters->frames_denied++;
	journal_note(fl->gate->journal, &refusal);
}

void flow_tell(const struct flow *fl)
{
	struct event e;

	/* A free place has no gate. */
	if (fl->state == FLOW_FREE || !journal_is_recorded(fl->gate->journal))
		return;
	e = event_of(fl, RECORD_ALLOW);
	if (fl->state == FLOW_DNS || fl->state == FLOW_PROXY)
		journal_tell(fl->gate->journal, &e, VERDICT_GATE,
			     fl->state == FLOW_DNS ? "lookups over TCP" : "proxy port");
	else
		journal_tell(fl->gate->journal, &e, fl->noted ? VERDICT_ALLOW : VERDICT_PENDING,
			     fl->noted ? NULL : "the name inside is still to be seen");
}

void flow_tell_handed_over(const struct flow *fl)
{
	struct event e;

	if (!journal_is_recorded(fl->gate->journal))
		return;
	e = event_of(fl, RECORD_ALLOW);
	journal_tell(fl->gate->journal, &e, VERDICT_ALLOW, "requests are seen");
}

void flow_note_admitted(struct flow *fl)
{
	struct event e = event_of(fl, RECORD_ALLOW);

	if (fl->noted)
		return;
	fl->noted = true;
	journal_note(fl->gate->journal, &e);
}

/* A flow that has tried all of its addresses is at none: the first stands for them. */
static bool is_to_be_seen(const struct flow *fl)
{
	struct carried c = carried_by(fl);

	c.dialled = fl->n_dial ? &fl->dial[0].addr : &fl->dst.addr;
	return carried_is_due(&c, c.name);
}

void flow_note_unreached(struct flow *fl, enum reason why)
{
	struct event e = event_of(fl, RECORD_DENY);

	flow_note_admitted(fl);
	fl->ended_for = why;
	if (!is_to_be_seen(fl))
		return;
	e.reason = why;
	fl->gate->counters->flows_refused++;
	journal_note(fl->gate->journal, &e);
}

void flow_note_request(struct flow *fl, const struct http_request *rq)
{
	struct event e = event_of(fl, RECORD_ALLOW);

	flow_note_admitted(fl);
	e.proto = RECORD_HTTP;
	e.method = rq->method;
	e.path = rq->path;
	journal_note(fl->gate->journal, &e);
}

/* The one request of a connection and its answer; of several it is not known which was which. */
static void add_request(const struct flow *fl, struct event *e)
{
	const struct flow_http *h = &fl->peek.http;

	if (fl->inspection != INSPECT_HTTP || fl->state == FLOW_PROXY || h->requests != 1)
		return;
	e->method = h->method;
	e->path = span_of_string(h->path);
	e->status = h->status;
}

void flow_note_end(struct flow *fl)
{
	struct event e = event_of(fl, RECORD_END);

	if (is_joined(fl) || fl->state == FLOW_DNS || fl->state == FLOW_FREE || fl->handed_over)
		return;
	/* It only asked, and got no connection. */
	if (fl->proto != RECORD_TCP && !fl->by_proxy)
		return;
	/* It was dialled, though nothing came of it. */
	if (!fl->noted && fl->ended_for == REASON_NONE)
		flow_note_admitted(fl);
	if (!fl->noted)
		return;
	e.reason = fl->ended_for;
	e.bytes_out = fl->up.octets;
	e.bytes_in = fl->down.octets;
	e.duration_ms = (uint64_t)((loop_now(fl->gate->loop).ns - fl->begun.ns) / 1000000);
	add_request(fl, &e);
	journal_note(fl->gate->journal, &e);
}
