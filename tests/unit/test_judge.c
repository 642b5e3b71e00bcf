/* SPDX-License-Identifier: Apache-2.0 */
/* judge: an address, the names that the gate bound to it, and the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/judge.h"
#include "gate/names.h"

static struct gate gate;
static struct host_prefixes host;

static struct addr address(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

static struct name name(const char *text)
{
	struct name n;

	assert_int_equal(name_parse_ascii(text, strlen(text), &n), NAME_OK);
	return n;
}

static void begin_with(const struct policy *p)
{
	struct err e;

	gate = (struct gate){.loop = loop_new(8), .names = names_new(), .host = &host};
	gate.rules = ruleset_compile(p, 1, &e);
	gate.gate_v4 = address("192.0.0.1");
	gate.gate_v6 = address("fd73:616e:6467:1::1");
	gate.sandbox_v6 = (struct prefix){.addr = address("fd73:616e:6467:1::2"), .bits = 128};
	assert_non_null(gate.rules);
}

/* A gate under a policy, as a file has it. */
static void begin_file(const char *yaml)
{
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "f", &p, &e))
		fail_msg("%s", e.text);
	begin_with(&p);
	policy_free(&p);
}

/* The same, as the command line spells it. */
static void begin(const char *net, const char *const *allow, const char *const *deny)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	if (policy_set_network(&p, net, &e) != 0)
		fail_msg("%s", e.text);
	for (; allow && *allow; allow++)
		if (policy_add_item(&p, NULL, EFFECT_ALLOW, *allow, &e) != 0)
			fail_msg("%s", e.text);
	for (; deny && *deny; deny++)
		if (policy_add_item(&p, NULL, EFFECT_DENY, *deny, &e) != 0)
			fail_msg("%s", e.text);
	begin_with(&p);
	policy_free(&p);
}

static int end(void **state)
{
	ruleset_free(gate.rules);
	names_free(gate.names);
	loop_free(gate.loop);
	return 0;
}

static void bind_name(const char *n, const char *a)
{
	struct name owner = name(n);
	struct addr at = address(a);

	names_bind(gate.names, &owner, addr_is_v4(&at) ? NAMES_A : NAMES_AAAA, &at, 1, 60,
		   NAMES_SHOWN, loop_now(gate.loop));
}

static struct judged judge(const char *a, uint16_t port, enum proto proto)
{
	struct endpoint to = {.addr = address(a), .port = port};
	struct judged j;

	judge_destination(&gate, &to, proto, &j);
	return j;
}

static const char *const allow_db[] = {"db.example.com:5432", NULL};
static const char *const deny_db[] = {"db.example.com:5432", NULL};

static void an_address_needs_a_name_that_was_looked_up(void **state)
{
	begin("deny", allow_db, NULL);
	assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_REFUSED);
	bind_name("db.example.com", "93.184.0.1");
	assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_FORWARD);
	assert_int_equal(judge("93.184.0.2", 5432, PROTO_TCP).kind, JUDGED_REFUSED);
	assert_int_equal(judge("93.184.0.1", 5433, PROTO_TCP).verdict.reason,
			 REASON_PORT_NOT_ALLOWED);
}

/* A deny of a name counts where its address alone would pass: under open, any, and by address. */
static void a_denied_name_is_refused_at_its_address(void **state)
{
	static const char *const bases[] = {"open", "any"};

	for (size_t i = 0; i < 2; i++) {
		begin(bases[i], NULL, deny_db);
		assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_FORWARD);
		bind_name("db.example.com", "93.184.0.1");
		assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_REFUSED);
		assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).verdict.reason,
				 REASON_DENIED_BY_RULE);
		assert_int_equal(judge("93.184.0.1", 5433, PROTO_TCP).kind, JUDGED_FORWARD);
		if (i == 0)
			end(NULL);
	}
}

static void a_denied_name_is_refused_though_its_address_is_listed(void **state)
{
	static const char *const allow[] = {"93.184.0.1", NULL};

	begin("deny", allow, deny_db);
	bind_name("db.example.com", "93.184.0.1");
	assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_REFUSED);
	assert_int_equal(judge("93.184.0.1", 22, PROTO_TCP).kind, JUDGED_FORWARD);
}

/* Listing an address admits its connections, and not the requests that are denied to its name. */
static void denied_requests_are_looked_for_at_a_listed_address(void **state)
{
	struct endpoint to = {.addr = address("93.184.0.1"), .port = 80};
	struct name right = name("a.example.com");

	begin_file("network: deny\n"
		   "allow: [93.184.0.1]\n"
		   "deny: [{host: a.example.com, ports: [80], methods: [POST]}]\n");
	assert_false(judge("93.184.0.1", 80, PROTO_TCP).verdict.check_name);
	bind_name("a.example.com", "93.184.0.1");
	assert_int_equal(judge("93.184.0.1", 80, PROTO_TCP).kind, JUDGED_FORWARD);
	assert_true(judge("93.184.0.1", 80, PROTO_TCP).verdict.check_name);
	assert_false(judge("93.184.0.1", 22, PROTO_TCP).verdict.check_name);
	assert_true(judge_server_name(&gate, &to, PROTO_TCP, &right, "GET", "/").allow);
	assert_int_equal(judge_server_name(&gate, &to, PROTO_TCP, &right, "POST", "/").reason,
			 REASON_DENIED_BY_RULE);
}

/* What is encrypted DNS stays so at whatever port, also where the base admits every address. */
static void a_resolver_is_refused_by_its_name_at_any_port(void **state)
{
	begin_file("{network: open, allow: [dns.google]}");
	assert_int_equal(judge("8.8.8.8", 8443, PROTO_TCP).kind, JUDGED_FORWARD);
	bind_name("dns.google", "8.8.8.8");
	assert_int_equal(judge("8.8.8.8", 8443, PROTO_TCP).verdict.reason, REASON_ENCRYPTED_DNS);
	assert_int_equal(judge("8.8.8.8", 443, PROTO_TCP).kind, JUDGED_FORWARD);
}

/* A deny of a name's TCP 443 is held inside QUIC; one of UDP is seen there at all. */
static void a_deny_is_held_inside_quic(void **state)
{
	static const char *const denied[] = {"'a.example.com:443'", "'a.example.com:443/udp'",
					     "a.example.com"};
	struct endpoint to = {.addr = address("93.184.0.1"), .port = 443};
	struct name wrong = name("a.example.com"), right = name("b.example.com");
	char text[128];

	for (size_t i = 0; i < sg_array_len(denied); i++) {
		snprintf(text, sizeof(text), "{network: open, quic: allow, deny: [%s]}", denied[i]);
		begin_file(text);
		assert_int_equal(judge("93.184.0.1", 443, PROTO_UDP).kind, JUDGED_FORWARD);
		assert_true(judge_server_name(&gate, &to, PROTO_UDP, &right, NULL, NULL).allow);
		assert_int_equal(
			judge_server_name(&gate, &to, PROTO_UDP, &wrong, NULL, NULL).reason,
			REASON_DENIED_BY_RULE);
		if (i + 1 < sg_array_len(denied))
			end(NULL);
	}
}

/* Two names on one address of a CDN: the allowed one is reached, whatever the other's fate. */
static void one_allowed_name_of_an_address_is_enough(void **state)
{
	static const char *const deny[] = {"ads.example.net:5432", NULL};

	begin("deny", allow_db, deny);
	bind_name("db.example.com", "93.184.0.1");
	bind_name("ads.example.net", "93.184.0.1");
	assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_FORWARD);
	assert_string_equal(judge("93.184.0.1", 5432, PROTO_TCP).name.s, "db.example.com");
}

static void a_denied_address_stands_whatever_its_names(void **state)
{
	static const char *const deny[] = {"93.184.0.0/24", NULL};

	begin("deny", allow_db, deny);
	bind_name("db.example.com", "93.184.0.1");
	assert_int_equal(judge("93.184.0.1", 5432, PROTO_TCP).kind, JUDGED_REFUSED);
}

static void a_web_port_by_name_is_judged_again_inside(void **state)
{
	static const char *const allow[] = {"www.example.com", NULL};
	struct endpoint to = {.addr = address("93.184.0.1"), .port = 443};
	struct name right = name("www.example.com"), other = name("evil.example.net");

	begin("deny", allow, NULL);
	bind_name("www.example.com", "93.184.0.1");
	assert_true(judge("93.184.0.1", 443, PROTO_TCP).verdict.check_name);
	assert_true(judge_server_name(&gate, &to, PROTO_TCP, &right, NULL, NULL).allow);
	assert_false(judge_server_name(&gate, &to, PROTO_TCP, &other, NULL, NULL).allow);
	to.addr = address("93.184.0.2");
	assert_int_equal(judge_server_name(&gate, &to, PROTO_TCP, &right, NULL, NULL).reason,
			 REASON_SNI_MISMATCH);
}

static void dns_is_answered_wherever_it_is_sent(void **state)
{
	begin("deny", NULL, NULL);
	assert_int_equal(judge("8.8.8.8", 53, PROTO_UDP).kind, JUDGED_DNS);
	assert_int_equal(judge("8.8.8.8", 53, PROTO_TCP).kind, JUDGED_DNS);
	assert_int_equal(judge("8.8.8.8", 853, PROTO_TCP).kind, JUDGED_REFUSED);
}

/* What the host runs on its loopback is reached by its listed port only, by TCP only. */
static void the_gates_own_address_leads_to_listed_host_ports(void **state)
{
	begin("any", NULL, NULL);
	assert_int_equal(judge("192.0.0.1", 5432, PROTO_TCP).kind, JUDGED_REFUSED);
	assert_int_equal(judge("192.0.0.1", 5432, PROTO_TCP).verdict.reason,
			 REASON_PORT_NOT_ALLOWED);
	assert_int_equal(judge("fd73:616e:6467:1::1", 123, PROTO_UDP).kind, JUDGED_REFUSED);
}

/* --- synthetic addresses: the names' real ones are dialled --- */

static void begin_synthetic(const char *net, const char *const *allow)
{
	struct policy p;
	struct err e;

	begin(net, allow, NULL);
	ruleset_free(gate.rules);
	policy_init(&p);
	assert_int_equal(policy_set_network(&p, net, &e), 0);
	for (; allow && *allow; allow++)
		assert_int_equal(policy_add_item(&p, NULL, EFFECT_ALLOW, *allow, &e), 0);
	p.dns_answers = DNS_ANSWERS_SYNTHETIC;
	gate.rules = ruleset_compile(&p, 1, &e);
	assert_non_null(gate.rules);
	policy_free(&p);
}

/* What a connection to the synthetic address of www.example.com, with these real ones, is. */
static struct judged judge_synthetic(const char *const *real, uint16_t port)
{
	struct name www = name("www.example.com");
	struct endpoint to = {.port = port};
	struct addr at[4];
	struct judged j;
	size_t n = 0;

	for (; real[n]; n++)
		at[n] = address(real[n]);
	names_bind(gate.names, &www, addr_is_v4(&at[0]) ? NAMES_A : NAMES_AAAA, at, n, 60,
		   NAMES_FOR_DIAL, loop_now(gate.loop));
	to.addr = names_synthetic(gate.names, &www, true, loop_now(gate.loop));
	judge_destination(&gate, &to, PROTO_TCP, &j);
	return j;
}

/* `any` forwards private addresses too; the host's loopback is not one. */
static void a_name_of_loopback_does_not_lead_to_the_hosts(void **state)
{
	static const char *const inward[] = {"127.0.0.1", "0.0.0.0", "127.9.9.9", NULL};
	static const char *const inward_v6[] = {"::1", "::", NULL};
	static const char *const mixed[] = {"127.0.0.1", "10.1.2.3", NULL};
	struct judged j;

	begin_synthetic("any", NULL);
	j = judge_synthetic(inward, 5432);
	assert_int_equal(j.kind, JUDGED_REFUSED);
	assert_int_equal(j.verdict.reason, REASON_SPECIAL_ADDRESS);
	j = judge_synthetic(mixed, 5432);
	assert_int_equal(j.kind, JUDGED_FORWARD);
	assert_int_equal(j.n_dial, 1);
	end(NULL);
	begin_synthetic("any", NULL);
	assert_int_equal(judge_synthetic(inward_v6, 5432).kind, JUDGED_REFUSED);
}

/*
 * An address that is listed by itself is not looked into, one that is admitted by its name is: a
 * first one that does not answer must not open the way to the second unseen.
 */
static void the_addresses_of_a_dial_are_looked_into_alike(void **state)
{
	static const char *const allow[] = {"www.example.com", "93.184.0.1", NULL};
	static const char *const listed_first[] = {"93.184.0.1", "93.184.0.2", NULL};
	static const char *const listed_last[] = {"93.184.0.2", "93.184.0.3", "93.184.0.1", NULL};
	struct judged j;

	begin_synthetic("deny", allow);
	j = judge_synthetic(listed_first, 443);
	assert_false(j.verdict.check_name);
	assert_int_equal(j.n_dial, 1);
	end(NULL);
	begin_synthetic("deny", allow);
	j = judge_synthetic(listed_last, 443);
	assert_true(j.verdict.check_name);
	assert_int_equal(j.n_dial, 2);
}

/* The host takes an address that flows go to: it is its own from then on. */
static void a_flow_ends_when_its_address_becomes_the_hosts(void **state)
{
	struct endpoint to = {.addr = address("93.184.0.1"), .port = 5432};
	struct name db = name("db.example.com");
	struct admitted a = {.dst = &to, .dialled = &to.addr, .proto = PROTO_TCP, .name = &db};

	begin("deny", allow_db, NULL);
	assert_true(judge_again(&gate, &a).allow);
	host.n = 1;
	assert_true(prefix_parse("93.184.0.0/24", 13, &host.prefix[0]));
	assert_int_equal(judge_again(&gate, &a).reason, REASON_SPECIAL_ADDRESS);
	host.n = 0;
}

/* --- the proxy port --- */

static struct judged judge_proxied(const char *a, uint16_t port)
{
	struct endpoint to = {.addr = address(a), .port = port};
	struct judged j;

	judge_proxied_address(&gate, &to, &j);
	return j;
}

static struct judged judge_proxied_as(const char *n, const char *a, uint16_t port)
{
	struct name asked = name(n);
	struct addr at = address(a);
	struct judged j;

	judge_proxied_name(&gate, &asked, &at, 1, port, &j);
	return j;
}

static void the_gates_own_ports(void **state)
{
	begin_file("network: deny\nhost_ports: [1080, 8080]\n");
	assert_int_equal(judge("192.0.0.1", 3128, PROTO_TCP).kind, JUDGED_PROXY);
	assert_int_equal(judge("fd73:616e:6467:1::1", 3128, PROTO_TCP).kind, JUDGED_PROXY);
	/* A listed port of the host is reached in the place of the proxy port ... */
	assert_int_equal(judge("192.0.0.1", 1080, PROTO_TCP).kind, JUDGED_FORWARD);
	assert_int_equal(judge("192.0.0.1", 8080, PROTO_TCP).kind, JUDGED_FORWARD);
	assert_int_equal(judge("192.0.0.1", 3128, PROTO_UDP).kind, JUDGED_REFUSED);
	assert_int_equal(judge("192.0.0.1", 3129, PROTO_TCP).kind, JUDGED_REFUSED);
	assert_int_equal(judge("192.0.0.2", 3128, PROTO_TCP).kind, JUDGED_REFUSED);
	end(NULL);
	/* ... but not where that is the only way. */
	begin_file("network: brokered\nhost_ports: [1080, 8080]\n");
	assert_int_equal(judge("192.0.0.1", 1080, PROTO_TCP).kind, JUDGED_PROXY);
	assert_int_equal(judge("192.0.0.1", 8080, PROTO_TCP).kind, JUDGED_FORWARD);
	end(NULL);
	begin("none", NULL, NULL);
	assert_int_equal(judge("192.0.0.1", 3128, PROTO_TCP).verdict.reason, REASON_NETWORK_NONE);
}

/* Under `any` everything else would be forwarded. */
static void no_proxy_leads_inward(void **state)
{
	static const char *const own[] = {
		"127.0.0.1", "127.9.9.9", "::1",       "::",
		"0.0.0.0",   "192.0.0.2", "192.0.0.1", "fd73:616e:6467:1::1"};

	begin("any", NULL, NULL);
	gate.sandbox_v4 = address("192.0.0.2");
	for (size_t i = 0; i < sg_array_len(own); i++) {
		assert_int_equal(judge_proxied(own[i], 9090).kind, JUDGED_REFUSED);
		assert_int_equal(judge_proxied(own[i], 3128).kind, JUDGED_REFUSED);
	}
	assert_int_equal(judge_proxied_as("x.example.com", "127.0.0.1", 80).verdict.reason,
			 REASON_SPECIAL_ADDRESS);
	/* Dialled it would be answered by the gate. */
	assert_int_equal(judge_proxied("93.184.0.1", 53).verdict.reason, REASON_PORT_NOT_ALLOWED);
	assert_int_equal(judge_proxied_as("x.example.com", "93.184.0.1", 53).kind, JUDGED_REFUSED);
	assert_int_equal(judge_proxied("93.184.0.1", 54).kind, JUDGED_FORWARD);
}

static void brokered_admits_by_proxy_alone(void **state)
{
	static const char *const allow[] = {"api.example.com", "10.1.2.3", NULL};
	struct endpoint to = {.addr = address("93.184.0.1"), .port = 443};
	struct name api = name("api.example.com"), other = name("other.example.com");
	struct admitted a = {.dst = &to,
			     .dialled = &to.addr,
			     .proto = PROTO_TCP,
			     .name = &api,
			     .inside = true,
			     .by_proxy = true};
	struct judged j;

	begin("brokered", allow, NULL);
	bind_name("api.example.com", "93.184.0.1");
	assert_int_equal(judge("93.184.0.1", 443, PROTO_TCP).verdict.reason, REASON_PROXY_ONLY);
	assert_int_equal(judge("10.1.2.3", 22, PROTO_TCP).verdict.reason, REASON_PROXY_ONLY);
	assert_int_equal(judge_proxied("10.1.2.3", 22).kind, JUDGED_FORWARD);
	j = judge_proxied_as("api.example.com", "93.184.0.1", 443);
	assert_int_equal(j.kind, JUDGED_FORWARD);
	assert_true(j.verdict.check_name);
	assert_true(judge_proxied_server_name(&gate, &to, &api, NULL, NULL).allow);
	assert_false(judge_server_name(&gate, &to, PROTO_TCP, &api, NULL, NULL).allow);
	assert_false(judge_proxied_server_name(&gate, &to, &other, NULL, NULL).allow);
	assert_true(judge_again(&gate, &a).allow);
	a.by_proxy = false;
	assert_int_equal(judge_again(&gate, &a).reason, REASON_PROXY_ONLY);
	/* What was not looked into, and would have to be now. */
	a.by_proxy = true;
	a.inside = false;
	assert_int_equal(judge_again(&gate, &a).reason, REASON_NO_SERVER_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_address_needs_a_name_that_was_looked_up, end),
		cmocka_unit_test_teardown(a_denied_name_is_refused_at_its_address, end),
		cmocka_unit_test_teardown(a_denied_name_is_refused_though_its_address_is_listed,
					  end),
		cmocka_unit_test_teardown(denied_requests_are_looked_for_at_a_listed_address, end),
		cmocka_unit_test_teardown(a_resolver_is_refused_by_its_name_at_any_port, end),
		cmocka_unit_test_teardown(a_deny_is_held_inside_quic, end),
		cmocka_unit_test_teardown(one_allowed_name_of_an_address_is_enough, end),
		cmocka_unit_test_teardown(a_denied_address_stands_whatever_its_names, end),
		cmocka_unit_test_teardown(a_web_port_by_name_is_judged_again_inside, end),
		cmocka_unit_test_teardown(dns_is_answered_wherever_it_is_sent, end),
		cmocka_unit_test_teardown(a_flow_ends_when_its_address_becomes_the_hosts, end),
		cmocka_unit_test_teardown(the_gates_own_address_leads_to_listed_host_ports, end),
		cmocka_unit_test_teardown(a_name_of_loopback_does_not_lead_to_the_hosts, end),
		cmocka_unit_test_teardown(the_addresses_of_a_dial_are_looked_into_alike, end),
		cmocka_unit_test_teardown(the_gates_own_ports, end),
		cmocka_unit_test_teardown(no_proxy_leads_inward, end),
		cmocka_unit_test_teardown(brokered_admits_by_proxy_alone, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
