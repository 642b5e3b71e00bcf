/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demands.md 14: check == enforcement. For generated policies (own rules, an organisation's,
 * permissions, bases) and destinations these say the same: decide(), a slow reference, explain,
 * the policy printed and read again, the policy sent to a gate and read again, and what the gate
 * does with a lookup, a connection and the name inside it.
 *
 * The worlds are small on purpose: few names, addresses and ports, so that rules
 * meet one another. SANDGATE_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gate/judge.h"
#include "gate/names.h"
#include "policy/explain.h"
#include "policy/permission.h"
#include "policy/rule.h"
#include "reference.h"

enum { POLICIES = 16000, DESTINATIONS = 20, CASES = 300000, TEXT_MAX = 128 };

static uint64_t seed;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 16) % n);
}

/* The first words more often than the last, so that rules have targets in common. */
static const char *one_of(const char *const *words, size_t n)
{
	unsigned a = pick((unsigned)n), b = pick((unsigned)n), c = pick((unsigned)n);
	unsigned least = a < b ? a : b;

	return words[least < c ? least : c];
}
#define ONE_OF(words) one_of((words), sg_array_len(words))

static const char *const names[] = {
	"example.com",
	"a.example.com",
	"b.example.com",
	"a.a.example.com",
	"b.a.example.com",
	"a.b.example.com",
	"a.a.a.example.com",
	"other.org",
	"a.other.org",
	"quad9.net",
	"www.quad9.net",
	"dns.quad9.net",
	"dns9.quad9.net",
	"dns.google",
	"a.rather-long-label-that-does-not-fit-in-a-rule.example.com",
};
static const char *const wildcards[] = {
	"*.example.com",
	"*.a.example.com",
	"*.b.example.com",
	"*.a.a.example.com",
	"*.other.org",
	"*.quad9.net",
	"*.rather-long-label-that-does-not-fit-in-a-rule.example.com",
};
static const char *const addresses[] = {
	"93.184.0.0",
	"93.184.0.1",
	"93.184.1.1",
	"10.0.0.1",
	"10.0.1.1",
	"192.168.0.1",
	"169.254.169.254",
	"169.254.0.1",
	"127.0.0.1",
	"8.8.8.8",
	"2a00::1",
	"2a00::2",
	"2a00:1::1",
	"fd00::1",
	"fd00:ec2::254",
	"64:ff9b::93.184.0.1",
	"64:ff9b::10.0.0.1",
	"::93.184.1.1",
	"2002:a00:1::",
	"2a00::5efe:1.2.3.4",
	"fe80::1",
	"::1",
	"2001:db8::1",
	"64:ff9b:1::1",
	"::",
	"::ffff:0:10.0.1.1",
	"fd00::200:5efe:1.2.3.4",
};
static const char *const networks[] = {
	"93.184.0.0/16", "93.184.0.0/24", "93.184.0.1",	    "93.184.1.0/31",  "10.0.0.0/8",
	"10.0.0.0/24",	 "10.0.0.1",	  "128.0.0.0/1",    "8.8.8.8",	      "2a00::/16",
	"2a00::/127",	 "2a00::1",	  "fd00::/8",	    "169.254.0.0/16", "169.254.169.254",
	"2000::/3",	 "fd00:ec2::254", "192.168.0.0/24", "fe80::/10",
};
static const char *const host_has[] = {"93.184.0.1/32", "93.184.0.0/24",  "10.0.1.0/24",
				       "2a00::/64",	"192.168.0.1/32", "fd00::1/128"};
static const char *const port_texts[] = {"",   "",	  "",	    ":443",    ":80",  ":22",
					 ":*", ":22,443", ":1-100", ":80,443", ":853", ":1-65535"};
static const char *const proto_texts[] = {"",	  "",	  "",	   "",	   "",
					  "/tcp", "/udp", "/icmp", "/raw", "/tcp+udp"};
static const unsigned ports[] = {0, 22, 80, 100, 443, 853, 5432};

/* ---- A world: a catalogue, an organisation, a person's policy ---- */

enum { PERMISSIONS = 4, PERMISSION_RULES = 4 };

struct world {
	char rule_text[PERMISSIONS][PERMISSION_RULES][TEXT_MAX];
	const char *rules[PERMISSIONS][PERMISSION_RULES + 1];
	struct permission permissions[PERMISSIONS];
	struct catalogue catalogue;
	struct organisation organisation;
	struct policy_sources sources;
	struct policy policy; /* resolved */
	struct host_prefixes host;
};

/* A rule as a person writes it; one that is refused as written is not made. */
static bool make_rule(enum effect effect, char text[TEXT_MAX], struct rule *r)
{
	unsigned kind = pick(10);
	const char *target = kind < 4	? ONE_OF(names)
			     : kind < 7 ? ONE_OF(wildcards)
					: ONE_OF(networks);
	const char *port = ONE_OF(port_texts);
	bool v6 = strchr(target, ':') != NULL;
	struct err e;

	snprintf(text, TEXT_MAX, v6 && *port ? "[%s]%s%s" : "%s%s%s", target, port,
		 ONE_OF(proto_texts));
	return rule_parse_short(span_of_string(text), effect, r, &e) == 0;
}

static void add_own_rule(struct policy *p, enum effect effect)
{
	char text[TEXT_MAX];
	struct rule r;
	struct err e;

	if (!make_rule(effect, text, &r))
		return;
	r.private_ok = effect == EFFECT_ALLOW && r.kind != TARGET_PREFIX && pick(4) == 0;
	if (r.detail && r.detail->n_ports == 1 && r.detail->ports[0].lo == 80 && !r.raw &&
	    !r.protos && r.kind != TARGET_PREFIX) {
		r.detail->methods = calloc(2, sizeof(char *));
		r.detail->methods[0] = strdup(pick(2) ? "GET" : "POST");
	}
	if (policy_take_rule(p, &r, &e))
		fail_msg("%s", e.text);
}

static void make_permission(struct world *w, unsigned i)
{
	static const char *const ids[PERMISSIONS] = {"alpha", "beta", "gamma", "web"};
	unsigned n = 0;
	struct rule r;

	for (unsigned k = pick(PERMISSION_RULES + 1); k > 0; k--)
		if (make_rule(EFFECT_ALLOW, w->rule_text[i][n], &r)) {
			w->rules[i][n] = w->rule_text[i][n];
			n++;
			rule_clear(&r);
		}
	w->rules[i][n] = NULL;
	w->permissions[i] = (struct permission){
		.id = ids[i], .says = ids[i], .rules = w->rules[i], .web = i == PERMISSIONS - 1};
}

static void make_catalogue(struct world *w)
{
	static const char *const one[] = {"alpha", NULL}, *const two[] = {"alpha", "beta", NULL};
	static const struct preset presets[] = {{.name = "bake", .permissions = one},
						{.name = "locked", .permissions = one},
						{.name = "open", .permissions = one, .open = true},
						{.name = "standard", .permissions = two}};

	for (unsigned i = 0; i < PERMISSIONS; i++)
		make_permission(w, i);
	w->catalogue = (struct catalogue){.version = "test",
					  .permissions = w->permissions,
					  .n_permissions = PERMISSIONS,
					  .presets = presets,
					  .n_presets = sg_array_len(presets)};
}

static void add_organisation_rules(char *text, size_t size, enum effect effect)
{
	char one[TEXT_MAX];
	struct rule r;
	size_t n;

	for (unsigned k = pick(4); k > 0; k--) {
		if (!make_rule(effect, one, &r))
			continue;
		rule_clear(&r);
		n = strlen(text);
		snprintf(text + n, size - n, "%s\"%s\"", text[n - 1] == '[' ? "" : ",", one);
	}
}

/* In its JSON, as it is installed. */
static void make_organisation(struct world *w)
{
	char text[16 * TEXT_MAX] = "{\"allow\":[";
	struct err e;

	add_organisation_rules(text, sizeof(text), EFFECT_ALLOW);
	strcat(text, "],\"deny\":[");
	add_organisation_rules(text, sizeof(text), EFFECT_DENY);
	strcat(text, pick(6) ? "]}" : "],\"permissions_removed\":[\"beta\"]}");
	if (organisation_parse(span_of_string(text), "org", &w->catalogue, &w->organisation, &e))
		fail_msg("%s\n%s", text, e.text);
}

static void choose_permissions(struct policy *p)
{
	static const char *const words[] = {"gamma", "-alpha", "-beta", "alpha", "web", "-gamma"};
	struct err e;

	for (unsigned k = pick(4); k > 0; k--) {
		const char *word = words[pick(sg_array_len(words))];

		if (*word == '-' || (p->network != NET_ANY && p->network != NET_NONE))
			assert_int_equal(policy_add_permission(p, word, &e), 0);
	}
}

static void make_policy(struct policy *p)
{
	static const enum network_base bases[] = {NET_DENY,	NET_DENY,   NET_DENY, NET_DENY,
						  NET_OPEN,	NET_OPEN,   NET_ANY,  NET_STANDARD,
						  NET_STANDARD, NET_LOCKED, NET_BAKE, NET_NONE};
	unsigned rules = pick(12);

	policy_init(p);
	p->network = bases[pick(sg_array_len(bases))];
	p->quic_allow = pick(3) == 0;
	p->dns_off = pick(16) == 0;
	for (unsigned i = 0; i < rules; i++) {
		bool deny = p->network == NET_ANY || p->network == NET_NONE || pick(3) == 0;

		add_own_rule(p, deny ? EFFECT_DENY : EFFECT_ALLOW);
	}
	if (pick(2))
		choose_permissions(p);
}

static void make_host(struct host_prefixes *host)
{
	host->n = 0;
	for (unsigned i = pick(4); i > 0; i--) {
		const char *prefix = ONE_OF(host_has);

		assert_true(prefix_parse(prefix, strlen(prefix), &host->prefix[host->n++]));
	}
}

static void make_world(struct world *w)
{
	struct err e;

	make_catalogue(w);
	w->organisation = (struct organisation){0};
	if (pick(2))
		make_organisation(w);
	w->sources = (struct policy_sources){.catalogue = &w->catalogue,
					     .organisation = &w->organisation};
	make_policy(&w->policy);
	make_host(&w->host);
	/* What the organisation removed cannot be named. */
	if (w->organisation.permissions_removed)
		string_list_remove(&w->policy.permissions, "beta");
	if (policy_resolve(&w->policy, &w->sources, &e))
		fail_msg("%s", e.text);
}

static void free_world(struct world *w)
{
	policy_free(&w->policy);
	organisation_free(&w->organisation);
}

/* ---- Questions ---- */

struct question {
	struct destination d;
	struct name name;
	struct addr addr;
};

static void make_question(struct question *q)
{
	static const enum proto protos[] = {PROTO_TCP, PROTO_TCP, PROTO_UDP, PROTO_ICMP};
	const char *name = ONE_OF(names), *addr = ONE_OF(addresses);

	memset(q, 0, sizeof(*q));
	assert_int_equal(name_parse(name, strlen(name), &q->name, NULL), NAME_OK);
	assert_true(addr_parse(addr, strlen(addr), &q->addr));
	q->d.kind = (enum destination_kind)pick(3);
	q->d.name = q->d.kind != DEST_CONNECT || pick(4) ? &q->name : NULL;
	q->d.addr = q->d.kind != DEST_LOOKUP && (!q->d.name || pick(6)) ? &q->addr : NULL;
	if (q->d.kind == DEST_LOOKUP)
		return;
	q->d.proto = q->d.kind == DEST_SERVER_NAME ? PROTO_TCP : protos[pick(sg_array_len(protos))];
	q->d.port = q->d.proto == PROTO_ICMP ? 0 : (uint16_t)ports[pick(sg_array_len(ports))];
	if (q->d.kind == DEST_SERVER_NAME && pick(2)) {
		q->d.method = pick(2) ? "GET" : "POST";
		q->d.path = "/";
	}
}

static void show(const struct policy *p, const struct question *q)
{
	char *text = policy_print_wire(p), addr[ADDR_TEXT_MAX] = "-";

	if (q->d.addr)
		addr_format(q->d.addr, addr);
	print_error("%s\n%s %s %s port %u proto %d method %s\n", text,
		    q->d.kind == DEST_LOOKUP	? "lookup"
		    : q->d.kind == DEST_CONNECT ? "connect"
						: "inside",
		    q->d.name ? q->d.name->s : "-", addr, q->d.port, q->d.proto,
		    q->d.method ? q->d.method : "-");
	free(text);
}

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
		show(p, q);
		fail_msg("decide: %d %s step %u, %d%d%d%d%d; reference: %d %s step %u, %d%d%d%d%d",
			 v.allow, reason_word(v.reason), v.step, v.check_name, v.by_literal_address,
			 v.by_wildcard, v.by_default, v.private_ok, a.allow, reason_word(a.reason),
			 a.step, a.check_name, a.literal, a.wildcard, a.by_default, a.private_ok);
	}
	if (q->d.kind == DEST_LOOKUP && address_admissible(rs, &w->host, &v, &q->addr) !=
						reference_admissible(p, &w->host, &a, &q->addr)) {
		show(p, q);
		fail_msg("address_admissible disagrees");
	}
}

/* ---- explain ---- */

/* explain asks what the data plane asks: the lookup, the connection, the name inside. */
static bool reference_explains(const struct world *w, const struct explain_target *t)
{
	struct destination d = {.name = t->has_name ? &t->name : NULL,
				.addr = t->has_addr ? &t->addr : NULL,
				.port = t->port,
				.proto = t->proto};
	struct answer a;

	d.kind = DEST_LOOKUP;
	if (d.name && !reference_decide(&w->policy, &w->host, &d).allow)
		return false;
	d.kind = DEST_CONNECT;
	d.method = d.path = NULL;
	a = reference_decide(&w->policy, &w->host, &d);
	if (!a.allow || !a.check_name || !d.name || (d.port == 80 && !t->method[0]))
		return a.allow;
	d.kind = DEST_SERVER_NAME;
	d.method = t->method[0] ? t->method : NULL;
	d.path = t->path[0] ? t->path : NULL;
	a = reference_decide(&w->policy, &w->host, &d);
	return a.allow;
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
	struct explanation x;

	explain_decide(rs, &w->host, &(struct remedy_for){0}, t, &x);
	return x.verdict.allow;
}

static void compare_explanation(const struct world *w, const struct ruleset *rs,
				const struct question *q)
{
	struct explain_target t = target_of(q);
	bool allow = explains(w, rs, &t);

	if (allow == reference_explains(w, &t))
		return;
	show(&w->policy, q);
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
}

/* In an answer of now, or of so long ago that the address is not bound any more. */
static void answer(const struct question *q, bool now)
{
	mono_t at = mono_add_ms(loop_now(gate.loop), now ? 0 : -2000LL * NAMES_HOLD_SECONDS);

	names_bind(gate.names, &q->name, addr_is_v4(&q->addr) ? NAMES_A : NAMES_AAAA, &q->addr, 1,
		   60, NAMES_SHOWN, at);
}

/* A program that looks the name up, connects to the address it got, and says the name inside. */
static bool reaches_by_name(const struct world *w, const struct question *q)
{
	struct destination lookup = {.kind = DEST_LOOKUP, .name = &q->name};
	struct endpoint to = {.addr = q->addr, .port = q->d.port};
	struct verdict v;
	struct judged j;
	bool reached;

	decide(gate.rules, &w->host, &lookup, &v);
	if (!v.allow || !address_admissible(gate.rules, &w->host, &v, &q->addr))
		return false;
	answer(q, true);
	judge_destination(&gate, &to, q->d.proto, &j);
	reached = j.kind == JUDGED_FORWARD;
	if (reached && j.verdict.check_name)
		reached =
			judge_server_name(&gate, &to, q->d.proto, &q->name, q->d.method, q->d.path)
				.allow;
	answer(q, false);
	return reached;
}

static bool reaches_by_address(const struct question *q)
{
	struct endpoint to = {.addr = q->addr, .port = q->d.port};
	struct judged j;

	judge_destination(&gate, &to, q->d.proto, &j);
	return j.kind == JUDGED_FORWARD;
}

static void compare_data_plane(struct world *w, struct ruleset *rs, struct question *q)
{
	struct explain_target t;
	bool reached;

	gate.rules = rs;
	gate.host = &w->host;
	if (q->d.kind == DEST_LOOKUP || !q->d.addr)
		return;
	/* On port 80 there is always a request; elsewhere none is seen. */
	q->d.method = q->d.port == 80 && q->d.proto == PROTO_TCP ? pick(2) ? "GET" : "POST" : NULL;
	q->d.path = q->d.method ? "/" : NULL;
	t = target_of(q);
	reached = q->d.name ? reaches_by_name(w, q) : reaches_by_address(q);
	if (reached == explains(w, rs, &t))
		return;
	show(&w->policy, q);
	fail_msg("the gate %s it, explain says otherwise", reached ? "admits" : "refuses");
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
	show(&w->policy, q);
	fail_msg("read again it says otherwise: %d %s, %d %s", a.allow, rule, b.allow, other_rule);
}

/* ---- All of it ---- */

static unsigned check_world(struct world *w, unsigned i)
{
	struct ruleset *rs = compile(&w->policy, i), *sent = compile_sent(w, i);
	struct ruleset *read = compile_read_again(w, i % 2 ? POLICY_YAML : POLICY_JSON, i);

	for (unsigned k = 0; k < DESTINATIONS; k++) {
		struct question q;

		make_question(&q);
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
		make_world(&w);
		asked += check_world(&w, i);
		free_world(&w);
	}
	names_free(gate.names);
	loop_free(gate.loop);
	assert_true(asked >= CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_agree)};
	const char *given = getenv("SANDGATE_SEED");

	seed = given ? strtoull(given, NULL, 10) | 1 : 0x2545f4914f6cdd1d;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
