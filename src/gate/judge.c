/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/judge.h"

#include "gate/names.h"

/* Names that share an address and are looked at: one that admits among them is enough. */
enum { BOUND_MAX = 32, DNS_PORT = 53 };

static bool is_gate(const struct gate *g, const struct addr *a)
{
	return addr_equal(a, &g->gate_v4) || addr_equal(a, &g->gate_v6);
}

static void add_dial(struct judged *out, const struct addr *a, uint16_t port)
{
	if (out->n_dial < DIAL_MAX)
		out->dial[out->n_dial++] = (struct endpoint){.addr = *a, .port = port};
}

/* host.sandgate.internal is the gate's own address: the listed ports of the host's loopback. */
static void judge_host_port(const struct gate *g, uint16_t port, enum proto proto,
			    struct judged *out)
{
	static const struct addr loopback_v4 = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	static const struct addr loopback_v6 = {{[15] = 1}};
	const struct policy *p = ruleset_policy(g->rules);

	for (size_t i = 0; proto == PROTO_TCP && i < p->n_host_ports; i++) {
		if (p->host_ports[i] != port)
			continue;
		out->kind = JUDGED_FORWARD;
		out->verdict =
			(struct verdict){.allow = true, .step = 3, .by_literal_address = true};
		add_dial(out, &loopback_v4, port);
		add_dial(out, &loopback_v6, port);
		return;
	}
	out->verdict = (struct verdict){.step = 2, .reason = REASON_SPECIAL_ADDRESS};
}

static void keep_name(struct judged *out, const struct name *name)
{
	out->has_name = true;
	out->name = *name;
}

/* A synthetic address is its name and nothing else: decided by it, dialled where it really is. */
static void judge_synthetic(const struct gate *g, const struct endpoint *dst, enum proto proto,
			    struct judged *out)
{
	const struct name *name = names_synthetic_name(g->names, &dst->addr);
	struct addr real[DIAL_MAX];
	size_t n;

	if (!name) {
		out->verdict = (struct verdict){.step = 2, .reason = REASON_SPECIAL_ADDRESS};
		return;
	}
	keep_name(out, name);
	n = names_real_addresses(g->names, &out->name, loop_now(g->loop), real, DIAL_MAX);
	for (size_t i = 0; i < n; i++) {
		struct destination d = {DEST_CONNECT, &out->name, &real[i], dst->port,
					proto,	      NULL,	  NULL};

		decide(g->rules, g->host, &d, &out->verdict);
		if (out->verdict.allow)
			add_dial(out, &real[i], dst->port);
	}
	if (out->n_dial) {
		out->kind = JUDGED_FORWARD;
		out->verdict.allow = true;
	} else if (n == 0) {
		out->verdict = (struct verdict){.reason = REASON_RESOLVER_FAILED};
	}
}

/*
 * By the address alone, then by each name bound to it. A deny of the address stands whatever
 * its names; otherwise one name that admits is enough, since on 80 and 443 the name inside is
 * judged again. A refusal is told with the most recent name.
 */
static void judge_real(const struct gate *g, const struct endpoint *dst, enum proto proto,
		       struct judged *out)
{
	const struct name *bound[BOUND_MAX];
	struct destination d = {DEST_CONNECT, NULL, &dst->addr, dst->port, proto, NULL, NULL};
	struct verdict v;
	size_t n;

	decide(g->rules, g->host, &d, &out->verdict);
	if (!out->verdict.allow && out->verdict.reason != REASON_DENIED_BY_RULE) {
		n = names_bound_to(g->names, &dst->addr, loop_now(g->loop), bound, BOUND_MAX);
		for (size_t i = 0; i < n && !out->verdict.allow; i++) {
			d.name = bound[i];
			decide(g->rules, g->host, &d, &v);
			if (i == 0 || v.allow) {
				out->verdict = v;
				keep_name(out, bound[i]);
			}
		}
	}
	if (out->verdict.allow) {
		out->kind = JUDGED_FORWARD;
		add_dial(out, &dst->addr, dst->port);
	}
}

void judge_destination(const struct gate *g, const struct endpoint *dst, enum proto proto,
		       struct judged *out)
{
	out->kind = JUDGED_REFUSED;
	out->has_name = false;
	out->n_dial = 0;
	if (dst->port == DNS_PORT && (proto == PROTO_UDP || proto == PROTO_TCP)) {
		out->kind = JUDGED_DNS;
		out->verdict = (struct verdict){.allow = true};
	} else if (is_gate(g, &dst->addr)) {
		judge_host_port(g, dst->port, proto, out);
	} else if (names_addr_is_synthetic(&dst->addr) &&
		   ruleset_policy(g->rules)->dns_answers == DNS_ANSWERS_SYNTHETIC) {
		judge_synthetic(g, dst, proto, out);
	} else {
		judge_real(g, dst, proto, out);
	}
}

struct verdict judge_server_name(const struct gate *g, const struct endpoint *dst,
				 const struct name *name, const char *method, const char *path)
{
	bool synthetic = names_addr_is_synthetic(&dst->addr);
	struct destination d = {
		.kind = DEST_SERVER_NAME,
		.name = name,
		/* A synthetic address says nothing; the real ones were vetted when it was dialled.
		 */
		.addr = synthetic ? NULL : &dst->addr,
		.port = dst->port,
		.proto = PROTO_TCP,
		.method = method,
		.path = path,
	};
	struct verdict v;

	decide(g->rules, g->host, &d, &v);
	/* What policy says about the name comes first: it has a remedy. */
	if (!v.allow)
		return v;
	/* Under `open` and `any` every address is admitted, so a name not looked up gains nothing.
	 */
	if (v.by_default)
		return v;
	if (!names_is_bound(g->names, name, &dst->addr, loop_now(g->loop)))
		return (struct verdict){.step = v.step, .reason = REASON_SNI_MISMATCH};
	return v;
}
