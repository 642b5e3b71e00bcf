/* SPDX-License-Identifier: Apache-2.0 */
/* learn, and what shows its result: a policy as YAML, a unified diff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/address.h"
#include "policy/change.h"
#include "policy/diff.h"
#include "policy/learn.h"
#include "policy/print_yaml.h"
#include "policy/suffix.h"

#define ITEMS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct policy_sources sources_with(const struct organisation *o)
{
	return (struct policy_sources){.catalogue = catalogue_builtin(),
				       .organisation = o,
				       .agent = catalogue_agent(catalogue_builtin(), "claude")};
}

static struct policy policy_of(enum network_base base, const char *const *allow,
			       const char *const *deny)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = base;
	for (; allow && *allow; allow++)
		if (policy_add_item(&p, catalogue_builtin(), EFFECT_ALLOW, *allow, &e))
			fail_msg("%s: %s", *allow, e.text);
	for (; deny && *deny; deny++)
		if (policy_add_item(&p, catalogue_builtin(), EFFECT_DENY, *deny, &e))
			fail_msg("%s: %s", *deny, e.text);
	return p;
}

/* "NAME[@ADDRESS]" or "@ADDRESS"; port 0 over TCP is a lookup. */
static struct seen seen(const char *target, enum proto proto, uint16_t port, enum reason reason)
{
	struct seen s = {.proto = proto, .port = port, .reason = reason, .count = 1};
	const char *at = strchr(target, '@');
	size_t n = at ? (size_t)(at - target) : strlen(target);

	s.lookup = proto == PROTO_TCP && port == 0;
	if (n) {
		assert_int_equal(name_parse_ascii(target, n, &s.name), NAME_OK);
		s.has_name = true;
	}
	if (at) {
		assert_true(addr_parse(at + 1, strlen(at + 1), &s.addr));
		s.has_addr = true;
	}
	return s;
}

#define REFUSED(target, port)  seen(target, PROTO_TCP, port, REASON_NOT_IN_POLICY)
#define ADMITTED(target, port) seen(target, PROTO_TCP, port, REASON_NONE)
#define LOOKUP(target)	       seen(target, PROTO_TCP, 0, REASON_NOT_IN_POLICY)

static void assert_learned_with(struct policy *in_force, const struct organisation *o,
				const struct seen *s, size_t n, const char *yaml, struct learned *l)
{
	struct policy_sources sources = sources_with(o);
	struct err e;
	char *text;

	if (learn_policy(in_force, &sources, s, n, l, &e))
		fail_msg("%s", e.text);
	text = policy_print_yaml(&l->policy);
	assert_string_equal(text, yaml);
	free(text);
	policy_free(in_force);
}

static void assert_learned(struct policy in_force, const struct seen *s, size_t n, const char *yaml)
{
	struct learned l;

	assert_learned_with(&in_force, NULL, s, n, yaml, &l);
	assert_int_equal(l.n_left, 0);
	learned_free(&l);
}

/* One thing is left out, for a reason that has this in it, and nothing is allowed. */
static void assert_left_out(struct policy in_force, struct seen s, const char *why)
{
	struct learned l;

	assert_learned_with(&in_force, NULL, &s, 1, "network: deny\n", &l);
	assert_int_equal(l.n_left, 1);
	if (!strstr(l.left[0].why, why))
		fail_msg("\"%s\" is not why: %s", why, l.left[0].why);
	learned_free(&l);
}

static struct seen requested(const char *target, const char *permission, enum reason reason)
{
	struct seen s = seen(target, PROTO_TCP, 443, reason);

	snprintf(s.permission, sizeof(s.permission), "%s", permission);
	return s;
}

/* What was asked for is learned as the permission that is for it, and as nothing wider. */
static void a_request_becomes_its_permission(void **state)
{
	const struct seen reads[] = {
		ADMITTED("github.com@140.82.121.3", 443),
		requested("github.com@140.82.121.3", "github", REASON_NONE),
		requested("codeload.github.com", "github", REASON_NONE),
	};
	const struct seen pushes[] = {
		ADMITTED("github.com@140.82.121.3", 443),
		requested("github.com@140.82.121.3", "github", REASON_NONE),
		requested("github.com@140.82.121.3", "github:push", REASON_NONE),
	};
	/* one that is on, of its kind, where another permission has the host as well */
	const struct seen audited[] = {
		requested("registry.yarnpkg.com", "install:node", REASON_OPERATION_NOT_ALLOWED)};

	assert_learned(policy_of(NET_DENY, ITEMS("github"), NULL), reads, sg_array_len(reads),
		       "network: deny\npermissions:\n  - github\n");
	assert_learned(policy_of(NET_DENY, ITEMS("github:push"), NULL), pushes,
		       sg_array_len(pushes), "network: deny\npermissions:\n  - github:push\n");
	assert_learned(policy_of(NET_DENY, ITEMS("update"), NULL), audited, sg_array_len(audited),
		       "network: deny\npermissions:\n  - install:node\n");
}

/* A write is a person's to allow, and a host is not opened whole for one request. */
static void a_refused_write_is_left_out(void **state)
{
	const struct seen s[] = {
		ADMITTED("github.com@140.82.121.3", 443),
		requested("github.com@140.82.121.3", "github:push", REASON_OPERATION_NOT_ALLOWED)};
	struct policy github = policy_of(NET_DENY, ITEMS("github"), NULL);
	struct learned l;

	assert_left_out(policy_of(NET_DENY, ITEMS("github"), NULL), s[1],
			"is one to switch on by name");
	assert_left_out(policy_of(NET_DENY, ITEMS("github"), NULL),
			requested("github.com", "", REASON_OPERATION_NOT_ALLOWED),
			"no permission is for that request");
	assert_left_out(policy_of(NET_DENY, ITEMS("github"), NULL),
			requested("github.com", "no:such", REASON_OPERATION_NOT_ALLOWED),
			"no permission is for that request");
	/* was admitted then, and is not on any more */
	assert_left_out(policy_of(NET_DENY, ITEMS("github"), NULL),
			requested("github.com", "github:push", REASON_NONE),
			"is one to switch on by name");
	assert_learned_with(&github, NULL, s, 2, "network: deny\npermissions:\n  - github\n", &l);
	assert_int_equal(l.n_left, 1);
	learned_free(&l);
}

static void hosts_become_exact_rules(void **state)
{
	const struct seen s[] = {
		LOOKUP("api.example.com"),
		REFUSED("db.example.com@93.184.1.1", 5432),
		REFUSED("db.example.com@93.184.1.1", 22),
		LOOKUP("db.example.com"),
		REFUSED("www.example.com", 443),
		REFUSED("@93.184.1.9", 8080),
		seen("ntp.example.com", PROTO_UDP, 123, REASON_NOT_IN_POLICY),
		seen("@93.184.1.9", PROTO_ICMP, 0, REASON_NOT_IN_POLICY),
		REFUSED("@2a00:1::1", 443),
		REFUSED("www.example.com", 443),
	};

	assert_learned(policy_of(NET_DENY, NULL, NULL), s, sg_array_len(s),
		       "network: deny\n"
		       "allow:\n"
		       "  - api.example.com\n"
		       "  - \"db.example.com:22,5432\"\n"
		       "  - ntp.example.com:123/udp\n"
		       "  - www.example.com:443\n"
		       "  - \"93.184.1.9:8080\"\n"
		       "  - \"93.184.1.9/icmp\"\n"
		       "  - \"[2a00:1::1]:443\"\n");
}

/* What was seen on just the ports that a name stands for leaves the rule as a person writes it. */
static void a_name_says_its_usual_ports(void **state)
{
	const struct seen s[] = {ADMITTED("a.example.com", 443), ADMITTED("a.example.com", 80),
				 REFUSED("b.example.com", 80),	 REFUSED("b.example.com", 443),
				 REFUSED("b.example.com", 8080), REFUSED("@93.184.1.9", 80),
				 REFUSED("@93.184.1.9", 443)};

	assert_learned(policy_of(NET_DENY, ITEMS("a.example.com"), NULL), s, sg_array_len(s),
		       "network: deny\n"
		       "allow:\n"
		       "  - a.example.com\n"
		       "  - \"b.example.com:80,443,8080\"\n"
		       "  - \"93.184.1.9:80,443\"\n");
}

/* One rule for a name on 443 is for both; where the policy refuses QUIC it is left out. */
static void quic_goes_with_its_name(void **state)
{
	const struct seen s[] = {ADMITTED("a.example.com", 443),
				 seen("a.example.com", PROTO_UDP, 443, REASON_NONE),
				 seen("b.example.com", PROTO_UDP, 443, REASON_NONE)};
	struct policy p = policy_of(NET_OPEN, NULL, NULL);

	p.quic_allow = true;
	assert_learned(p, s, sg_array_len(s),
		       "network: deny\nallow:\n  - a.example.com:443\n  - b.example.com:443\n"
		       "quic: allow\n");
	assert_left_out(policy_of(NET_DENY, NULL, NULL),
			seen("a.example.com", PROTO_UDP, 443, REASON_QUIC_REFUSED), "QUIC");
}

static void permissions_stand_where_they_cover(void **state)
{
	const struct seen s[] = {
		LOOKUP("pypi.org"),	   REFUSED("files.pythonhosted.org", 443),
		LOOKUP("github.com"),	   REFUSED("codeload.github.com", 443),
		LOOKUP("api.example.com"), LOOKUP("api.anthropic.com"),
		REFUSED("github.com", 22),
	};

	assert_learned(policy_of(NET_DENY, NULL, NULL), s, sg_array_len(s),
		       "network: deny\n"
		       "permissions:\n"
		       "  - github\n"
		       "  - install:python\n"
		       "  - model\n"
		       "allow:\n"
		       "  - api.example.com\n"
		       "  - github.com:22\n");
}

/* What nothing was seen of goes; settings and denials stay. */
static void what_was_not_used_goes(void **state)
{
	const struct seen s[] = {ADMITTED("a.example.com", 443)};
	struct policy p =
		policy_of(NET_STANDARD, ITEMS("*.example.com", "10.0.0.0/8", "install:rust"),
			  ITEMS("x.example.com"));

	p.quic_allow = true;
	assert_learned(p, s, 1,
		       "network: deny\n"
		       "allow:\n"
		       "  - a.example.com:443\n"
		       "deny:\n"
		       "  - x.example.com\n"
		       "quic: allow\n");
}

/* What a person listed already is no new grant, however special it is. */
static void what_is_in_force_already_may_stay(void **state)
{
	const struct seen s[] = {ADMITTED("@10.1.2.3", 5432),
				 ADMITTED("db.corp.example@10.1.2.4", 5432),
				 ADMITTED("wiki.corp.example@10.1.2.5", 443),
				 ADMITTED("host.sandgate.internal", 11434)};
	struct policy p = policy_of(NET_DENY, ITEMS("10.0.0.0/8:5432", "*.corp.example"), NULL);

	p.rules[1].private_ok = true;
	p.host_ports = malloc(2 * sizeof(*p.host_ports));
	p.host_ports[0] = 11434;
	p.host_ports[1] = 8080;
	p.n_host_ports = 2;
	assert_learned(
		p, s, sg_array_len(s),
		"network: deny\n"
		"allow:\n"
		"  - {\"host\": \"wiki.corp.example\", \"ports\": \"443\", \"private\": true}\n"
		"  - \"10.1.2.3:5432\"\n"
		"  - \"10.1.2.4:5432\"\n"
		"host_ports:\n"
		"  - 11434\n");
}

static void a_personal_switch_stays_while_it_is_used(void **state)
{
	const struct seen s[] = {ADMITTED("github.com", 443)};
	struct learned l;
	struct policy p = policy_of(NET_DENY, ITEMS("github:as-you"), NULL);

	assert_learned_with(&p, NULL, s, 1, "network: deny\npermissions:\n  - github:as-you\n", &l);
	learned_free(&l);
}

static void what_needs_a_look_is_left_out(void **state)
{
	static const char special[] = "private, loopback";

	assert_left_out(policy_of(NET_DENY, NULL, NULL), REFUSED("@10.0.0.1", 22), special);
	assert_left_out(policy_of(NET_DENY, NULL, NULL), REFUSED("@169.254.169.254", 80), special);
	assert_left_out(policy_of(NET_DENY, NULL, NULL), REFUSED("db.example.com@192.168.1.1", 443),
			special);
	assert_left_out(policy_of(NET_DENY, NULL, NULL), REFUSED("@fd00:ec2::254", 80), special);
	assert_left_out(policy_of(NET_ANY, NULL, NULL),
			seen("@10.0.0.1", PROTO_TCP, 22, REASON_LIMIT_RATE), "too many");
	assert_left_out(policy_of(NET_DENY, NULL, NULL),
			seen("a.example.com", PROTO_TCP, 443, REASON_DENIED_BY_RULE), "denies it");
	assert_left_out(policy_of(NET_DENY, NULL, NULL), LOOKUP("dns.google"), "encrypted DNS");
	assert_left_out(policy_of(NET_DENY, NULL, NULL),
			seen("a.example.com", PROTO_TCP, 443, REASON_NOT_TLS), "unchecked");
	assert_left_out(policy_of(NET_DENY, NULL, NULL),
			seen("host.sandgate.internal", PROTO_TCP, 80, REASON_PORT_NOT_ALLOWED),
			"--host-port");
	assert_left_out(policy_of(NET_DENY, NULL, NULL), (struct seen){.count = 1},
			"no destination");
}

/* Names by which no credential goes and nothing is published by itself. */
static void what_writes_is_never_proposed(void **state)
{
	const struct seen s[] = {LOOKUP("upload.pypi.org"), LOOKUP("uploads.github.com")};

	assert_learned(policy_of(NET_DENY, NULL, NULL), s, sg_array_len(s),
		       "network: deny\nallow:\n  - upload.pypi.org\n  - uploads.github.com\n");
}

/* The organisation's rules admit by themselves, and its denials cannot be proposed away. */
static void the_organisation_is_heard(void **state)
{
	static const char text[] =
		"{\"allow\": [\"intranet.example.com\"], \"deny\": "
		"[\"bad.example.com\"], \"permissions_removed\": [\"install:python\"]}";
	const struct seen s[] = {ADMITTED("intranet.example.com", 443), LOOKUP("bad.example.com"),
				 LOOKUP("pypi.org")};
	struct policy p = policy_of(NET_DENY, NULL, NULL);
	struct organisation o;
	struct learned l;
	struct err e;

	if (organisation_parse(span_of_string(text), "policy.json", catalogue_builtin(), &o, &e))
		fail_msg("%s", e.text);
	o.present = true;
	assert_learned_with(&p, &o, s, sg_array_len(s), "network: deny\nallow:\n  - pypi.org\n",
			    &l);
	assert_int_equal(l.n_left, 1);
	assert_string_equal(l.left[0].what.name.s, "bad.example.com");
	learned_free(&l);
	organisation_free(&o);
}

/* Many names below one domain: a person is told, and it is never a suffix that strangers share. */
static void many_names_are_a_hint(void **state)
{
	const struct seen s[] = {
		LOOKUP("a.cdn.example.com"), LOOKUP("b.cdn.example.com"), LOOKUP("c.example.com"),
		LOOKUP("d.example.com"),     LOOKUP("a.github.io"),	  LOOKUP("b.github.io"),
		LOOKUP("c.github.io"),	     LOOKUP("d.github.io"),
	};
	struct policy_sources sources = sources_with(NULL);
	struct policy p = policy_of(NET_DENY, NULL, NULL);
	struct learned l;
	struct err e;

	assert_int_equal(learn_policy(&p, &sources, s, sg_array_len(s), &l, &e), 0);
	assert_int_equal(l.n_hints, 1);
	assert_string_equal(l.hints[0].domain, "example.com");
	assert_int_equal(l.hints[0].names, 4);
	learned_free(&l);
	policy_free(&p);
}

/* ---- The property ---- */

static uint32_t random_state = 20261129;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % n;
}

static struct seen random_seen(void)
{
	static const char *const targets[] = {"a.example.com",	  "b.example.com@93.184.1.1",
					      "pypi.org",	  "files.pythonhosted.org",
					      "github.com",	  "upload.pypi.org",
					      "c.github.io",	  "db.corp.example@10.0.0.4",
					      "@93.184.7.7",	  "@10.0.0.1",
					      "@169.254.169.254", "@2a00:1::5",
					      "dns.google",	  "api.anthropic.com",
					      "x.example.com",	  "host.sandgate.internal"};
	static const uint16_t ports[] = {0, 80, 443, 22, 5432, 853};
	static const enum reason reasons[] = {REASON_NONE,	    REASON_NOT_IN_POLICY,
					      REASON_NOT_IN_POLICY, REASON_PORT_NOT_ALLOWED,
					      REASON_LIMIT_RATE,    REASON_DENIED_BY_RULE};
	const char *target = targets[random_below(sg_array_len(targets))];
	uint16_t port = ports[random_below(sg_array_len(ports))];
	enum proto proto = random_below(8) ? PROTO_TCP : PROTO_UDP;

	if (*target == '@' && port == 0)
		port = 443;
	if (proto == PROTO_UDP && port == 0)
		port = 123;
	return seen(target, proto, port, reasons[random_below(sg_array_len(reasons))]);
}

static struct policy random_policy(void)
{
	static const char *const items[] = {"*.example.com",  "10.0.0.0/8",    "github",
					    "install:python", "pypi.org",      "x.example.com:22",
					    "93.184.0.0/16",  "github:as-you", "a.example.com"};
	static const enum network_base bases[] = {NET_DENY, NET_STANDARD, NET_OPEN, NET_LOCKED};
	struct policy p = policy_of(bases[random_below(4)], NULL, NULL);
	struct err e;

	for (uint32_t n = random_below(4); n > 0; n--)
		assert_int_equal(policy_add_item(&p, catalogue_builtin(), EFFECT_ALLOW,
						 items[random_below(sg_array_len(items))], &e),
				 0);
	if (random_below(3) == 0)
		assert_int_equal(policy_add_rule(&p, EFFECT_DENY, "x.example.com", &e), 0);
	return p;
}

static bool is_admitted(const struct ruleset *rs, const struct seen *s)
{
	struct destination d = seen_destination(s);
	struct verdict v;

	decide(rs, NULL, &d, &v);
	return v.allow;
}

/* Admitted by what is in the policy for itself: a rule that is no permission's. */
static bool by_own_rule(const struct ruleset *rs, const struct seen *s)
{
	struct destination d = seen_destination(s);
	struct verdict v;

	decide(rs, NULL, &d, &v);
	return v.allow && v.rule && !(v.rule->detail && v.rule->detail->permission);
}

static bool is_left_out(const struct learned *l, const struct seen *s)
{
	for (size_t i = 0; i < l->n_left; i++) {
		const struct seen *o = &l->left[i].what;

		if (o->lookup == s->lookup && o->has_name == s->has_name && o->port == s->port &&
		    o->proto == s->proto && strcmp(o->name.s, s->name.s) == 0 &&
		    memcmp(o->addr.b, s->addr.b, sizeof(o->addr.b)) == 0)
			return true;
	}
	return false;
}

static bool was_seen(const struct seen *s, size_t n, const struct seen *probe)
{
	for (size_t i = 0; i < n; i++) {
		bool same = s[i].has_name
				    ? probe->has_name && name_equal(&s[i].name, &probe->name)
				    : !probe->has_name && addr_equal(&s[i].addr, &probe->addr);
		/* A lookup alone stands for the two ports on which names are checked. */
		bool port = probe->lookup ||
			    (s[i].port == probe->port && s[i].proto == probe->proto) ||
			    (s[i].lookup && probe->proto == PROTO_TCP &&
			     (probe->port == 80 || probe->port == 443));
		/* QUIC goes by the name's TCP 443. */
		bool quic = s[i].proto == PROTO_UDP && s[i].port == 443 &&
			    probe->proto == PROTO_TCP && probe->port == 443;

		if (same && (port || quic))
			return true;
	}
	return false;
}

static void assert_no_wide_rule(const struct policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].effect == EFFECT_ALLOW)
			assert_true(p->rules[i].kind == TARGET_NAME ||
				    (p->rules[i].kind == TARGET_PREFIX &&
				     p->rules[i].prefix.bits == 128));
}

/*
 * What was seen is admitted or left out with a reason; what was not seen is admitted by no rule of
 * the policy's own; no rule is a wildcard or a network.
 */
static void check_round(void)
{
	struct policy_sources sources = sources_with(NULL);
	struct policy in_force = random_policy(), resolved;
	struct seen s[24];
	size_t n = random_below(sg_array_len(s));
	struct learned l;
	struct ruleset *rs;
	struct err e;

	for (size_t i = 0; i < n; i++)
		s[i] = random_seen();
	if (learn_policy(&in_force, &sources, s, n, &l, &e) ||
	    policy_copy(&l.policy, &resolved, &e) || policy_resolve(&resolved, &sources, &e))
		fail_msg("%s", e.text);
	rs = ruleset_compile(&resolved, 1, &e);
	assert_non_null(rs);
	for (size_t i = 0; i < n; i++)
		assert_true(is_admitted(rs, &s[i]) || is_left_out(&l, &s[i]));
	for (int i = 0; i < 50; i++) {
		struct seen probe = random_seen();

		if (strcmp(probe.name.s, "host.sandgate.internal") != 0 && by_own_rule(rs, &probe))
			assert_true(was_seen(s, n, &probe));
	}
	assert_no_wide_rule(&l.policy);
	ruleset_free(rs);
	policy_free(&resolved);
	policy_free(&in_force);
	learned_free(&l);
}

static void what_is_learned_admits_what_was_seen_and_no_more(void **state)
{
	for (int round = 0; round < 400; round++)
		check_round();
}

/* ---- Showing ---- */

static void yaml_parses_back(void **state)
{
	struct policy p = policy_of(NET_STANDARD,
				    ITEMS("a.example.com:22,443", "*.example.com", "10.0.0.0/8",
					  "[2001:db8::1]:443", "ntp.example.org:123/udp", "github",
					  "-error-reports", "1.example.com"),
				    ITEMS("x.example.com")),
		      back;
	char *text, *json, *again;
	struct err e;

	p.dns_off = true;
	p.limits.flows = 7;
	text = policy_print_yaml(&p);
	if (policy_parse(span_of_string(text), POLICY_YAML, "x.yaml", &back, &e))
		fail_msg("%s\n%s", e.text, text);
	json = policy_print_json(&p);
	again = policy_print_json(&back);
	assert_string_equal(json, again);
	free(text);
	free(json);
	free(again);
	policy_free(&p);
	policy_free(&back);
}

static void assert_diff(const char *from, const char *to, const char *diff)
{
	char *text = diff_unified(from, to, "a", "b");

	assert_string_equal(text, diff);
	free(text);
}

static void a_diff_is_unified(void **state)
{
	assert_diff("", "", "");
	assert_diff("x\n", "x\n", "");
	assert_diff("", "x\ny\n", "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+x\n+y\n");
	assert_diff("x\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-x\n");
	assert_diff("a\nb\nc\n", "a\nB\nc\n", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
	assert_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
		    "1\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n",
		    "--- a\n+++ b\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n"
		    "@@ -10,3 +9,4 @@\n 10\n 11\n 12\n+13\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_becomes_its_permission),
		cmocka_unit_test(a_refused_write_is_left_out),
		cmocka_unit_test(hosts_become_exact_rules),
		cmocka_unit_test(a_name_says_its_usual_ports),
		cmocka_unit_test(quic_goes_with_its_name),
		cmocka_unit_test(permissions_stand_where_they_cover),
		cmocka_unit_test(what_was_not_used_goes),
		cmocka_unit_test(what_is_in_force_already_may_stay),
		cmocka_unit_test(a_personal_switch_stays_while_it_is_used),
		cmocka_unit_test(what_needs_a_look_is_left_out),
		cmocka_unit_test(what_writes_is_never_proposed),
		cmocka_unit_test(the_organisation_is_heard),
		cmocka_unit_test(many_names_are_a_hint),
		cmocka_unit_test(what_is_learned_admits_what_was_seen_and_no_more),
		cmocka_unit_test(yaml_parses_back),
		cmocka_unit_test(a_diff_is_unified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
