/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DNS server as a sandbox meets it: questions in, answers out, with the real policy, the real
 * resolver and an upstream on loopback. Each test is one or two lines of protocols.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gate/dns_server.h"
#include "own_clock.h"
#include "upstream.h"

static struct loop *loop;
static struct upstream upstream;
static struct resolver *resolver;
static struct names *names;
static struct refusals *refusals;
static struct gate_totals totals;
static struct journal *journal;
static struct dns_server *server;
static const struct ruleset *rules;
static struct host_prefixes host;
static bool has_ipv6;

/* --- the world outside --- */

static bool answer_svcb(const struct dns_query *q, const char *name, struct wire *w);

/* A zone in a function: what a name is tells what it has. */
static bool answer_zone(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	bool v4 = q->qtype == DNS_A, v6 = q->qtype == DNS_AAAA;
	const char *name = u->last;

	if (strncmp(name, "silent.", 7) == 0)
		return false;
	if (strncmp(name, "missing.", 8) == 0) {
		upstream_begin(w, q, DNS_NXDOMAIN, 0, 1);
		wire_soa(w, "example.com", 900, 20);
	} else if (q->qtype == DNS_HTTPS) {
		return answer_svcb(q, name, w);
	} else if (q->qtype == DNS_TXT) {
		upstream_begin(w, q, 0, 1, 0);
		upstream_put(w, DNS_TXT, 3600, "\4text", 5);
	} else if (q->qtype == DNS_MX) {
		upstream_begin(w, q, 0, 1, 0);
		upstream_put(w, DNS_MX, 3600, "\0\12\4mail\xc0\x0c", 9);
	} else if (v4 && strncmp(name, "private.", 8) == 0) {
		upstream_begin(w, q, 0, 2, 0);
		upstream_put(w, DNS_A, 60, "\x0a\0\0\5", 4);
		upstream_put(w, DNS_A, 60, "\xa9\xfe\xa9\xfe", 4);
	} else if (v4 && strncmp(name, "mixed.", 6) == 0) {
		upstream_begin(w, q, 0, 3, 0);
		upstream_put(w, DNS_A, 60, "\x7f\0\0\1", 4);
		upstream_put(w, DNS_A, 60, "\x5d\xb8\0\7", 4);
		upstream_put(w, DNS_A, 60, "\xc0\xa8\0\1", 4);
	} else if (v4 && strncmp(name, "many.", 5) == 0) {
		upstream_begin(w, q, 0, 16, 0);
		for (char i = 0; i < 16; i++)
			upstream_put(w, DNS_A, 1, (char[]){0x5d, (char)0xb8, 2, i}, 4);
	} else if (v4 && strncmp(name, "alias.", 6) == 0) {
		upstream_begin(w, q, 0, 2, 0);
		wire_alias(w, name, 60, "edge.cdn.net");
		wire_data(w, "edge.cdn.net", DNS_A, 60, "\x5d\xb8\0\x09", 4);
	} else if (v4 && strncmp(name, "loop.", 5) == 0) {
		upstream_begin(w, q, 0, 1, 0);
		wire_alias(w, name, 60, name);
	} else if (v6 && strncmp(name, "six.", 4) == 0) {
		upstream_begin(w, q, 0, 2, 0);
		upstream_put(w, DNS_AAAA, 60, "\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
		upstream_put(w, DNS_AAAA, 60, "\x26\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	} else if (v6 && strncmp(name, "mapped.", 7) == 0) {
		upstream_begin(w, q, 0, 1, 0);
		upstream_put(w, DNS_AAAA, 60, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x5d\xb8\0\1", 16);
	} else if (v4) {
		upstream_begin(w, q, 0, 1, 0);
		upstream_put(w, DNS_A, 300, "\x5d\xb8\0\1", 4);
	} else if (q->qtype == DNS_PTR) {
		upstream_begin(w, q, 0, 1, 0);
		upstream_put(w, DNS_PTR, 60, "\4host\3far\0", 10);
	} else {
		upstream_begin(w, q, 0, 0, 1);
		wire_soa(w, "example.com", 900, 20);
	}
	return true;
}

static bool answer_svcb(const struct dns_query *q, const char *name, struct wire *w)
{
	static const char full[] = "\0\1\0"
				   "\0\1\0\6\2h3\2h2"
				   "\0\4\0\4\x0a\0\0\1"
				   "\0\5\0\3ech";

	if (strncmp(name, "cdn.", 4) == 0) {
		upstream_begin(w, q, 0, 2, 0);
		upstream_put(w, DNS_HTTPS, 60, "\0\0\4edge\7example\3net\0", 20);
		upstream_put(w, DNS_HTTPS, 60, "\0\1\4evil\7example\3net\0", 20);
	} else if (strncmp(name, "plain.", 6) == 0) {
		upstream_begin(w, q, 0, 0, 0);
	} else {
		upstream_begin(w, q, 0, 1, 0);
		upstream_put(w, DNS_HTTPS, 60, full, sizeof(full) - 1);
	}
	return true;
}

/* --- the sandbox --- */

static struct wire w;
static uint8_t got[2 + 65535];
static size_t got_n;
static unsigned replies;
static struct wire_reply reply;
static struct dns_client asked_by;
static enum reason not_answered;
static struct timer guard;

static void on_reply(void *ctx, const struct dns_client *client, enum reason why,
		     struct span message)
{
	memcpy(got, message.p, message.n);
	got_n = message.n;
	asked_by = *client;
	not_answered = why;
	replies++;
	loop_stop(loop);
}

static void guard_expired(struct timer *t)
{
	loop_stop(loop);
}

/* Until one more reply came. */
static void wait_for_reply(unsigned want)
{
	guard.expired = guard_expired;
	assert_true(loop_timer_set(loop, &guard, mono_add_ms(mono_now(), 8000)));
	while (replies < want && guard.slot)
		assert_int_equal(loop_run(loop), 0);
	loop_timer_cancel(loop, &guard);
	assert_int_equal(replies, want);
}

static const struct dns_client udp = {.from = {.port = 4242}, .to = {.port = 53}};

static void send_question(const struct dns_client *client)
{
	dns_server_query(server, client, span_of(w.octets, w.b.n), loop_now(loop));
}

static void build_question(const char *name, uint16_t type, uint16_t edns_size)
{
	wire_header(&w, 0x77, 0x0100, 1, 0, 0, edns_size != 0);
	wire_question(&w, name, type);
	if (edns_size)
		wire_opt(&w, edns_size, 0, 0);
}

static void lookup(const char *name, uint16_t type)
{
	unsigned want = replies + 1;

	build_question(name, type, 1232);
	send_question(&udp);
	wait_for_reply(want);
	wire_read(span_of(got, got_n), &reply);
	assert_int_equal(reply.id, 0x77);
}

static void expect(const char *name, uint16_t type, unsigned rcode, unsigned answers)
{
	lookup(name, type);
	if (reply.rcode != rcode || reply.answers != answers)
		fail_msg("%s %u: rcode %u, %u answers", name, type, reply.rcode, reply.answers);
	/* RFC 2308: what is negative says for how long. */
	if (answers == 0 && (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN))
		assert_int_equal(reply.record[0].type, DNS_SOA);
}

static bool has_address(const char *text)
{
	for (size_t i = 0; i < reply.answers; i++) {
		const uint8_t *p = got + reply.record[i].at;
		bool v4 = reply.record[i].end - reply.record[i].at == 4;
		struct addr a = v4 ? addr_from_v4(p) : addr_from_v6(p);
		char out[ADDR_TEXT_MAX];

		if (strcmp(addr_format(&a, out), text) == 0)
			return true;
	}
	return false;
}

static void expect_address(const char *name, const char *text)
{
	expect(name, strchr(text, ':') ? DNS_AAAA : DNS_A, DNS_NOERROR, 1);
	if (!has_address(text))
		fail_msg("%s has not %s", name, text);
}

static bool is_bound(const char *name, const char *text)
{
	struct name n = wire_parse_name(name);
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return names_is_bound(names, &n, &a, loop_now(loop));
}

struct noted {
	enum reason reason;
	const char *name, *addr;
	uint64_t count;
};

static void find_noted(void *ctx, const struct refusal *what, uint64_t count)
{
	struct noted *n = ctx;
	char text[ADDR_TEXT_MAX] = "";

	if (what->addr)
		addr_format(what->addr, text);
	if (what->proto == RECORD_DNS && what->reason == n->reason &&
	    strcmp(what->name ? what->name->s : "", n->name) == 0 && strcmp(text, n->addr) == 0)
		n->count += count;
}

static unsigned noted(enum reason reason, const char *name, const char *addr)
{
	struct noted n = {reason, name, addr, 0};

	refusals_each(refusals, find_noted, &n);
	return (unsigned)n.count;
}

/* --- set-up --- */

static void set_policy(const char *yaml)
{
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "test", &p, &e) != 0)
		fail_msg("%s", e.text);
	ruleset_free((struct ruleset *)rules);
	rules = ruleset_compile(&p, 1, &e);
	assert_non_null(rules);
	policy_free(&p);
}

static int setup(void **state)
{
	struct resolver_config rc = {.timeout_ms = 1000, .tries = 2};
	static const struct remedy_for remedy = {.sandbox = "box"};
	struct dns_server_config c = {
		.remedy = &remedy,
		.rules = &rules,
		.host = &host,
		.gate_v4 = addr_from_v4((const uint8_t[]){192, 0, 0, 1}),
		.gate_v6 = {{0xfd, 0x73, [15] = 1}},
		.ipv6 = true,
		.reply = on_reply,
	};
	struct err e;

	c.loop = loop = loop_new(16);
	upstream_open(&upstream, loop, answer_zone);
	rc.servers[rc.n_servers++] = upstream.at;
	c.resolver = resolver = resolver_new(loop, &rc, &e);
	c.names = names = names_new();
	if (totals_make(&totals, &e) != 0)
		return 1;
	refusals = totals.refusals;
	c.wildcards = totals.wildcards;
	c.counters = totals.dns;
	c.journal = journal = journal_new(refusals, NULL, -1);
	host.n = 0;
	server = dns_server_new(&c);
	replies = 0;
	set_policy("network: deny\nallow: [www.example.com, six.example.com, private.example.com, "
		   "mixed.example.com, many.example.com, alias.example.com, loop.example.com, "
		   "missing.example.com, mapped.example.com, silent.example.com, cdn.example.com, "
		   "plain.example.com, edge.example.net, '*.wild.example.com']\n");
	return !server || !resolver || !names || !journal;
}

static int teardown(void **state)
{
	dns_server_free(server);
	resolver_free(resolver);
	names_free(names);
	journal_free(journal);
	totals_free(&totals);
	upstream_close(&upstream);
	loop_free(loop);
	ruleset_free((struct ruleset *)rules);
	rules = NULL;
	return 0;
}

static struct dns_counters counters(void)
{
	return *totals.dns;
}

/* --- refusals --- */

/* sbx-releases#85, OpenShell#1169, httpjail#53: a denied name never reaches the upstream. */
static void a_refused_name_stays_inside(void **state)
{
	expect("secret.attacker.example", DNS_A, DNS_REFUSED, 0);
	assert_int_equal(reply.ede, 15);
	assert_string_equal(reply.ede_text, "sandgate net allow box site:secret.attacker.example");
	expect("secret.attacker.example", DNS_TXT, DNS_REFUSED, 0);
	expect("www.example.com.attacker.example", DNS_A, DNS_REFUSED, 0);
	expect("example.com", DNS_A, DNS_REFUSED, 0);
	assert_int_equal(upstream.n_udp + upstream.n_tcp, 0);
	assert_int_equal(counters().refused, 4);
	assert_int_equal(noted(REASON_NOT_IN_POLICY, "secret.attacker.example", ""), 2);
}

/* cilium PR#6571: resolvers that stumble over REFUSED. */
static void a_refusal_can_be_nxdomain(void **state)
{
	set_policy("network: deny\ndns_refusal: nxdomain\n");
	expect("a.example.com", DNS_A, DNS_NXDOMAIN, 0);
	assert_int_equal(reply.ede, 15);
	assert_true(wire_name_is(&reply.record[0].owner, "example.com"));
	assert_int_equal(counters().refused, 1);
}

static enum reason lookup_by_proxy(const char *name)
{
	static const struct dns_client proxy = {.by_proxy = true, .tcp = true};
	unsigned want = replies + 1;

	build_question(name, DNS_A, 0);
	send_question(&proxy);
	wait_for_reply(want);
	return not_answered;
}

/*
 * What the proxy port asks is judged as asked by it, bound and limited like any other, and neither
 * noted nor counted here.
 */
static void the_proxy_port_asks_for_itself(void **state)
{
	struct name www = {0};
	struct names_answer kept;

	set_policy("network: brokered\nallow: [www.example.com, private.example.com]\n");
	expect("www.example.com", DNS_A, DNS_REFUSED, 0);
	assert_int_equal(noted(REASON_PROXY_ONLY, "www.example.com", ""), 1);
	assert_int_equal(upstream.n_udp, 0);
	assert_int_equal(lookup_by_proxy("www.example.com"), REASON_NONE);
	assert_int_equal(name_parse_ascii("www.example.com", 15, &www), NAME_OK);
	names_answer(names, &www, NAMES_A, loop_now(loop), &kept);
	assert_int_equal(kept.state, NAMES_ADDRESSES);
	assert_int_equal(lookup_by_proxy("other.example.com"), REASON_NOT_IN_POLICY);
	assert_int_equal(noted(REASON_NOT_IN_POLICY, "other.example.com", ""), 0);
	assert_int_equal(counters().refused, 1);
	assert_int_equal(counters().answered, 0);
}

static void dns_can_be_off(void **state)
{
	set_policy("network: deny\nallow: [www.example.com]\ndns: off\n");
	expect("www.example.com", DNS_A, DNS_REFUSED, 0);
	expect("localhost", DNS_A, DNS_REFUSED, 0);
	assert_int_equal(noted(REASON_DNS_OFF, "www.example.com", ""), 1);
	assert_int_equal(upstream.n_udp, 0);
}

static void what_is_no_name_is_refused(void **state)
{
	expect("1.2.3.4", DNS_A, DNS_REFUSED, 0);
	expect("0x7f.1", DNS_A, DNS_REFUSED, 0);
	expect("a b.example.com", DNS_A, DNS_REFUSED, 0);
	expect("", DNS_NS, DNS_REFUSED, 0);
	assert_int_equal(noted(REASON_MALFORMED_DNS, "", ""), 4);
}

static void malformed_messages_are_answered_as_such(void **state)
{
	build_question("www.example.com", DNS_A, 0);
	buf_put_u8(&w.b, 0);
	send_question(&udp);
	wait_for_reply(1);
	wire_read(span_of(got, got_n), &reply);
	assert_int_equal(reply.rcode, DNS_FORMERR);
	build_question("www.example.com", DNS_AXFR, 0);
	send_question(&udp);
	wait_for_reply(2);
	wire_read(span_of(got, got_n), &reply);
	assert_int_equal(reply.rcode, DNS_REFUSED);
	w.b.n = 11;
	send_question(&udp);
	assert_int_equal(replies, 2);
	assert_int_equal(noted(REASON_MALFORMED_DNS, "", ""), 2);
	assert_int_equal(noted(REASON_DNS_TYPE, "", ""), 1);
}

/* gvisor-tap-vsock#474: a search list ends quickly and is one line of the log. */
static void search_list_retries_are_one_refusal(void **state)
{
	static const char *const asked[] = {"www.example.com.a.corp.lan",
					    "www.example.com.corp.lan", "www.example.com.lan"};

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 3; i++)
			expect(asked[i], DNS_A, DNS_REFUSED, 0);
		expect("www.example.com", DNS_A, DNS_NOERROR, 1);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(noted(REASON_NOT_IN_POLICY, asked[i], ""), 1);
	assert_int_equal(noted(REASON_NOT_IN_POLICY, "a.corp.lan", ""), 2);
	assert_int_equal(noted(REASON_NOT_IN_POLICY, "lan", ""), 2);
	assert_int_equal(counters().refused, 9);
	assert_int_equal(upstream.n_udp, 1);
}

/* --- addresses --- */

static void an_address_is_bound_before_it_is_seen(void **state)
{
	assert_false(is_bound("www.example.com", "93.184.0.1"));
	expect_address("WWW.example.COM", "93.184.0.1");
	assert_true(wire_name_is(&reply.qname, "WWW.example.COM"));
	assert_true(wire_name_is(&reply.record[0].owner, "WWW.example.COM"));
	assert_int_equal(reply.record[0].ttl, 60);
	assert_true(is_bound("www.example.com", "93.184.0.1"));
	assert_int_equal(counters().answered, 1);
}

static void the_table_answers_until_the_ttl(void **state)
{
	expect_address("www.example.com", "93.184.0.1");
	expect_address("www.example.com", "93.184.0.1");
	assert_int_equal(upstream.n_udp, 1);
	expect("many.example.com", DNS_A, DNS_NOERROR, 16);
	assert_int_equal(reply.record[0].ttl, 5); /* CubeSandbox#799: a floor */
	assert_false(reply.tc);
	expect("missing.example.com", DNS_A, DNS_NXDOMAIN, 0);
	assert_true(wire_name_is(&reply.record[0].owner, "example.com"));
	expect("missing.example.com", DNS_A, DNS_NXDOMAIN, 0);
	assert_int_equal(upstream.n_udp, 3);
}

/* docker-alpine#326: no retry over TCP there. */
static void sixteen_addresses_fit_512_octets(void **state)
{
	build_question("many.example.com", DNS_A, 0);
	send_question(&udp);
	wait_for_reply(1);
	wire_read(span_of(got, got_n), &reply);
	assert_int_equal(reply.answers, 16);
	assert_false(reply.tc);
	assert_true(got_n <= 512);
}

/* cilium#31197: glibc asks A and AAAA at once, from one socket. */
static void both_families_are_answered(void **state)
{
	build_question("www.example.com", DNS_A, 0);
	send_question(&udp);
	build_question("www.example.com", DNS_AAAA, 0);
	send_question(&udp);
	wait_for_reply(2);
	expect("www.example.com", DNS_AAAA, DNS_NOERROR, 0);
}

/* e2b-dev/infra#3585: an IPv6 address without a route costs a program 250 ms. */
static void unreachable_ipv6_is_left_out(void **state)
{
	if (!has_ipv6)
		skip();
	expect_address("six.example.com", "2a00::1");
	assert_false(is_bound("six.example.com", "2600::1"));
}

static void a_chain_is_judged_by_the_asked_name(void **state)
{
	expect_address("alias.example.com", "93.184.0.9");
	assert_true(wire_name_is(&reply.record[0].owner, "alias.example.com"));
	assert_true(is_bound("alias.example.com", "93.184.0.9"));
	assert_false(is_bound("edge.cdn.net", "93.184.0.9"));
	expect("edge.cdn.net", DNS_A, DNS_REFUSED, 0);
	expect("loop.example.com", DNS_A, DNS_SERVFAIL, 0);
	assert_int_equal(counters().failed, 1);
}

/* policy.md 5 */
static void names_cannot_point_inward(void **state)
{
	expect("private.example.com", DNS_A, DNS_NOERROR, 0);
	assert_int_equal(reply.ede, 15);
	assert_string_equal(reply.ede_text,
			    "allowed name resolved to a private, loopback or link-local address");
	assert_false(is_bound("private.example.com", "10.0.0.5"));
	expect("private.example.com", DNS_A, DNS_NOERROR, 0);
	assert_int_equal(noted(REASON_SPECIAL_ADDRESS, "private.example.com", "10.0.0.5"), 2);
	expect_address("mixed.example.com", "93.184.0.7");
	assert_int_equal(noted(REASON_SPECIAL_ADDRESS, "mixed.example.com", "127.0.0.1"), 1);
	assert_false(is_bound("mixed.example.com", "192.168.0.1"));
	if (has_ipv6)
		expect("mapped.example.com", DNS_AAAA, DNS_NOERROR, 0);
}

static void a_private_name_may_when_it_says_so(void **state)
{
	set_policy("network: deny\nallow:\n  - {host: private.example.com, private: true}\n");
	expect("private.example.com", DNS_A, DNS_NOERROR, 1);
	assert_true(has_address("10.0.0.5")); /* and never the metadata address */
}

static void the_host_itself_is_inward(void **state)
{
	host.n = 1;
	assert_true(prefix_parse("93.184.0.0/24", 13, &host.prefix[0]));
	expect("www.example.com", DNS_A, DNS_NOERROR, 0);
	host.n = 0;
	expect_address("www.example.com", "93.184.0.1");
	host.n = 1; /* a kept answer is vetted anew */
	expect("www.example.com", DNS_A, DNS_NOERROR, 0);
	host.n = 0;
}

static void the_hosts_file_comes_first(void **state)
{
	struct host_name hosts[] = {
		{wire_parse_name("www.example.com"),
		 addr_from_v4((const uint8_t[]){93, 184, 9, 9})},
		{wire_parse_name("private.example.com"),
		 addr_from_v4((const uint8_t[]){10, 1, 1, 1})},
	};
	struct resolver_config c = {
		.n_servers = 1, .servers = {upstream.at}, .n_hosts = 2, .hosts = hosts};

	assert_int_equal(resolver_configure(resolver, &c), 0);
	expect_address("www.example.com", "93.184.9.9");
	expect("www.example.com", DNS_AAAA, DNS_NOERROR, 0);
	expect("private.example.com", DNS_A, DNS_NOERROR, 0);
	assert_int_equal(upstream.n_udp, 0);
}

static void synthetic_answers_hide_the_real_ones(void **state)
{
	struct name n = wire_parse_name("many.example.com");
	struct addr real[NAMES_ANSWER_MAX];

	set_policy("network: deny\nallow: [many.example.com, six.example.com, missing.example.com, "
		   "private.example.com]\ndns_answers: synthetic\n");
	expect_address("many.example.com", "198.18.0.1");
	expect_address("many.example.com", "198.18.0.1");
	assert_int_equal(names_real_addresses(names, &n, loop_now(loop), real, 16), 16);
	assert_false(is_bound("many.example.com", "93.184.2.1"));
	expect("many.example.com", DNS_AAAA, DNS_NOERROR, 0);
	expect("missing.example.com", DNS_A, DNS_NXDOMAIN, 0);
	expect("private.example.com", DNS_A, DNS_NOERROR, 0);
	if (has_ipv6) {
		lookup("six.example.com", DNS_AAAA);
		assert_int_equal(reply.answers, 1);
		assert_memory_equal(got + reply.record[0].at, "\xfd\x73\x61\x6e\x64\x67\0\5", 8);
	}
	expect("1.0.18.198.in-addr.arpa", DNS_PTR, DNS_NOERROR, 1);
	set_policy("network: deny\nallow: [many.example.com]\n"); /* and real ones again */
	expect("many.example.com", DNS_A, DNS_NOERROR, 16);
	assert_true(is_bound("many.example.com", "93.184.2.1"));
}

/* --- other types --- */

static void types_under_an_exact_rule(void **state)
{
	struct dns_wire_name name;
	size_t end;

	expect("www.example.com", DNS_TXT, DNS_NOERROR, 1);
	assert_int_equal(reply.record[0].ttl, 60);
	expect("www.example.com", DNS_MX, DNS_NOERROR, 1);
	assert_true(dns_name_expand(span_of(got, got_n), reply.record[0].at + 2, &name, &end));
	assert_true(wire_name_is(&name, "mail.www.example.com"));
	expect("www.example.com", DNS_SRV, DNS_NOERROR, 0);
	expect("www.example.com", 48, DNS_NOERROR, 0); /* DNSKEY: not known, not asked for */
	expect("www.example.com", DNS_ANY, DNS_NOERROR, 1);
	assert_int_equal(reply.record[0].type, DNS_HINFO);
	assert_int_equal(upstream.n_udp, 3);
}

static void types_under_a_wildcard(void **state)
{
	static const uint16_t refused[] = {DNS_TXT, DNS_MX,  DNS_SRV,  DNS_NS,	 DNS_SOA,
					   DNS_CAA, DNS_PTR, DNS_SVCB, DNS_HINFO};

	for (size_t i = 0; i < sg_array_len(refused); i++)
		expect("a.wild.example.com", refused[i], DNS_NOERROR, 0);
	assert_int_equal(upstream.n_udp, 0);
	expect("a.wild.example.com", DNS_A, DNS_NOERROR, 1);
	expect("a.wild.example.com", DNS_CNAME, DNS_NOERROR, 0);
	expect("a.wild.example.com", DNS_HTTPS, DNS_NOERROR, 1);
	assert_int_equal(upstream.n_udp, 3);
}

/* sandy#154: HTTPS records, without what would lead around the gate. */
static void https_records_are_made_safe(void **state)
{
	static const char bare[] = "\0\1\0\0\1\0\3\2h2";
	static const char hinted[] = "\0\1\0\0\1\0\3\2h2\0\4\0\4\x5d\xb8\0\1";

	expect("www.example.com", DNS_HTTPS, DNS_NOERROR, 1);
	assert_int_equal(reply.record[0].end - reply.record[0].at, sizeof(bare) - 1);
	assert_memory_equal(got + reply.record[0].at, bare, sizeof(bare) - 1);
	expect_address("www.example.com", "93.184.0.1");
	expect("www.example.com", DNS_HTTPS, DNS_NOERROR, 1);
	assert_memory_equal(got + reply.record[0].at, hinted, sizeof(hinted) - 1);
	expect("plain.example.com", DNS_HTTPS, DNS_NOERROR, 0);
	expect("plain.example.com", DNS_HTTPS, DNS_NOERROR, 0);
	assert_int_equal(upstream.n_udp, 4);
}

static void https_records_keep_quic_where_it_is_admitted(void **state)
{
	set_policy("network: deny\nallow: [www.example.com]\nquic: allow\n");
	expect("www.example.com", DNS_HTTPS, DNS_NOERROR, 1);
	assert_memory_equal(got + reply.record[0].at, "\0\1\0\0\1\0\6\2h3\2h2", 13);
}

static void targets_of_https_records_are_judged(void **state)
{
	expect("cdn.example.com", DNS_HTTPS, DNS_NOERROR, 1);
	assert_memory_equal(got + reply.record[0].at, "\0\0\4edge\7example\3net\0", 20);
	expect_address("edge.example.net", "93.184.0.1");
	assert_true(is_bound("cdn.example.com", "93.184.0.1"));
}

/* --- names of their own --- */

static void special_names_are_answered_here(void **state)
{
	static const char *const missing[] = {"a.invalid",
					      "a.test",
					      "a.onion",
					      "a.local",
					      "a.alt",
					      "use-application-dns.net",
					      "mask.icloud.com",
					      "mask-h2.icloud.com",
					      "x.sandgate.internal"};

	set_policy("network: any\n");
	expect_address("localhost", "127.0.0.1");
	expect_address("a.localhost", "::1");
	expect("localhost", DNS_MX, DNS_NOERROR, 0);
	for (size_t i = 0; i < sg_array_len(missing); i++)
		expect(missing[i], DNS_A, DNS_NXDOMAIN, 0);
	expect("_dns.resolver.arpa", DNS_SVCB, DNS_NOERROR, 0);
	expect("ipv4only.arpa", DNS_A, DNS_NOERROR, 2);
	assert_true(has_address("192.0.0.170") && has_address("192.0.0.171"));
	expect("ipv4only.arpa", DNS_AAAA, DNS_NOERROR, 0);
	expect_address("host.sandgate.internal", "192.0.0.1");
	expect_address("gateway.sandgate.internal", "fd73::1");
	assert_int_equal(upstream.n_udp, 0);
	assert_int_equal(counters().refused, 0);
}

static void reverse_names_come_from_the_table(void **state)
{
	struct dns_wire_name name;
	size_t end;

	expect("1.0.184.93.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN, 0);
	expect_address("www.example.com", "93.184.0.1");
	expect("1.0.184.93.in-addr.arpa", DNS_PTR, DNS_NOERROR, 1);
	assert_true(dns_name_expand(span_of(got, got_n), reply.record[0].at, &name, &end));
	assert_true(wire_name_is(&name, "www.example.com"));
	expect("1.0.0.192.in-addr.arpa", DNS_PTR, DNS_NOERROR, 1);
	expect("5.0.0.10.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN, 0);
	expect("10.in-addr.arpa", DNS_NS, DNS_NXDOMAIN, 0);
	assert_int_equal(upstream.n_udp, 1);
	assert_int_equal(counters().refused, 0);
}

static void reverse_names_are_forwarded_only_when_open(void **state)
{
	set_policy("network: open\n");
	expect("1.0.184.93.in-addr.arpa", DNS_PTR, DNS_NOERROR, 1);
	expect("5.0.0.10.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN, 0);
	expect("10.0.168.192.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN, 0);
	assert_int_equal(upstream.n_udp, 1);
}

static void encrypted_resolvers_are_refused_unless_listed(void **state)
{
	set_policy("network: open\n");
	expect("dns.google", DNS_A, DNS_REFUSED, 0);
	expect("www.example.com", DNS_A, DNS_NOERROR, 1);
	assert_int_equal(noted(REASON_ENCRYPTED_DNS, "dns.google", ""), 1);
	set_policy("network: deny\nallow: [dns.google]\n");
	expect("dns.google", DNS_A, DNS_NOERROR, 1);
}

/* --- limits and live changes --- */

static const struct dns_wildcard *shown;

static void show(void *ctx, const struct dns_wildcard *wild)
{
	static struct dns_wildcard kept;

	kept = *wild;
	shown = &kept;
}

/* CVE-2025-55284: names as a channel for data. */
static void names_under_a_wildcard_are_limited(void **state)
{
	char name[256];
	size_t n;

	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "n%d.wild.example.com", i);
		expect(name, DNS_A, i < 64 ? DNS_NOERROR : DNS_REFUSED, i < 64);
	}
	assert_int_equal(upstream.n_udp, 64);
	expect("n3.wild.example.com", DNS_A, DNS_NOERROR, 1);
	assert_int_equal(noted(REASON_LIMIT_NAMES, "n64.wild.example.com", ""), 1);
	memset(name, 'x', sizeof(name));
	for (size_t i = 60; i < 180; i += 61)
		name[i] = '.';
	n = (size_t)snprintf(name + 185, sizeof(name) - 185, ".wild.example.com");
	assert_true(185 + n > 200);
	expect(name, DNS_A, DNS_REFUSED, 0);
	assert_int_equal(noted(REASON_LIMIT_NAME_LENGTH, name, ""), 1);
	wildcards_each(totals.wildcards, show, NULL);
	assert_string_equal(shown->wildcard->s, "wild.example.com");
	assert_string_equal(shown->names[0].s, "n0.wild.example.com");
	assert_int_equal(shown->seen, 64);
}

static void an_answer_is_judged_under_the_present_policy(void **state)
{
	build_question("www.example.com", DNS_A, 0);
	send_question(&udp);
	assert_int_equal(replies, 0);
	set_policy("network: deny\nallow: [other.example.com]\n");
	wait_for_reply(1);
	wire_read(span_of(got, got_n), &reply);
	assert_int_equal(reply.rcode, DNS_REFUSED);
	assert_false(is_bound("www.example.com", "93.184.0.1"));
}

static void a_dead_upstream_is_no_refusal(void **state)
{
	mono_t start = mono_now();

	expect("silent.example.com", DNS_A, DNS_SERVFAIL, 0);
	assert_true(mono_ms_until(start, mono_now()) < 5000);
	assert_int_equal(reply.ede, 22);
	assert_int_equal(counters().failed, 1);
	assert_int_equal(counters().refused, 0);
	assert_int_equal(refusals_total(refusals), 0);
}

/* More questions than there are places: the rest fail at once, and places come back. */
static void questions_in_flight_are_bounded(void **state)
{
	upstream.answer = answer_zone;
	for (int i = 0; i < 600; i++) {
		build_question("silent.example.com", DNS_A, 0);
		send_question(&udp);
	}
	assert_int_equal(replies, 600 - 512);
	assert_int_equal(counters().failed, 600 - 512);
}

/* --- TCP --- */

static void tcp_answers_have_their_length_and_no_limit(void **state)
{
	const struct dns_client tcp = {.tcp = true, .flow = 7, .generation = 3};

	build_question("www.example.com", DNS_TXT, 0);
	send_question(&tcp);
	wait_for_reply(1);
	assert_int_equal(got_n, 2 + (got[0] << 8 | got[1]));
	wire_read(span_of(got + 2, got_n - 2), &reply);
	assert_int_equal(reply.answers, 1);
	assert_int_equal(asked_by.flow, 7);
	assert_int_equal(asked_by.generation, 3);
}

static void the_client_is_handed_back(void **state)
{
	lookup("www.example.com", DNS_A);
	assert_int_equal(asked_by.from.port, 4242);
	assert_int_equal(asked_by.to.port, 53);
	assert_false(asked_by.tcp);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_refused_name_stays_inside),
		T(a_refusal_can_be_nxdomain),
		T(dns_can_be_off),
		T(the_proxy_port_asks_for_itself),
		T(what_is_no_name_is_refused),
		T(malformed_messages_are_answered_as_such),
		T(search_list_retries_are_one_refusal),
		T(an_address_is_bound_before_it_is_seen),
		T(the_table_answers_until_the_ttl),
		T(sixteen_addresses_fit_512_octets),
		T(both_families_are_answered),
		T(unreachable_ipv6_is_left_out),
		T(a_chain_is_judged_by_the_asked_name),
		T(names_cannot_point_inward),
		T(a_private_name_may_when_it_says_so),
		T(the_host_itself_is_inward),
		T(the_hosts_file_comes_first),
		T(synthetic_answers_hide_the_real_ones),
		T(types_under_an_exact_rule),
		T(types_under_a_wildcard),
		T(https_records_are_made_safe),
		T(https_records_keep_quic_where_it_is_admitted),
		T(targets_of_https_records_are_judged),
		T(special_names_are_answered_here),
		T(reverse_names_come_from_the_table),
		T(reverse_names_are_forwarded_only_when_open),
		T(encrypted_resolvers_are_refused_unless_listed),
		T(names_under_a_wildcard_are_limited),
		T(an_answer_is_judged_under_the_present_policy),
		T(a_dead_upstream_is_no_refusal),
		T(questions_in_flight_are_bounded),
		T(tcp_answers_have_their_length_and_no_limit),
		T(the_client_is_handed_back),
	};

	if (!upstream_isolate()) {
		puts("no network namespace of one's own: skipped");
		return 77;
	}
	has_ipv6 = upstream_add_ipv6_route();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
