/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/control.h"

#include <stdlib.h>

#include "gate/broker_door.h"
#include "gate/counted.h"
#include "gate/datagrams.h"
#include "gate/dns_server.h"
#include "gate/flow.h"
#include "gate/gate.h"
#include "gate/new_policy.h"
#include "gate/retell.h"
#include "io/message_socket.h"
#include "policy/host_prefixes.h"

/* ---- answers ---- */

static json_t *answer_status(void *ctx, const struct request *r)
{
	struct gate *g = ctx;
	struct gate_now now = {
		.generation = ruleset_generation(g->rules),
		.open = flows_open_in_all(g),
		.sending = flows_sending(g->flows) + broker_door_open(g->broker),
	};

	return counted_status(g->totals, &now);
}

static json_t *answer_refusals(void *ctx, const struct request *r)
{
	struct gate *g = ctx;

	return counted_refusals(g->totals->refusals, &g->remedy);
}

/* ---- what the supervisor follows on the host ---- */

static json_t *answer_host(void *ctx, const struct request *r)
{
	struct gate *g = ctx;

	if (!host_prefixes_parse(json_object_get(r->object, "prefixes"), g->host))
		return NULL;
	/* What was a public address a moment ago may be the host's own now. */
	flows_rejudge(g->flows);
	datagrams_rejudge(g->datagrams);
	broker_door_rejudge(g->broker);
	return json_object();
}

/* "203.0.113.1:53" or "[2001:db8::1]:53". */
static bool parse_endpoint(const char *s, struct endpoint *out)
{
	const char *colon = s ? strrchr(s, ':') : NULL;
	bool bracket = s && s[0] == '[';
	char *end;
	unsigned long port;
	size_t n;

	if (!colon)
		return false;
	n = (size_t)(colon - s);
	if (bracket && (n < 2 || s[n - 1] != ']'))
		return false;
	port = strtoul(colon + 1, &end, 10);
	if (*end || port == 0 || port > 65535)
		return false;
	out->port = (uint16_t)port;
	return addr_parse(bracket ? s + 1 : s, bracket ? n - 2 : n, &out->addr);
}

static bool read_hosts(json_t *rows, struct resolver_config *c)
{
	json_t *row;
	size_t i;

	c->hosts = calloc(HOST_NAMES_MAX, sizeof(*c->hosts));
	if (!c->hosts)
		return false;
	json_array_foreach(rows, i, row)
	{
		const char *name = json_string_value(json_array_get(row, 0));
		const char *addr = json_string_value(json_array_get(row, 1));
		struct host_name *h = &c->hosts[c->n_hosts];

		if (c->n_hosts == HOST_NAMES_MAX)
			break;
		if (name && addr && name_parse_ascii(name, strlen(name), &h->name) == NAME_OK &&
		    addr_parse(addr, strlen(addr), &h->addr))
			c->n_hosts++;
	}
	return true;
}

static json_t *answer_resolver(void *ctx, const struct request *r)
{
	struct gate *g = ctx;
	struct resolver_config c = {
		.timeout_ms =
			(uint32_t)json_integer_value(json_object_get(r->object, "timeout_ms")),
		.tries = (uint32_t)json_integer_value(json_object_get(r->object, "tries")),
	};
	json_t *row, *answer = NULL;
	size_t i;

	json_array_foreach(json_object_get(r->object, "servers"), i, row)
	{
		if (c.n_servers < RESOLVER_SERVERS_MAX &&
		    parse_endpoint(json_string_value(row), &c.servers[c.n_servers]))
			c.n_servers++;
	}
	if (read_hosts(json_object_get(r->object, "hosts"), &c) &&
	    resolver_configure(g->resolver, &c) == 0)
		answer = json_object();
	free(c.hosts);
	return answer;
}

/* ---- another policy ---- */

static json_t *answer_policy(void *ctx, const struct request *r)
{
	struct gate *g = ctx;
	json_int_t generation = json_integer_value(json_object_get(r->object, "generation"));

	if (generation <= 0)
		err_set(r->e, "a policy needs a generation");
	else if (new_policy_take(g, r->passed, (uint64_t)generation, r->e) == 0)
		return json_object();
	return NULL;
}

/* ---- the broker ---- */

static json_t *answer_broker(void *ctx, const struct request *r)
{
	const struct gate *g = ctx;

	return broker_door_connect(g->broker, r->passed, r->e) == 0 ? json_object() : NULL;
}

/* ---- a capture ---- */

static json_t *answer_recorder(void *ctx, const struct request *r)
{
	struct gate *g = ctx;
	int fd = message_socket_keep(r->passed, "the recorder's", r->e);

	if (fd < 0)
		return NULL;
	journal_follow_recorder(g->journal, fd);
	retell_begin(g->retell);
	return json_object();
}

static json_t *answer_stop(void *ctx, const struct request *r)
{
	struct gate *g = ctx;

	loop_stop(g->loop);
	return json_object();
}

struct requests *control_new(struct gate *g, int fd)
{
	static const struct request_kind kinds[] = {
		{"status", answer_status, false},    {"refusals", answer_refusals, false},
		{"host", answer_host, false},	     {"resolver", answer_resolver, false},
		{"policy", answer_policy, true},     {"broker", answer_broker, true},
		{"recorder", answer_recorder, true}, {"stop", answer_stop, false},
	};

	ruleset_prepare();
	return requests_new(g->loop, fd, kinds, sg_array_len(kinds), g);
}
