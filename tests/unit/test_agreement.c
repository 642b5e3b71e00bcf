/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demands.md 14: check == enforcement. For generated policies (own rules, an organisation's,
 * permissions with operations, bases, hosts to open and to keep closed), destinations and requests
 * these say the same: decide(), a slow reference, explain, the policy printed and read again, the
 * policy sent to a gate and read again, and what gate and broker do with a lookup, a connection,
 * the name inside it and a request, directly and through the proxy port.
 *
 * SANDGATE_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "broker/explain_request.h"
#include "broker/judge_request.h"
#include "gate/judge.h"
#include "gate/names.h"
#include "policy/explain.h"
#include "policy/host_list.h"
#include "reference_request.h"
#include "request_of.h"
#include "world.h"

enum { POLICIES = 16000, DESTINATIONS = 20, CASES = 300000 };

/* ---- decide() and the reference ---- */

static bool agree(const struct verdict *v, const struct answer *a)
{
	return v->allow == a->allow && v->reason == a->reason && v->step == a->step &&
	       v->check_name == a->check_name && v->by_literal_address == a->literal &&
	       v->by_wildcard == a->wildcard && v->by_default == a->by_default &&
	       v->private_ok == a->private_ok;
}

/* The rule stands in the layer of the step, and names its permission in step 5 only. */
static bool is_in_its_layer(const struct verdict *v)
{
	static const enum layer layers[] = {
		[3] = LAYER_OWN, [4] = LAYER_ORGANISATION, [5] = LAYER_PERMISSIONS};

	if (v->rule && v->step >= 3 && v->step <= 5 && v->layer != layers[v->step])
		return false;
	return (v->permission != NULL) == (v->rule && v->layer == LAYER_PERMISSIONS);
}

static void compare_decision(const struct world *w, const struct ruleset *rs,
			     const struct question *q)
{
	const struct policy *p = &w->policy;
	struct answer a = reference_decide(p, &w->host, &q->d);
	struct verdict v;

	decide(rs, &w->host, &q->d, &v);
	if (!agree(&v, &a) || !is_in_its_layer(&v)) {
		question_show(p, q);
		fail_msg("decide: %d %s step %u, %d%d%d%d%d; reference: %d %s step %u, %d%d%d%d%d",
			 v.allow, reason_word(v.reason), v.step, v.check_name, v.by_literal_address,
			 v.by_wildcard, v.by_default, v.private_ok, a.allow, reason_word(a.reason),
			 a.step, a.check_name, a.literal, a.wildcard, a.by_default, a.private_ok);
	}
	if (q->d.kind == DEST_LOOKUP && address_admissible(rs, &w->host, &v, &q->addr) !=
						reference_admissible(p, &w->host, &a, &q->addr)) {
		question_show(p, q);
		fail_msg("address_admissible disagrees");
	}
}

/* ---- explain ---- */

/* explain asks what the data plane asks: the lookup, the connection, what stands inside. */
static bool reference_explains(const struct world *w, const struct explain_target *t)
{
	struct destination d = {.name = t->has_name ? &t->name : NULL,
				.addr = t->has_addr ? &t->addr : NULL,
				.port = t->port,
				.proto = t->proto,
				.by_proxy =
					w->policy.network == NET_BROKERED && t->proto == PROTO_TCP};
	struct answer a;
	bool seen;

	d.kind = DEST_LOOKUP;
	if (d.name && !reference_decide(&w->policy, &w->host, &d).allow)
		return false;
	d.kind = DEST_CONNECT;
	d.method = d.path = NULL;
	a = reference_decide(&w->policy, &w->host, &d);
	if (!a.allow || !d.name)
		return a.allow;
	seen = reference_inspects(w, &d, a.check_name);
	if ((!a.check_name && !seen) || (d.port == 80 && !t->method[0]))
		return true;
	d.kind = DEST_SERVER_NAME;
	if (seen || (d.port == 80 && d.proto == PROTO_TCP)) {
		d.method = t->method[0] ? t->method : NULL;
		d.path = t->path[0] ? t->path : NULL;
	}
	a = reference_decide(&w->policy, &w->host, &d);
	return a.allow && (!seen || !d.method || reference_admits_request(w, &d));
}

static struct explain_target target_of(const struct question *q)
{
	struct explain_target t = {.has_name = q->d.name,
				   .has_addr = q->d.addr,
				   .name = q->name,
				   .addr = q->addr,
				   .port = q->d.port,
				   .proto = q->d.proto};

	if (q->d.kind == DEST_LOOKUP)
		t.proto = PROTO_TCP;
	if (q->d.method)
		snprintf(t.method, sizeof(t.method), "%s", q->d.method);
	if (q->d.path)
		snprintf(t.path, sizeof(t.path), "%s", q->d.path);
	return t;
}

static bool explains(const struct world *w, const struct ruleset *rs,
		     const struct explain_target *t)
{
	const struct remedy_for who = {.catalogue = &w->catalogue};
	struct explanation x;

	explain_decide(rs, &w->host, &who, t, &x);
	explain_request(rs, &w->host, &who, &x);
	return x.verdict.allow;
}

static void compare_explanation(const struct world *w, const struct ruleset *rs,
				const struct question *q)
{
	struct explain_target t = target_of(q);
	bool allow = explains(w, rs, &t);

	if (allow == reference_explains(w, &t))
		return;
	question_show(&w->policy, q);
	fail_msg("explain says %s", allow ? "allow" : "deny");
}

/* ---- The data plane ---- */

static struct gate gate;

static void set_up_gate(void)
{
	const char *v4 = "192.0.0.1", *v6 = "fd73:616e:6467:1::1";

	gate.loop = loop_new(8);
	gate.names = names_new();
	assert_non_null(gate.loop);
	assert_non_null(gate.names);
	assert_true(addr_parse(v4, strlen(v4), &gate.gate_v4));
	assert_true(addr_parse(v6, strlen(v6), &gate.gate_v6));
	/* One that nothing here is about; without octets it would be every address. */
	gate.sandbox_v6 = (struct prefix){.addr = gate.gate_v6, .bits = 128};
}

/* In an answer of now, or of so long ago that the address is not bound any more. */
static void answer(const struct question *q, bool now)
{
	mono_t at = mono_add_ms(loop_now(gate.loop), now ? 0 : -2000LL * NAMES_HOLD_SECONDS);

	names_bind(gate.names, &q->name, addr_is_v4(&q->addr) ? NAMES_A : NAMES_AAAA, &q->addr, 1,
		   60, NAMES_SHOWN, at);
}

/* How a program comes to the gate. */
enum way { DIRECT, BY_PROXY };

static void judge_connection(const struct question *q, enum way way, struct judged *j)
{
	struct endpoint to = {.addr = q->addr, .port = q->d.port};

	if (way == DIRECT)
		judge_destination(&gate, &to, q->d.proto, j);
	else if (q->d.name)
		judge_proxied_name(&gate, &q->name, &q->addr, 1, q->d.port, j);
	else
		judge_proxied_address(&gate, &to, j);
}

/* On port 80 the gate sees the request; inside TLS it is to come. */
static bool says_admitted_name(const struct question *q, enum way way)
{
	struct endpoint to = {.addr = q->addr, .port = q->d.port};
	bool plain = q->d.port == 80 && q->d.proto == PROTO_TCP;
	const char *method = plain ? q->d.method : NULL, *path = plain ? q->d.path : NULL;

	if (way == DIRECT)
		return judge_server_name(&gate, &to, q->d.proto, &q->name, method, path).allow;
	return judge_proxied_server_name(&gate, &to, &q->name, method, path).allow;
}

/* ---- Requests, by the broker ---- */

static bool is_admitted_request(const struct world *w, const struct question *q)
{
	const struct request_judge j = {.rules = gate.rules,
					.catalogue = &w->catalogue,
					.host = &w->host,
					.addr = &q->addr,
					.by_proxy = true};
	struct request_verdict v;
	struct message m;

	request_of(q->d.method, q->name.s, q->d.path, "", &m);
	m.port = q->d.port;
	judge_request(&j, &m, span_of(NULL, 0), true, &v);
	message_free(&m);
	return v.what == REQUEST_ADMITTED;
}

/* As the gate asks for what it has judged. */
static bool is_seen(const struct world *w, const struct question *q, bool check_name)
{
	enum inspects_why why =
		policy_inspects(gate.rules, &w->catalogue, &w->host, &q->name, &q->addr, q->d.port);

	return check_name ? why != INSPECTS_NOT
			  : why == INSPECTS_CREDENTIALS || why == INSPECTS_LISTED;
}

/*
 * What is not opened has nothing in it that the broker would refuse, but where it is told to stay
 * closed.
 */
static void assert_nothing_is_missed(const struct world *w, const struct question *q)
{
	if (host_list_has(&w->policy.splice, &q->name, q->d.port) || is_admitted_request(w, q))
		return;
	question_show(&w->policy, q);
	fail_msg("it passes unseen, and the broker would have refused it");
}

/* A connection that the gate carries on: is its request let through? */
static bool passes(const struct world *w, const struct question *q, bool check_name)
{
	bool web = q->d.port == 80 || q->d.port == 443;

	if (q->d.proto != PROTO_TCP)
		return true;
	if (is_seen(w, q, check_name))
		return is_admitted_request(w, q);
	if (check_name && web)
		assert_nothing_is_missed(w, q);
	return true;
}

/* A program that looks the name up, connects to the address it got, and says the name inside. */
static bool reaches_by_name(const struct world *w, const struct question *q, enum way way)
{
	struct destination lookup = {
		.kind = DEST_LOOKUP, .name = &q->name, .by_proxy = way == BY_PROXY};
	struct verdict v;
	struct judged j;
	bool reached;

	decide(gate.rules, &w->host, &lookup, &v);
	if (!v.allow || !address_admissible(gate.rules, &w->host, &v, &q->addr))
		return false;
	answer(q, true);
	judge_connection(q, way, &j);
	reached = j.kind == JUDGED_FORWARD;
	if (reached && j.verdict.check_name)
		reached = says_admitted_name(q, way);
	answer(q, false);
	return reached && passes(w, q, j.verdict.check_name);
}

static bool reaches(const struct world *w, const struct question *q, enum way way)
{
	struct judged j;

	if (q->d.name)
		return reaches_by_name(w, q, way);
	judge_connection(q, way, &j);
	return j.kind == JUDGED_FORWARD;
}

static void compare_way(const struct world *w, const struct ruleset *rs, const struct question *q,
			enum way way)
{
	bool only_by_proxy = w->policy.network == NET_BROKERED, expected;
	struct explain_target t = target_of(q);

	expected = explains(w, rs, &t) && !(only_by_proxy && way == DIRECT);
	if (reaches(w, q, way) == expected)
		return;
	question_show(&w->policy, q);
	fail_msg("the gate %s it %s, explain says otherwise", expected ? "refuses" : "admits",
		 way == DIRECT ? "directly" : "by proxy");
}

/* Dialled by the sandbox it is the sandbox itself, and through the proxy port it is nobody. */
static bool is_loopback(const struct addr *a)
{
	static const struct addr any, v6 = {{[15] = 1}};

	return addr_equal(a, &any) || addr_equal(a, &v6) ||
	       (addr_is_v4(a) && (a->b[12] == 127 || a->b[12] == 0));
}

static void compare_data_plane(struct world *w, struct ruleset *rs, struct question *q)
{
	gate.rules = rs;
	gate.host = &w->host;
	if (q->d.kind == DEST_LOOKUP || !q->d.addr)
		return;
	/* There is always a request, whether it is seen or not. */
	q->d.method = q->d.proto == PROTO_TCP ? world_pick(2) ? "GET" : "POST" : NULL;
	q->d.path = q->d.method ? world_pick(2) ? "/" : "/a/b" : NULL;
	compare_way(w, rs, q, DIRECT);
	if (q->d.proto == PROTO_TCP && q->d.port && !is_loopback(&q->addr))
		compare_way(w, rs, q, BY_PROXY);
}

/* ---- Printed and read again ---- */

static void assert_survives(const struct policy *p, const char *text, enum policy_syntax syntax,
			    struct policy *again)
{
	struct err e;
	char *printed;

	if (policy_parse(span_of_string(text), syntax, "printed", again, &e))
		fail_msg("%s\n%s", text, e.text);
	printed = policy_print_json(again);
	assert_string_equal(printed, text);
	assert_int_equal(again->n_rules, p->n_rules);
	free(printed);
}

static struct ruleset *compile(const struct policy *p, unsigned i)
{
	struct err e;
	struct ruleset *rs = ruleset_compile(p, i, &e);

	if (!rs)
		fail_msg("%s", e.text);
	return rs;
}

static struct ruleset *compile_read_again(struct world *w, enum policy_syntax syntax, unsigned i)
{
	char *text = policy_print_json(&w->policy);
	struct ruleset *rs;
	struct policy p;
	struct err e;

	assert_survives(&w->policy, text, syntax, &p);
	if (policy_resolve(&p, &w->sources, &e))
		fail_msg("%s", e.text);
	rs = compile(&p, i);
	policy_free(&p);
	free(text);
	return rs;
}

/* As the gate gets it. */
static struct ruleset *compile_sent(struct world *w, unsigned i)
{
	char *text = policy_print_wire(&w->policy), *again;
	struct ruleset *rs;
	struct policy p;
	struct err e;

	if (policy_parse_wire(span_of_string(text), &p, &e))
		fail_msg("%s\n%s", text, e.text);
	again = policy_print_wire(&p);
	assert_string_equal(again, text);
	rs = compile(&p, i);
	policy_free(&p);
	free(again);
	free(text);
	return rs;
}

static void compare_compiled(const struct world *w, const struct ruleset *rs,
			     const struct ruleset *other, const struct question *q)
{
	struct verdict a, b;
	char rule[RULE_TEXT_MAX] = "", other_rule[RULE_TEXT_MAX] = "";

	decide(rs, &w->host, &q->d, &a);
	decide(other, &w->host, &q->d, &b);
	if (a.rule)
		rule_format(a.rule, rule);
	if (b.rule)
		rule_format(b.rule, other_rule);
	if (a.allow == b.allow && a.reason == b.reason && a.step == b.step &&
	    a.check_name == b.check_name && a.by_default == b.by_default &&
	    strcmp(rule, other_rule) == 0 && !a.permission == !b.permission &&
	    (!a.permission || strcmp(a.permission, b.permission) == 0))
		return;
	question_show(&w->policy, q);
	fail_msg("read again it says otherwise: %d %s, %d %s", a.allow, rule, b.allow, other_rule);
}

/* ---- All of it ---- */

static unsigned check_world(struct world *w, unsigned i)
{
	struct ruleset *rs = compile(&w->policy, i), *sent = compile_sent(w, i);
	struct ruleset *read = compile_read_again(w, i % 2 ? POLICY_YAML : POLICY_JSON, i);

	for (unsigned k = 0; k < DESTINATIONS; k++) {
		struct question q;

		question_make(&q);
		compare_decision(w, rs, &q);
		compare_explanation(w, rs, &q);
		compare_compiled(w, rs, read, &q);
		compare_compiled(w, rs, sent, &q);
		compare_data_plane(w, sent, &q);
	}
	ruleset_free(rs);
	ruleset_free(sent);
	ruleset_free(read);
	return DESTINATIONS;
}

static void test_all_agree(void **state)
{
	static struct world w;
	unsigned asked = 0;

	set_up_gate();
	for (unsigned i = 0; i < POLICIES; i++) {
		world_make(&w);
		asked += check_world(&w, i);
		world_free(&w);
	}
	names_free(gate.names);
	loop_free(gate.loop);
	assert_true(asked >= CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_agree)};
	const char *given = getenv("SANDGATE_SEED");

	if (given)
		world_seed(strtoull(given, NULL, 10));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
