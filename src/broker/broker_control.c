/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker_control.h"

#include <stdlib.h>

#include "broker/authorities.h"
#include "broker/credential_control.h"
#include "broker/gate_door.h"
#include "broker/tls_key_log.h"
#include "io/message_socket.h"
#include "io/sealed_memory.h"
#include "policy/host_prefixes.h"
#include "policy/inspects.h"
#include "policy/strings.h"

static json_t *answer_status(void *ctx, const struct request *r)
{
	const struct broker *b = ctx;
	const struct exchange_counters *n = &b->rules.counters;

	return json_pack("{s:I, s:i, s:{s:I, s:I, s:I, s:I}}", "generation",
			 (json_int_t)ruleset_generation(b->ruleset), "connections",
			 (int)connections_open(b->connections), "requests", "all",
			 (json_int_t)n->requests, "refused", (json_int_t)n->refused, "failed",
			 (json_int_t)n->failed, "open", (json_int_t)n->open);
}

static json_t *answer_host(void *ctx, const struct request *r)
{
	struct broker *b = ctx;

	if (!host_prefixes_parse(json_object_get(r->object, "prefixes"), b->host))
		return NULL;
	connections_rejudge(b->connections);
	return json_object();
}

int broker_control_cover_names(struct broker *b, const struct ruleset *rules, struct err *e)
{
	bool any = false;
	char **names = policy_inspected_names(rules, b->rules.judge.catalogue, &any);
	int r;

	/* Without memory there is no authority for them either, which closes. */
	if (!names && !any)
		return 0;
	r = authorities_cover(b->authorities, names, e);
	string_list_free(names);
	return r;
}

bool broker_control_say_authority(const struct broker *b, const char *op)
{
	char *pem = authorities_certificates(b->authorities);
	bool said = pem &&
		    requests_say(b->control, json_pack("{s:s, s:s}", "op", op, "authority", pem));

	free(pem);
	return said;
}

/* A sandbox may run for longer than its authority is good for. */
static void renew(struct timer *t)
{
	enum { DAY_MS = 24 * 60 * 60 * 1000 };
	struct broker *b = sg_container_of(t, struct broker, renewal);
	struct err e;

	if (broker_control_cover_names(b, b->ruleset, &e) > 0)
		broker_control_say_authority(b, "authority");
	loop_timer_set(b->loop, t, mono_add_ms(loop_now(b->loop), DAY_MS));
}

void broker_control_renew_daily(struct broker *b)
{
	b->renewal.expired = renew;
	renew(&b->renewal);
}

static void use_rules(struct broker *b, struct ruleset *rules)
{
	struct ruleset *before = b->ruleset;

	b->ruleset = rules;
	b->rules.judge.rules = rules;
	b->rules.judge.remedy_for.on = ruleset_policy(rules)->resolved.on;
	b->log.generation = ruleset_generation(rules);
	connections_rejudge(b->connections);
	ruleset_free(before);
}

/*
 * Whatever fails comes first. An authority more than the policy needs does no harm, but has to be
 * told: clients are shown it.
 */
static int make_room_for(struct broker *b, const struct ruleset *rules, struct err *e)
{
	int r = broker_control_cover_names(b, rules, e);

	if (r > 0)
		broker_control_say_authority(b, "authority");
	return r < 0 ? -1
		     : credential_control_follow(b, policy_credentials(ruleset_policy(rules)), e);
}

/* All of it or nothing; when the answer is there, requests that run were judged by it as well. */
static json_t *answer_policy(void *ctx, const struct request *r)
{
	struct broker *b = ctx;
	json_int_t generation = json_integer_value(json_object_get(r->object, "generation"));
	struct ruleset *rules;
	struct span wire;

	if (generation <= (json_int_t)ruleset_generation(b->ruleset)) {
		err_set(r->e, "generation %lld is not after %llu, which decides now",
			(long long)generation, (unsigned long long)ruleset_generation(b->ruleset));
		return NULL;
	}
	if (sealed_memory_map(r->passed, POLICY_WIRE_MAX, "policy", &wire, r->e) != 0)
		return NULL;
	rules = ruleset_compile_wire(wire, (uint64_t)generation, r->e);
	sealed_memory_unmap(wire);
	if (!rules)
		return NULL;
	if (make_room_for(b, rules, r->e) != 0) {
		ruleset_free(rules);
		return NULL;
	}
	use_rules(b, rules);
	return json_object();
}

static json_t *answer_gate(void *ctx, const struct request *r)
{
	const struct broker *b = ctx;

	return gate_door_connect(b->door, r->passed, r->e) == 0 ? json_object() : NULL;
}

/* Nothing that is under way is taken back: it is in the log when there is room again. */
static json_t *answer_log(void *ctx, const struct request *r)
{
	struct broker *b = ctx;
	const json_t *writable = json_object_get(r->object, "writable");

	if (!json_is_boolean(writable)) {
		err_set(r->e, "`writable` is true or false");
		return NULL;
	}
	b->log.closed = json_is_false(writable);
	connections_advance(b->connections);
	return json_object();
}

/* For a capture that was asked for with them. */
static json_t *answer_keys(void *ctx, const struct request *r)
{
	int fd = message_socket_keep(r->passed, "the recorder's", r->e);

	if (fd < 0)
		return NULL;
	tls_key_log_follow(fd);
	return json_object();
}

static json_t *answer_stop(void *ctx, const struct request *r)
{
	const struct broker *b = ctx;

	loop_stop(b->loop);
	return json_object();
}

struct requests *broker_control_new(struct broker *b, int fd)
{
	static const struct request_kind kinds[] = {
		{"status", answer_status, false},
		{"gate", answer_gate, true},
		{"host", answer_host, false},
		{"log", answer_log, false},
		{"keys", answer_keys, true},
		{"policy", answer_policy, true},
		{"credentials", credential_control_list, false},
		{"secret", credential_control_secret, true},
		{"secret-failed", credential_control_failed, false},
		{"stop", answer_stop, false},
	};

	ruleset_prepare();
	return requests_new(b->loop, fd, kinds, sg_array_len(kinds), b);
}
