/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demands.md 14: check == enforcement. For generated policies and destinations, decide(), explain
 * and the reference implementation agree; and every policy survives print and parse.
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

#include "policy/explain.h"
#include "policy/rule.h"
#include "reference.h"

enum { POLICIES = 12000, DESTINATIONS = 20 };

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

/* A rule as a person writes it; one that is refused as written is left out. */
static void add_rule(struct policy *p, enum effect effect)
{
	char text[256];
	struct rule r;
	struct err e;
	unsigned kind = pick(10);
	const char *target = kind < 4	? ONE_OF(names)
			     : kind < 7 ? ONE_OF(wildcards)
					: ONE_OF(networks);
	const char *port = ONE_OF(port_texts);
	bool v6 = strchr(target, ':') != NULL;

	snprintf(text, sizeof(text), v6 && *port ? "[%s]%s%s" : "%s%s%s", target, port,
		 ONE_OF(proto_texts));
	if (rule_parse_short(span_of_string(text), effect, &r, &e))
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

static void make_policy(struct policy *p)
{
	static const enum network_base bases[] = {NET_DENY, NET_DENY,	  NET_DENY,
						  NET_DENY, NET_OPEN,	  NET_OPEN,
						  NET_ANY,  NET_STANDARD, NET_NONE};
	unsigned rules = pick(12);

	policy_init(p);
	p->network = bases[pick(sg_array_len(bases))];
	p->quic_allow = pick(3) == 0;
	p->dns_off = pick(16) == 0;
	for (unsigned i = 0; i < rules; i++) {
		bool deny = p->network == NET_ANY || p->network == NET_NONE || pick(3) == 0;

		add_rule(p, deny ? EFFECT_DENY : EFFECT_ALLOW);
	}
}

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

static void make_host(struct host_prefixes *host)
{
	host->n = 0;
	for (unsigned i = pick(4); i > 0; i--) {
		const char *prefix = ONE_OF(host_has);

		assert_true(prefix_parse(prefix, strlen(prefix), &host->prefix[host->n++]));
	}
}

static void show(const struct policy *p, const struct question *q)
{
	char *text = policy_print_json(p), addr[ADDR_TEXT_MAX] = "-";

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

static bool agree(const struct verdict *v, const struct answer *a)
{
	return v->allow == a->allow && v->reason == a->reason && v->step == a->step &&
	       v->check_name == a->check_name && v->by_literal_address == a->literal &&
	       v->by_wildcard == a->wildcard && v->by_default == a->by_default &&
	       v->private_ok == a->private_ok;
}

static void compare_decision(const struct policy *p, const struct ruleset *rs,
			     const struct host_prefixes *host, const struct question *q)
{
	struct answer a = reference_decide(p, host, &q->d);
	struct verdict v;

	decide(rs, host, &q->d, &v);
	if (!agree(&v, &a)) {
		show(p, q);
		fail_msg("decide: %d %s step %u, %d%d%d%d%d; reference: %d %s step %u, %d%d%d%d%d",
			 v.allow, reason_word(v.reason), v.step, v.check_name, v.by_literal_address,
			 v.by_wildcard, v.by_default, v.private_ok, a.allow, reason_word(a.reason),
			 a.step, a.check_name, a.literal, a.wildcard, a.by_default, a.private_ok);
	}
	if (q->d.kind == DEST_LOOKUP && address_admissible(rs, host, &v, &q->addr) !=
						reference_admissible(p, host, &a, &q->addr)) {
		show(p, q);
		fail_msg("address_admissible disagrees");
	}
}

/* explain asks what the data plane asks: the lookup, the connection, the name inside. */
static bool reference_explains(const struct policy *p, const struct host_prefixes *host,
			       const struct explain_target *t)
{
	struct destination d = {.name = t->has_name ? &t->name : NULL,
				.addr = t->has_addr ? &t->addr : NULL,
				.port = t->port,
				.proto = t->proto,
				.method = t->method[0] ? t->method : NULL,
				.path = t->path[0] ? t->path : NULL};
	struct answer a;

	d.kind = DEST_LOOKUP;
	if (d.name && !reference_decide(p, host, &d).allow)
		return false;
	d.kind = DEST_CONNECT;
	a = reference_decide(p, host, &d);
	d.kind = DEST_SERVER_NAME;
	if (a.allow && a.check_name && d.name && (d.port != 80 || d.method))
		a = reference_decide(p, host, &d);
	return a.allow;
}

static void compare_explanation(const struct policy *p, const struct ruleset *rs,
				const struct host_prefixes *host, const struct question *q)
{
	struct explain_target t = {.has_name = q->d.name,
				   .has_addr = q->d.addr,
				   .name = q->name,
				   .addr = q->addr,
				   .port = q->d.port,
				   .proto = q->d.proto};
	struct explanation x;

	if (q->d.kind == DEST_LOOKUP)
		t.proto = PROTO_TCP;
	if (q->d.method)
		snprintf(t.method, sizeof(t.method), "%s", q->d.method);
	if (q->d.path)
		snprintf(t.path, sizeof(t.path), "%s", q->d.path);
	explain_decide(rs, host, &(struct remedy_for){0}, &t, &x);
	if (x.verdict.allow == reference_explains(p, host, &t))
		return;
	show(p, q);
	fail_msg("explain says %s", x.verdict.allow ? "allow" : "deny");
}

static void assert_survives(const struct policy *p, const char *text, enum policy_syntax syntax)
{
	struct policy again;
	struct err e;
	char *printed;

	if (policy_parse(span_of_string(text), syntax, "printed", &again, &e))
		fail_msg("%s\n%s", text, e.text);
	printed = policy_print_json(&again);
	assert_string_equal(printed, text);
	assert_int_equal(again.n_rules, p->n_rules);
	free(printed);
	policy_free(&again);
}

static void test_all_agree(void **state)
{
	static struct host_prefixes host;
	unsigned asked = 0;

	for (unsigned i = 0; i < POLICIES; i++) {
		struct policy p;
		struct ruleset *rs;
		struct err e;
		char *text;

		make_policy(&p);
		rs = ruleset_compile(&p, i, &e);
		if (!rs)
			fail_msg("%s", e.text);
		make_host(&host);
		for (unsigned k = 0; k < DESTINATIONS; k++, asked++) {
			struct question q;

			make_question(&q);
			compare_decision(&p, rs, &host, &q);
			compare_explanation(&p, rs, &host, &q);
		}
		text = policy_print_json(&p);
		assert_survives(&p, text, POLICY_JSON);
		assert_survives(&p, text, POLICY_YAML);
		free(text);
		ruleset_free(rs);
		policy_free(&p);
	}
	assert_true(asked >= 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_agree)};
	const char *given = getenv("SANDGATE_SEED");

	seed = given ? strtoull(given, NULL, 10) | 1 : 0x2545f4914f6cdd1d;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
