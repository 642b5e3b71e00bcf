/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/judge.h"

#include <stdlib.h>
#include <string.h>

#include "gate/names.h"
#include "gate/tunnels.h"

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

static void keep_name(struct judged *out, const struct name *name)
{
	out->has_name = true;
	out->name = *name;
}

/* How a connection comes to the gate. */
struct way {
	enum proto proto;
	bool by_proxy;
};

static const struct way by_proxy = {.proto = PROTO_TCP, .by_proxy = true};

static struct destination connection_to(const struct name *name, const struct addr *addr,
					uint16_t port, struct way way)
{
	return (struct destination){.kind = DEST_CONNECT,
				    .name = name,
				    .addr = addr,
				    .port = port,
				    .proto = way.proto,
				    .by_proxy = way.by_proxy};
}

/* One of the gate's own names. */
static void judge_own_name(const struct gate *g, const char *name, uint16_t port, struct way way,
			   struct judged *out)
{
	struct destination d = connection_to(&out->name, NULL, port, way);

	if (name_parse_ascii(name, strlen(name), &out->name) != NAME_OK)
		abort();
	out->has_name = true;
	decide(g->rules, g->host, &d, &out->verdict);
}

/*
 * The gate's own address: host.sandgate.internal, the listed ports of the host's loopback, and
 * then the proxy port.
 */
static void judge_own_address(const struct gate *g, uint16_t port, struct way way,
			      struct judged *out)
{
	static const struct addr loopback_v4 = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	static const struct addr loopback_v6 = {{[15] = 1}};

	judge_own_name(g, "host.sandgate.internal", port, way, out);
	if (!out->verdict.allow && proxy_port_is(port)) {
		judge_own_name(g, "gateway.sandgate.internal", port, way, out);
		out->kind = out->verdict.allow ? JUDGED_PROXY : JUDGED_REFUSED;
		return;
	}
	if (!out->verdict.allow)
		return;
	out->kind = JUDGED_FORWARD;
	/* What listens on the person's loopback is not the name's: there is nothing to compare. */
	out->verdict.check_name = false;
	add_dial(out, &loopback_v4, port);
	add_dial(out, &loopback_v6, port);
}

/*
 * What a sandbox that is shown such an address reaches by it is itself, whatever the policy says;
 * dialled by the gate it would be the host.
 */
static bool is_loopback(const struct addr *a)
{
	static const uint8_t zeros[15];

	if (addr_is_v4(a))
		return addr_v4_octets(a)[0] == 127 || addr_v4_octets(a)[0] == 0;
	return memcmp(a->b, zeros, sizeof(zeros)) == 0 && a->b[15] <= 1;
}

/* What holds for the first address that is dialled holds for the connection, so for all of them. */
static void add_real(struct judged *out, const struct addr *a, uint16_t port,
		     const struct verdict *v)
{
	if (out->n_dial &&
	    (v->check_name != out->verdict.check_name || v->by_default != out->verdict.by_default))
		return;
	if (!out->n_dial)
		out->verdict = *v;
	add_dial(out, a, port);
}

/* The name that was kept, at each of the addresses that it was resolved to. */
static void judge_name(const struct gate *g, const struct addr *real, size_t n, uint16_t port,
		       struct way way, struct judged *out)
{
	for (size_t i = 0; i < n; i++) {
		struct destination d = connection_to(&out->name, &real[i], port, way);
		struct verdict v;

		decide(g->rules, g->host, &d, &v);
		if (v.allow && is_loopback(&real[i]))
			v = (struct verdict){.step = 2, .reason = REASON_SPECIAL_ADDRESS};
		if (v.allow)
			add_real(out, &real[i], port, &v);
		else if (i == 0)
			out->verdict = v;
	}
	if (out->n_dial)
		out->kind = JUDGED_FORWARD;
	else if (n == 0)
		out->verdict = (struct verdict){.reason = REASON_RESOLVER_FAILED};
}

/* A synthetic address is its name and nothing else: decided by it, dialled where it really is. */
static void judge_synthetic(const struct gate *g, const struct endpoint *dst, struct way way,
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
	judge_name(g, real, n, dst->port, way, out);
}

/* What the names bound to an address say about a connection to it. */
struct bound_names {
	bool any, allowed, denied; /* by a rule, not by the base */
	bool looked_into; /* some requests to one are denied, though its address is listed */
	struct verdict allow, deny, first;
	const struct name *allow_name, *deny_name, *first_name;
};

/* Refusals that hold for a name at any address, however the address alone would fare. */
static bool is_of_the_name(enum reason r)
{
	return r == REASON_DENIED_BY_RULE || r == REASON_ENCRYPTED_DNS;
}

static void ask_bound_names(const struct gate *g, struct destination *d, struct bound_names *b)
{
	const struct name *bound[BOUND_MAX];
	size_t n = names_bound_to(g->names, d->addr, loop_now(g->loop), bound, BOUND_MAX);

	for (size_t i = 0; i < n; i++) {
		struct verdict v;

		d->name = bound[i];
		decide(g->rules, g->host, d, &v);
		if (!b->any) {
			b->any = true;
			b->first = v;
			b->first_name = bound[i];
		}
		b->looked_into |= v.by_literal_address && v.check_name;
		if (v.allow && !v.by_default && !b->allowed) {
			b->allowed = true;
			b->allow = v;
			b->allow_name = bound[i];
		} else if (is_of_the_name(v.reason) && !b->denied) {
			b->denied = true;
			b->deny = v;
			b->deny_name = bound[i];
		}
	}
}

static void settle(struct judged *out, const struct verdict *v, const struct name *name)
{
	out->verdict = *v;
	keep_name(out, name);
}

/*
 * By the address alone, and by the names bound to it. A deny of the address stands whatever its
 * names. An allow of the address yields to a deny of its name, unless another of its names is
 * allowed, or the name inside will be judged anyway. An address that is not allowed needs one
 * name that is; the refusal is told with the most recent name. What a deny says of some requests is
 * held at a listed address as well.
 */
static void judge_real(const struct gate *g, const struct endpoint *dst, struct way way,
		       struct judged *out)
{
	struct destination d = connection_to(NULL, &dst->addr, dst->port, way);
	struct bound_names names = {0};
	bool address_allowed;

	decide(g->rules, g->host, &d, &out->verdict);
	address_allowed = out->verdict.allow;
	if (!address_allowed && out->verdict.reason == REASON_DENIED_BY_RULE)
		return;
	if (!address_allowed || !out->verdict.check_name)
		ask_bound_names(g, &d, &names);
	out->verdict.check_name |= address_allowed && names.looked_into;
	if (address_allowed && names.denied && !names.allowed)
		settle(out, &names.deny, names.deny_name);
	else if (!address_allowed && names.allowed)
		settle(out, &names.allow, names.allow_name);
	else if (!address_allowed && names.any && !names.first.allow)
		settle(out, &names.first, names.first_name);
	if (out->verdict.allow) {
		out->kind = JUDGED_FORWARD;
		add_dial(out, &dst->addr, dst->port);
	}
}

static void judge_at(const struct gate *g, const struct endpoint *dst, struct way way,
		     struct judged *out)
{
	if (is_gate(g, &dst->addr))
		judge_own_address(g, dst->port, way, out);
	else if (names_addr_is_synthetic(&dst->addr) &&
		 ruleset_policy(g->rules)->dns_answers == DNS_ANSWERS_SYNTHETIC)
		judge_synthetic(g, dst, way, out);
	else
		judge_real(g, dst, way, out);
}

static void begin_judging(struct judged *out)
{
	out->kind = JUDGED_REFUSED;
	out->has_name = false;
	out->n_dial = 0;
}

void judge_destination(const struct gate *g, const struct endpoint *dst, enum proto proto,
		       struct judged *out)
{
	begin_judging(out);
	if (dst->port == DNS_PORT && (proto == PROTO_UDP || proto == PROTO_TCP)) {
		out->kind = JUDGED_DNS;
		out->verdict = (struct verdict){.allow = true};
		return;
	}
	judge_at(g, dst, (struct way){.proto = proto}, out);
	/* Never directly, and it carries nothing else. */
	if (out->kind == JUDGED_FORWARD && proto != PROTO_TCP &&
	    tunnels_carry(g, judged_name(out), &out->dial[0].addr)) {
		out->kind = JUDGED_REFUSED;
		out->verdict = (struct verdict){.step = out->verdict.step,
						.reason = REASON_PARENT_PROXY,
						.rule = out->verdict.rule};
	}
}

/*
 * Dialled by the sandbox it would be answered by the gate, or be the sandbox itself: neither is a
 * destination in the world.
 */
static bool is_within(const struct gate *g, const struct endpoint *dst)
{
	return dst->port == DNS_PORT || is_loopback(&dst->addr) || gate_is_sandbox(g, &dst->addr);
}

void judge_proxied_address(const struct gate *g, const struct endpoint *dst, struct judged *out)
{
	begin_judging(out);
	if (is_within(g, dst))
		out->verdict =
			(struct verdict){.step = 2,
					 .reason = dst->port == DNS_PORT ? REASON_PORT_NOT_ALLOWED
									 : REASON_SPECIAL_ADDRESS};
	else
		judge_at(g, dst, by_proxy, out);
}

void judge_proxied_name(const struct gate *g, const struct name *name, const struct addr *addrs,
			size_t n, uint16_t port, struct judged *out)
{
	begin_judging(out);
	keep_name(out, name);
	if (port == DNS_PORT)
		out->verdict = (struct verdict){.step = 2, .reason = REASON_PORT_NOT_ALLOWED};
	else
		judge_name(g, addrs, n, port, by_proxy, out);
}

bool judged_dials(const struct judged *j, const struct addr *dialled)
{
	for (size_t i = 0; j->kind == JUDGED_FORWARD && i < j->n_dial; i++)
		if (addr_equal(&j->dial[i].addr, dialled))
			return true;
	return false;
}

static struct verdict refusal_for(enum reason r, const struct verdict *v)
{
	return (struct verdict){.step = v->step, .reason = r, .rule = v->rule};
}

static struct way way_of(const struct admitted *a)
{
	return (struct way){.proto = a->proto, .by_proxy = a->by_proxy};
}

/* The base admits it and would look inside, which was not done: its bound names speak for it. */
static struct verdict judge_unseen_name(const struct gate *g, const struct admitted *a,
					const struct verdict *v)
{
	struct destination d = connection_to(NULL, a->dialled, a->dst->port, way_of(a));
	struct bound_names names = {0};

	if (!v->by_default)
		return refusal_for(REASON_NO_SERVER_NAME, v);
	ask_bound_names(g, &d, &names);
	return names.denied && !names.allowed ? names.deny : *v;
}

static struct verdict judge_address_again(const struct gate *g, const struct admitted *a)
{
	struct judged j;

	if (a->by_proxy)
		judge_proxied_address(g, a->dst, &j);
	else
		judge_destination(g, a->dst, a->proto, &j);
	if (j.kind != JUDGED_FORWARD)
		return j.verdict;
	if (!judged_dials(&j, a->dialled))
		return refusal_for(REASON_SPECIAL_ADDRESS, &j.verdict);
	return j.verdict.check_name ? judge_unseen_name(g, a, &j.verdict) : j.verdict;
}

struct verdict judge_again(const struct gate *g, const struct admitted *a)
{
	struct destination d = {
		.kind = a->inside ? DEST_SERVER_NAME : DEST_CONNECT,
		.name = a->name,
		.addr = a->dialled,
		.port = a->dst->port,
		.proto = a->proto,
		.method = a->method,
		.path = a->path,
		.by_proxy = a->by_proxy,
	};
	struct verdict v;

	if (!a->name || is_gate(g, &a->dst->addr))
		return judge_address_again(g, a);
	decide(g->rules, g->host, &d, &v);
	/* It was asked for by this name and no other. */
	if (a->by_proxy)
		return v.allow && v.check_name && !v.by_default
			       ? refusal_for(REASON_NO_SERVER_NAME, &v)
			       : v;
	if (!a->inside)
		/* Another name of the address, or the address itself, may admit it as well. */
		return v.allow && (!v.check_name || v.by_default) ? v : judge_address_again(g, a);
	if (v.allow && a->by_default && !v.by_default &&
	    !names_is_bound(g->names, a->name, &a->dst->addr, loop_now(g->loop)))
		return refusal_for(REASON_SNI_MISMATCH, &v);
	return v;
}

static struct verdict judge_name_inside(const struct gate *g, const struct endpoint *dst,
					struct way way, const struct name *name, const char *method,
					const char *path)
{
	bool synthetic = names_addr_is_synthetic(&dst->addr);
	struct destination d = {
		.kind = DEST_SERVER_NAME,
		.name = name,
		/* A synthetic address says nothing; the real ones were vetted at the dial. */
		.addr = synthetic ? NULL : &dst->addr,
		.port = dst->port,
		.proto = way.proto,
		.method = method,
		.path = path,
		.by_proxy = way.by_proxy,
	};
	struct verdict v;

	decide(g->rules, g->host, &d, &v);
	/* What policy says about the name comes first: it has a remedy. */
	if (!v.allow)
		return v;
	/* Under `open` and `any` every address is admitted: a name not looked up gains nothing. */
	if (v.by_default)
		return v;
	if (!names_is_bound(g->names, name, &dst->addr, loop_now(g->loop)))
		return (struct verdict){.step = v.step, .reason = REASON_SNI_MISMATCH};
	return v;
}

struct verdict judge_server_name(const struct gate *g, const struct endpoint *dst, enum proto proto,
				 const struct name *name, const char *method, const char *path)
{
	return judge_name_inside(g, dst, (struct way){.proto = proto}, name, method, path);
}

struct verdict judge_proxied_server_name(const struct gate *g, const struct endpoint *dst,
					 const struct name *name, const char *method,
					 const char *path)
{
	return judge_name_inside(g, dst, by_proxy, name, method, path);
}
