/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "audit/refusals.h"
#include "gate/counted.h"
#include "sandbox/engine/exec_elsewhere.h"
#include "sandbox/engine/publish_ports.h"
#include "sandbox/log/capture_answer.h"
#include "sandbox/summary.h"
#include "sandbox/supervisor.h"

/* The gate's answer, or what it has counted while it is being replaced; NULL without a network. */
static json_t *ask_gate(struct supervisor *s, const char *op)
{
	return s->networked ? gate_link_counted(&s->gate, op, PROCESS_ANSWER_MS) : NULL;
}

static json_int_t generation(const struct supervisor *s)
{
	return (json_int_t)ruleset_generation(s->live.rules);
}

/* Whatever the broker wrote there. */
static json_int_t bounded(uint64_t n)
{
	return n > GATE_NUMBER_MAX ? GATE_NUMBER_MAX : (json_int_t)n;
}

/* By the gate, and requests by the broker. */
static json_int_t refused_ever(const struct supervisor *s, const json_t *status)
{
	const struct refusals *more = s->broker.refusals;

	return gate_link_number(status, NULL, "refusals") +
	       (more ? bounded(refusals_total(more)) : 0);
}

/* Only where there is one: the listing of all others stays as it was. */
static void add_exposed(const struct supervisor *s, json_t *o)
{
	if (*s->exposed)
		json_object_set_new(o, "exposed", json_string(s->exposed));
}

static json_t *answer_ls(struct supervisor *s)
{
	json_t *status = ask_gate(s, "status");
	json_int_t uptime_s = mono_ms_until(s->started, mono_now()) / 1000;
	json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "name", s->dir.name,
				"network", network_base_name(s->live.policy.network), "engine",
				supervisor_engine(s), "uptime_s", uptime_s, "flows_open",
				gate_link_number(status, "flows", "open"), "refused",
				refused_ever(s, status), "generation", generation(s));

	if (s->options->attach)
		json_object_set_new(row, "attached", json_true());
	add_exposed(s, row);
	json_decref(status);
	return row;
}

/* Frames are counted in the airlock; what became of those that the gate saw it knows itself. */
static json_t *frames(struct supervisor *s, const json_t *status)
{
	struct airlock_counters c = {0};
	json_int_t denied = gate_link_number(status, "frames", "denied"), noise, passed, early = 0;

	if (s->networked && airlock_read_counters(&s->airlock, &c))
		c = (struct airlock_counters){0};
	if (s->engine.class->noise)
		early = bounded(s->engine.class->noise(&s->engine));
	denied += (json_int_t)c.unowned;
	noise = gate_link_number(status, "frames", "noise") + (json_int_t)c.noise;
	passed = (json_int_t)c.frames - denied - noise;
	noise += early;
	return json_pack("{s:I, s:I, s:I}", "passed", passed > 0 ? passed : 0, "denied", denied,
			 "noise", noise);
}

static json_t *counters(const json_t *status, const char *group, const char *const *keys)
{
	json_t *o = json_object();

	for (; *keys; keys++)
		json_object_set_new(o, *keys, json_integer(gate_link_number(status, group, *keys)));
	return o;
}

static void add(json_t *o, const char *key, json_int_t more)
{
	json_object_set_new(o, key, json_integer(gate_link_number(o, NULL, key) + more));
}

/* The broker's count, whichever one it was, is in its ring: one record a request. */
static void add_requests(const struct supervisor *s, json_t *requests)
{
	const struct record_totals *before = &s->requests_before;
	struct record_totals now;
	uint64_t refused = 0;

	if (!s->log.broker_ring)
		return;
	ring_read_totals(s->log.broker_ring, &now);
	for (size_t i = 0; i < REASONS; i++)
		refused += now.refused[i] - before->refused[i];
	add(requests, "inspected", bounded(refused + now.allowed - before->allowed));
	add(requests, "refused", bounded(refused));
}

/* Its numbers within bounds; its texts are the client's to show as such. */
static json_t *wildcards(const json_t *status)
{
	json_t *rows = json_array(), *row;
	size_t i;

	json_array_foreach(json_object_get(status, "wildcards"), i, row) json_array_append_new(
		rows, json_pack("{s:O, s:O, s:I}", "wildcard", json_object_get(row, "wildcard"),
				"names", json_object_get(row, "names"), "seen",
				gate_link_number(row, NULL, "seen")));
	return rows;
}

static json_t *answer_egress(struct supervisor *s)
{
	static const char *const flows[] = {"opened", "refused", "open", NULL};
	static const char *const dns[] = {"answered", "refused", NULL};
	static const char *const requests[] = {"inspected", "refused", NULL};
	json_t *status = ask_gate(s, "status"), *o, *seen;
	char *policy = summary_policy(&s->live.policy);

	seen = counters(status, "requests", requests);
	add_requests(s, seen);
	o = json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "policy", policy ? policy : "",
		      "generation", generation(s), "frames", frames(s, status), "flows",
		      counters(status, "flows", flows), "dns", counters(status, "dns", dns),
		      "requests", seen, "wildcards", wildcards(status));
	if (s->capture.recorder.counters)
		json_object_set_new(o, "pcap", capture_answer_numbers(s));
	if (s->n_publish)
		json_object_set_new(o, "published", publish_ports_json(s->publish, s->n_publish));
	add_exposed(s, o);
	free(policy);
	json_decref(status);
	return o;
}

/* As `egress` has it, for who waits for the end; {} where there never was one. */
static json_t *answer_pcap_status(struct supervisor *s)
{
	json_t *o = capture_answer_numbers(s);

	return o ? o : json_object();
}

static json_t *languages(const struct supervisor *s)
{
	json_t *list = json_array();

	for (char *const *id = s->options->languages; id && *id; id++)
		json_array_append_new(list, json_string(*id));
	return list;
}

/* With what it resolves to: whoever asks judges by the very policy that is in force. */
static json_t *answer_policy(struct supervisor *s)
{
	char *text = policy_print_wire(&s->live.policy);
	json_t *policy = text ? json_loads(text, 0, NULL) : NULL;

	free(text);
	if (!policy)
		return NULL;
	return json_pack("{s:o, s:I, s:s?, s:o}", "policy", policy, "generation", generation(s),
			 "agent", s->options->agent, "languages", languages(s));
}

json_t *report_refusals(struct supervisor *s, int timeout_ms)
{
	const struct remedy_for who = {
		.sandbox = s->dir.name,
		.catalogue = live_policy_sources(&s->live, s->options).catalogue,
		.on = s->live.policy.resolved.on,
	};
	json_t *o = s->networked ? gate_link_counted(&s->gate, "refusals", timeout_ms) : NULL;
	json_t *more =
		s->broker.refusals ? counted_refusals_untrusted(s->broker.refusals, &who) : NULL;

	if (o && more) {
		json_array_extend(json_object_get(o, "refusals"),
				  json_object_get(more, "refusals"));
		add(o, "other", gate_link_number(more, NULL, "other"));
	}
	json_decref(more);
	return o;
}

static json_t *answer_refusals(struct supervisor *s)
{
	json_t *o = report_refusals(s, PROCESS_ANSWER_MS);

	if (!o)
		return json_pack("{s:[], s:i}", "refusals", "other", 0);
	json_object_del(o, "op");
	json_object_del(o, "ok");
	return o;
}

static const struct {
	const char *op;
	json_t *(*answer)(struct supervisor *s);
} requests[] = {
	{"ls", answer_ls},
	{"egress", answer_egress},
	{"policy", answer_policy},
	{"refusals", answer_refusals},
	{"pcap-status", answer_pcap_status},
	{"pcap-stop", capture_answer_stop},
};

json_t *report_answer(void *ctx, const json_t *request, const struct ucred *who)
{
	const char *op = json_string_value(json_object_get(request, "op"));

	for (size_t i = 0; op && i < sg_array_len(requests); i++)
		if (strcmp(requests[i].op, op) == 0)
			return requests[i].answer(ctx);
	if (op && strcmp(op, "change") == 0)
		return live_policy_change(ctx, request, who);
	if (op && strcmp(op, "pcap") == 0)
		return capture_answer_start(ctx, request, who);
	if (op && strcmp(op, "exec") == 0)
		return exec_elsewhere_answer(ctx, request);
	if (op && strcmp(op, "stop") == 0)
		return supervisor_answer_stop(ctx, request);
	return json_pack("{s:s}", "error", "this version does not know that request");
}
