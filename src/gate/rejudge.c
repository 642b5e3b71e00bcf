/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * With another policy each open flow is asked again what it was asked when it was admitted. One
 * that still waits, for its far side or for its first octets, goes on under the new verdict: what
 * is to be inspected of it may have changed. One that relays is judged by what is known of it: the
 * name inside, the last request, the address. What the new policy would not admit is reset both
 * ways, and so is what it would have seen by the broker: what such a flow carries cannot be shown
 * to be admitted. Nothing else is touched but the rule that a flow names, so that the old ruleset
 * can be freed when all have been asked.
 */
#include "gate/flow_table.h"
#include "gate/handover.h"
#include "gate/proxy.h"

static void cut(struct flow *fl, const struct verdict *v, const struct name *name)
{
	flow_refuse(fl, (struct event){.proto = RECORD_TCP,
				       .reason = v->reason,
				       .name = name,
				       .rule = v->rule});
	flow_cut(fl);
}

static void judge_flow(const struct flow *fl, struct judged *out)
{
	if (fl->by_proxy)
		proxy_judge(fl, out);
	else
		judge_destination(fl->gate, &fl->dst, PROTO_TCP, out);
}

/* One whose client may have sent something: what was begun to be read of that is read anew. */
static void look_anew(struct flow *fl, enum inspection before)
{
	if (fl->inspection != before)
		memset(&fl->peek, 0, sizeof(fl->peek));
	if (fl->inspection == INSPECT_NOTHING)
		inspect_nothing(fl);
	if (flow_is_whole(fl) && fl->state == FLOW_INSPECTING)
		flow_begin_relay(fl, 0);
	/* What has come is told of once only. */
	if (fl->state == FLOW_INSPECTING || fl->state == FLOW_RELAYING) {
		fl->in.readable = true;
		flow_queue(fl);
	}
}

static void rejudge_waiting(struct flow *fl)
{
	enum inspection before = fl->inspection;
	struct judged j;

	judge_flow(fl, &j);
	/* A port of the host that is the proxy port now: not what was dialled. */
	if (j.kind == JUDGED_PROXY)
		j.verdict = (struct verdict){.reason = REASON_PORT_NOT_ALLOWED};
	if (j.kind == JUDGED_FORWARD && !judged_dials(&j, &fl->dial[fl->at_dial].addr))
		j.verdict = (struct verdict){.reason = REASON_SPECIAL_ADDRESS};
	if (!j.verdict.allow) {
		cut(fl, &j.verdict, judged_name(&j) ? judged_name(&j) : flow_name(fl));
		return;
	}
	fl->name.n = 0;
	flow_set_judged(fl, &j);
	if (flow_is_whole(fl))
		flow_note_admitted(fl);
	if (fl->state == FLOW_INSPECTING || fl->state == FLOW_RELAYING)
		look_anew(fl, before);
}

/* Nothing of the client has passed yet. */
static bool is_looked_at(const struct flow *fl)
{
	return fl->state == FLOW_RELAYING && fl->inspection == INSPECT_LOOK && !fl->up.octets &&
	       !fl->up.credit;
}

static bool is_by_name_inside(const struct flow *fl)
{
	return (fl->inspection == INSPECT_TLS || fl->inspection == INSPECT_HTTP) && fl->name.n;
}

/* Would its requests have to be seen now? */
static bool is_due(const struct flow *fl)
{
	const struct tls_hello *hello = &fl->peek.hello;
	const struct carried c = carried_by(fl);

	if (is_by_name_inside(fl))
		return carried_is_due(&c, &fl->name);
	if (fl->inspection == INSPECT_LOOK && hello->has_server_name)
		return carried_is_due(&c, &hello->server_name);
	return carried_is_owed(&c);
}

/* A WebSocket is for writing as well (inspect.c). */
static const char *judged_method(const struct flow_http *h)
{
	return h->guard.phase == HTTP_PHASE_OPAQUE ? "POST" : h->method;
}

static struct verdict judge_open(const struct flow *fl)
{
	bool http = fl->inspection == INSPECT_HTTP;
	bool inside = is_by_name_inside(fl);
	const struct flow_http *h = &fl->peek.http;
	struct admitted a = {
		.dst = &fl->dst,
		.dialled = &fl->dial[fl->at_dial].addr,
		.proto = PROTO_TCP,
		.name = inside || !fl->by_proxy || fl->by_name ? flow_name(fl) : NULL,
		.inside = inside,
		.by_proxy = fl->by_proxy,
		.by_default = fl->by_default,
		.method = http ? judged_method(h) : NULL,
		/* A cut path could pass for another: it counts as not seen. */
		.path = http && !h->path_cut ? h->path : NULL,
	};
	struct verdict v;

	if (fl->has_ech && ruleset_policy(fl->gate->rules)->ech_refuse)
		return (struct verdict){.reason = REASON_ECH_REFUSED};
	v = judge_again(fl->gate, &a);
	return v.allow && is_due(fl) ? (struct verdict){.reason = REASON_NOT_INSPECTED} : v;
}

/* A later request without a name is good only while the base admits the address. */
static bool is_admitted_by_default(const struct flow *fl)
{
	struct judged j;

	judge_flow(fl, &j);
	return j.kind == JUDGED_FORWARD && j.verdict.by_default;
}

static void rejudge_open(struct flow *fl)
{
	struct verdict v = judge_open(fl);

	if (!v.allow) {
		cut(fl, &v, flow_name(fl));
		return;
	}
	fl->rule = v.rule;
	if (fl->by_default)
		fl->by_default = is_admitted_by_default(fl);
}

static void rejudge(struct flow *fl)
{
	fl->rule = NULL;
	/* Those of --publish were made from outside, and have no destination. */
	if (!fl->src.port)
		return;
	switch (fl->state) {
	case FLOW_DIALING:
	case FLOW_OFFERED:
	case FLOW_INSPECTING:
		rejudge_waiting(fl);
		break;
	case FLOW_RELAYING:
		if (is_looked_at(fl))
			rejudge_waiting(fl);
		else
			rejudge_open(fl);
		break;
	case FLOW_PROXY:
		/* Before its request was admitted there is nothing to judge. */
		if (fl->by_proxy)
			rejudge_waiting(fl);
		break;
	default:
		break;
	}
}

void flows_rejudge(struct flows *f)
{
	for (uint32_t i = 1; i < f->used; i++)
		rejudge(&f->flow[i]);
}
