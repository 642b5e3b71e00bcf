/* SPDX-License-Identifier: Apache-2.0 */
/* journal: one record for each thing that happens, with all that is known of it and no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "gate/counted.h"
#include "gate_rig.h"
#include "policy/permission.h"

static struct rig rig;

static int end(void **state)
{
	rig_end(&rig);
	return 0;
}

static struct record next(enum record_kind kind, enum record_proto proto)
{
	struct record got;

	if (!rig_record(&rig, &got))
		fail_msg("there is no record of %s", record_proto_word(proto));
	if (got.kind != kind || got.proto != proto)
		fail_msg("kind %u of %s", got.kind, record_proto_word(got.proto));
	return got;
}

static void expect_none(void)
{
	struct record got;

	if (rig_record(&rig, &got))
		fail_msg("one more: kind %u of %s", got.kind, record_proto_word(got.proto));
}

static void expect_target(const struct record *got, const char *name, const char *addr,
			  uint16_t port)
{
	struct addr a;

	assert_string_equal(got->has_name ? got->name.s : "", name);
	assert_int_equal(got->has_addr, *addr != 0);
	if (*addr) {
		a = rig_addr(addr);
		assert_true(addr_equal(&a, &got->addr));
	}
	assert_int_equal(got->port, port);
}

static struct record_totals totals(void)
{
	struct record_totals t;

	ring_read_totals(rig.ring, &t);
	return t;
}

/* ---- packets ---- */

static struct endpoint inside(uint16_t port)
{
	return (struct endpoint){rig.gate->sandbox_v4, port};
}

static void send_datagram(const char *to, uint16_t port, struct span payload)
{
	struct endpoint from = inside(5353), dst = {rig_addr(to), port};
	uint8_t octets[2048];
	struct buf b = buf_of(octets, sizeof(octets));

	packet_build_udp(&b, &from, &dst, payload);
	dispatch_packet(rig.gate, buf_span(&b));
	dispatch_run_end(rig.gate);
}

static void send_syn(const struct endpoint *from, const struct endpoint *to)
{
	uint8_t octets[40] = {0x45, 0, 0, 40, 0, 0, 0, 0, 64, IP_TCP};
	struct packet p = {.src = from->addr,
			   .dst = to->addr,
			   .proto = IP_TCP,
			   .src_port = from->port,
			   .dst_port = to->port,
			   .tcp_flags = TCP_SYN,
			   .whole = span_of(octets, sizeof(octets))};

	flows_take_syn(rig.gate->flows, &p);
}

static void send_question(const char *name)
{
	struct dns_wire_name w;
	struct name n = rig_name(name);
	uint8_t octets[300] = {0, 7, 1, 0, 0, 1};

	dns_name_to_wire(&n, &w);
	memcpy(octets + 12, w.b, w.n);
	octets[12 + w.n + 1] = DNS_A;
	octets[12 + w.n + 3] = 1;
	send_datagram("9.9.9.9", 53, span_of(octets, 12u + w.n + 4));
}

/* ---- flows ---- */

static void a_flow_has_a_beginning_and_an_end(void **state)
{
	struct timespec now;
	struct rig_flow f;
	struct record got;

	rig_begin(&rig, "network: deny\nallow: ['db.example.com:5432']\n");
	rig_bind(&rig, "db.example.com", "93.184.0.1");
	f = rig_open(&rig, "93.184.0.1", 5432);
	got = next(RECORD_ALLOW, RECORD_TCP);
	expect_target(&got, "db.example.com", "93.184.0.1", 5432);
	assert_string_equal(got.rule, "db.example.com:5432");
	assert_int_equal(got.generation, 1);
	clock_gettime(CLOCK_REALTIME, &now);
	assert_in_range(got.time_ms, (now.tv_sec - 60) * 1000, (now.tv_sec + 1) * 1000);
	rig_expect_passes(&rig, &f);
	expect_none();
	rig_close(&f);
	rig_turns(&rig, 5);
	got = next(RECORD_END, RECORD_TCP);
	expect_target(&got, "db.example.com", "93.184.0.1", 5432);
	assert_string_equal(got.rule, "db.example.com:5432");
	assert_int_equal(got.bytes_out, 2);
	assert_int_equal(got.bytes_in, 4);
	assert_int_equal(got.reason, REASON_NONE);
	expect_none();
	assert_int_equal(totals().allowed, 1);
	assert_int_equal(totals().ended, 1);
}

static void a_permission_is_named_with_its_rule(void **state)
{
	static struct rule rule;
	static struct rule_detail detail;
	struct event e = {.kind = RECORD_ALLOW, .proto = RECORD_TCP, .rule = &rule};
	struct record got;

	rig_begin(&rig, "network: deny\nallow: [a.example]\n");
	rule = (struct rule){.kind = TARGET_NAME, .effect = EFFECT_ALLOW, .name_n = 8};
	strcpy(rule.short_name, "pypi.org");
	detail.permission = (char *)"install:python";
	rule.detail = &detail;
	journal_note(rig.gate->journal, &e);
	got = next(RECORD_ALLOW, RECORD_TCP);
	assert_string_equal(got.rule, "pypi.org");
	assert_string_equal(got.permission, "install:python");
	/* The next one without a rule has nothing of it. */
	e.rule = NULL;
	journal_note(rig.gate->journal, &e);
	got = next(RECORD_ALLOW, RECORD_TCP);
	assert_string_equal(got.rule, "");
	assert_string_equal(got.permission, "");
}

/* A rule's place in memory may be another rule's under the next policy. */
static void the_text_of_a_rule_is_not_the_one_of_another_policy(void **state)
{
	static struct rule rule;
	struct event e = {.kind = RECORD_ALLOW, .proto = RECORD_TCP, .rule = &rule};

	rig_begin(&rig, "network: any\n");
	rule = (struct rule){.kind = TARGET_NAME, .effect = EFFECT_ALLOW, .name_n = 9};
	strcpy(rule.short_name, "a.example");
	journal_note(rig.gate->journal, &e);
	assert_string_equal(next(RECORD_ALLOW, RECORD_TCP).rule, "a.example");
	strcpy(rule.short_name, "b.example");
	journal_set_generation(rig.gate->journal, 2);
	journal_note(rig.gate->journal, &e);
	assert_string_equal(next(RECORD_ALLOW, RECORD_TCP).rule, "b.example");
}

/* The whole way: SYN, dial, handshake, octets, end; on this machine's loopback by a host port. */
static void a_connection_is_noted_from_its_syn_on(void **state)
{
	uint16_t port = 0;
	int server = rig_listen("127.0.0.1", &port), listener, client, world;
	struct endpoint from = {.addr = rig_addr("127.0.0.9")},
			to = {.addr = rig_addr("127.0.0.5")};
	struct sockaddr_storage ss;
	socklen_t n;
	char yaml[64], octets[8];
	struct record got;

	listener = rig_listen("127.0.0.5", &port);
	snprintf(yaml, sizeof(yaml), "network: deny\nhost_ports: [%u]\n", port);
	rig_begin_with(&rig, yaml, NULL, listener);
	rig.gate->gate_v4 = to.addr;
	to.port = port;
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	n = endpoint_to_sockaddr(&from, &ss);
	assert_int_equal(bind(client, (struct sockaddr *)&ss, n), 0);
	assert_int_equal(getsockname(client, (struct sockaddr *)&ss, &n), 0);
	assert_true(endpoint_from_sockaddr(&ss, &from));
	send_syn(&from, &to);
	got = next(RECORD_ALLOW, RECORD_TCP);
	expect_target(&got, "host.sandgate.internal", "127.0.0.5", port);
	rig_turns(&rig, 2);
	n = endpoint_to_sockaddr(&to, &ss);
	assert_int_equal(connect(client, (struct sockaddr *)&ss, n), 0);
	rig_turns(&rig, 2);
	world = accept(server, NULL, NULL);
	assert_int_equal(send(client, "hello", 5, 0), 5);
	rig_turns(&rig, 2);
	assert_int_equal(recv(world, octets, 8, 0), 5);
	close(client);
	close(world);
	rig_turns(&rig, 5);
	got = next(RECORD_END, RECORD_TCP);
	assert_int_equal(got.bytes_out, 5);
	expect_none();
	close(server);
}

/* What left the house is in the log though nothing answered. */
static void a_connection_that_the_far_side_refuses_is_noted_too(void **state)
{
	struct endpoint from, to = {.addr = rig_addr("127.0.0.1"), .port = 1};
	struct record got;

	rig_begin(&rig, "network: any\n");
	from = inside(999);
	send_syn(&from, &to);
	rig_turns(&rig, 2);
	got = next(RECORD_ALLOW, RECORD_TCP);
	expect_target(&got, "", "127.0.0.1", 1);
	got = next(RECORD_END, RECORD_TCP);
	assert_int_equal(got.bytes_out + got.bytes_in, 0);
	expect_none();
}

static void a_refused_syn_is_noted_with_its_rule(void **state)
{
	struct endpoint from, to = {.addr = rig_addr("93.184.0.1"), .port = 22};
	struct record got;

	rig_begin(&rig, "network: any\ndeny: [93.184.0.0/24]\n");
	from = inside(999);
	send_syn(&from, &to);
	got = next(RECORD_DENY, RECORD_TCP);
	expect_target(&got, "", "93.184.0.1", 22);
	assert_int_equal(got.reason, REASON_DENIED_BY_RULE);
	assert_string_equal(got.rule, "93.184.0.0/24");
	expect_none();
	assert_int_equal(totals().refused[REASON_DENIED_BY_RULE], 1);
	assert_int_equal(refusals_total(rig.gate->refusals), 1);
}

/* ---- TLS and plain HTTP ---- */

/* Refused before an octet passed: a refusal, and neither a beginning nor an end. */
static void a_flow_refused_inside_is_a_refusal_only(void **state)
{
	struct rig_flow f;
	struct record got;

	rig_begin(&rig, "network: deny\nallow: [a.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	f = rig_open(&rig, "93.184.0.1", 443);
	assert_int_equal(send(f.client, "SSH-2.0-x\r\n", 11, 0), 11);
	rig_turns(&rig, 5);
	got = next(RECORD_DENY, RECORD_TCP);
	assert_int_equal(got.reason, REASON_NOT_TLS);
	expect_target(&got, "a.example.com", "93.184.0.1", 443);
	rig_close(&f);
	rig_turns(&rig, 5);
	expect_none();
}

static void say(struct rig_flow *f, const char *request, const char *answer)
{
	char octets[2048];

	assert_int_equal(send(f->client, request, strlen(request), 0), strlen(request));
	rig_turns(&rig, 5);
	if (!answer)
		return;
	assert_int_equal(recv(f->server, octets, sizeof(octets), MSG_DONTWAIT), strlen(request));
	assert_int_equal(send(f->server, answer, strlen(answer), 0), strlen(answer));
	rig_turns(&rig, 5);
	assert_int_equal(recv(f->client, octets, sizeof(octets), MSG_DONTWAIT), strlen(answer));
}

static void begin_http(struct rig_flow *f)
{
	rig_begin(&rig, "network: deny\nallow: [a.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	*f = rig_open(&rig, "93.184.0.1", 80);
	expect_none();
}

static void a_request_is_noted_without_its_query(void **state)
{
	struct rig_flow f;
	struct record got;

	begin_http(&f);
	say(&f, "GET /v1/x?secret=1 HTTP/1.1\r\nHost: a.example.com\r\n\r\n",
	    "HTTP/1.1 204 No Content\r\n\r\n");
	got = next(RECORD_ALLOW, RECORD_TCP);
	expect_target(&got, "a.example.com", "93.184.0.1", 80);
	got = next(RECORD_ALLOW, RECORD_HTTP);
	expect_target(&got, "a.example.com", "93.184.0.1", 80);
	assert_string_equal(got.method, "GET");
	assert_string_equal(got.path, "/v1/x");
	assert_string_equal(got.rule, "a.example.com");
	rig_close(&f);
	rig_turns(&rig, 5);
	/* The only request of its connection: its answer is known. */
	got = next(RECORD_END, RECORD_TCP);
	assert_int_equal(got.status, 204);
	assert_string_equal(got.method, "GET");
	assert_string_equal(got.path, "/v1/x");
	expect_none();
}

static void of_several_requests_no_status_is_told(void **state)
{
	struct rig_flow f;
	struct record got;

	begin_http(&f);
	say(&f, "GET /1 HTTP/1.1\r\nHost: a.example.com\r\n\r\n", "HTTP/1.1 204 x\r\n\r\n");
	say(&f, "PUT /2 HTTP/1.1\r\nHost: a.example.com\r\n\r\n", "HTTP/1.1 500 x\r\n\r\n");
	next(RECORD_ALLOW, RECORD_TCP);
	assert_string_equal(next(RECORD_ALLOW, RECORD_HTTP).path, "/1");
	assert_string_equal(next(RECORD_ALLOW, RECORD_HTTP).path, "/2");
	rig_close(&f);
	rig_turns(&rig, 5);
	got = next(RECORD_END, RECORD_TCP);
	assert_int_equal(got.status, 0);
	assert_string_equal(got.method, "");
}

static void a_refused_request_is_noted_with_what_it_asked(void **state)
{
	struct rig_flow f;
	struct record got;

	begin_http(&f);
	say(&f, "POST /take?all HTTP/1.1\r\nHost: evil.example\r\n\r\n", NULL);
	got = next(RECORD_DENY, RECORD_HTTP);
	expect_target(&got, "evil.example", "93.184.0.1", 80);
	assert_string_equal(got.method, "POST");
	assert_string_equal(got.path, "/take");
	assert_int_equal(got.status, 403);
	assert_int_equal(got.reason, REASON_NOT_IN_POLICY);
	rig_close(&f);
	rig_turns(&rig, 5);
	expect_none();
}

/* ---- what a permission covers ---- */

static json_t *only_refusal(void)
{
	json_t *all = counted_refusals(rig.gate->refusals, &rig.gate->remedy);
	json_t *row;

	assert_int_equal(json_array_size(json_object_get(all, "refusals")), 1);
	row = json_incref(json_array_get(json_object_get(all, "refusals"), 0));
	json_decref(all);
	return row;
}

/* The answer inside and the row for the summary name the permission that would admit it. */
static void a_refusal_names_the_permission_that_covers_it(void **state)
{
	static const char request[] = "GET /simple/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n";
	struct rig_flow f;
	char got[2048] = "";
	json_t *row;

	rig_begin_with(&rig, "network: deny\nallow: [a.example.com]\n", catalogue_builtin(), -1);
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	f = rig_open(&rig, "93.184.0.1", 80);
	assert_int_equal(send(f.client, request, sizeof(request) - 1, 0), sizeof(request) - 1);
	rig_turns(&rig, 5);
	assert_true(recv(f.client, got, sizeof(got) - 1, MSG_DONTWAIT) > 0);
	if (!strstr(got, "sandgate net allow box install:python"))
		fail_msg("%s", got);
	row = only_refusal();
	assert_string_equal(json_string_value(json_object_get(row, "permission")),
			    "install:python");
	assert_non_null(strstr(json_string_value(json_object_get(row, "attempt")), "Python"));
	json_decref(row);
	rig_close(&f);
}

/* Where no permission would help there is none. */
static void a_refusal_that_no_permission_covers_says_so(void **state)
{
	struct endpoint from, to = {.addr = rig_addr("93.184.0.1"), .port = 22};
	json_t *row;

	rig_begin_with(&rig, "network: deny\n", catalogue_builtin(), -1);
	from = inside(999);
	send_syn(&from, &to);
	row = only_refusal();
	assert_true(json_is_null(json_object_get(row, "permission")));
	assert_true(json_is_null(json_object_get(row, "attempt")));
	json_decref(row);
}

/* ---- lookups, datagrams, echo ---- */

static void lookups_are_noted_both_ways(void **state)
{
	struct record got;

	rig_begin(&rig, "network: deny\nallow: ['*.example.com']\n");
	rig_bind(&rig, "www.example.com", "93.184.0.1");
	send_question("www.example.com");
	got = next(RECORD_ALLOW, RECORD_DNS);
	expect_target(&got, "www.example.com", "", 0);
	assert_string_equal(got.rule, "*.example.com");
	send_question("www.example.net");
	got = next(RECORD_DENY, RECORD_DNS);
	expect_target(&got, "www.example.net", "", 0);
	assert_int_equal(got.reason, REASON_NOT_IN_POLICY);
	send_datagram("9.9.9.9", 53, span_of("junk", 4));
	got = next(RECORD_DENY, RECORD_DNS);
	assert_int_equal(got.reason, REASON_MALFORMED_DNS);
	expect_none();
}

static void a_refused_datagram_and_echo_are_noted(void **state)
{
	static const uint8_t echo[8] = {8, 0, 0, 0, 0, 1, 0, 1};
	struct addr to = rig_addr("93.184.0.1");
	uint8_t octets[64];
	struct buf b = buf_of(octets, sizeof(octets));
	struct record got;

	rig_begin(&rig, "network: deny\n");
	send_datagram("93.184.0.1", 123, span_of("time?", 5));
	got = next(RECORD_DENY, RECORD_UDP);
	expect_target(&got, "", "93.184.0.1", 123);
	packet_build_icmp(&b, &rig.gate->sandbox_v4, &to, span_of(echo, sizeof(echo)));
	dispatch_packet(rig.gate, buf_span(&b));
	got = next(RECORD_DENY, RECORD_ICMP);
	expect_target(&got, "", "93.184.0.1", 0);
	send_datagram("93.184.0.1", 443, span_of("quic?", 5));
	got = next(RECORD_DENY, RECORD_QUIC);
	expect_target(&got, "", "93.184.0.1", 443);
	expect_none();
}

/* SCTP, GRE, ESP and the like: no rule is about them, and they are refused and noted all the same.
 */
static void a_protocol_that_is_not_carried_is_noted(void **state)
{
	enum { SCTP = 132 };
	uint8_t octets[32] = {0x45, 0, 0, 32, 0, 0, 0,	0,   64, SCTP,
			      0,    0, 0, 0,  0, 0, 93, 184, 0,	 1};
	uint32_t sum = 0;
	struct record got;

	rig_begin(&rig, "network: any\n");
	memcpy(octets + 12, addr_v4_octets(&rig.gate->sandbox_v4), 4);
	for (size_t i = 0; i < 20; i += 2)
		sum += (uint32_t)(octets[i] << 8 | octets[i + 1]);
	sum = ~((sum & 0xffff) + (sum >> 16));
	octets[10] = (uint8_t)(sum >> 8);
	octets[11] = (uint8_t)sum;
	dispatch_packet(rig.gate, span_of(octets, sizeof(octets)));
	got = next(RECORD_DENY, RECORD_IP);
	expect_target(&got, "", "93.184.0.1", 0);
	assert_int_equal(got.reason, REASON_PROTOCOL_NOT_CARRIED);
	assert_int_equal(refusals_total(rig.gate->refusals), 1);
	expect_none();
}

/* ---- text ---- */

/* What a record holds is printable, whatever the sandbox put into its request. */
static void text_is_printable_and_cut(void **state)
{
	char path[600];
	struct event e = {.kind = RECORD_ALLOW, .proto = RECORD_HTTP, .method = "GET"};
	struct record got;

	rig_begin(&rig, "network: any\n");
	memset(path, 'x', sizeof(path));
	memcpy(path, "/\x1b[2J\xc3\xa4\x7f", 8);
	e.path = span_of(path, sizeof(path));
	journal_note(rig.gate->journal, &e);
	got = next(RECORD_ALLOW, RECORD_HTTP);
	assert_int_equal(strlen(got.path), RECORD_PATH_MAX - 1);
	assert_memory_equal(got.path, "/?[2J???xx", 10);
}

/* ---- what outlives a gate ---- */

static void note_some(struct gate_totals *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct addr a = {{[15] = (uint8_t)i}};
		struct refusal what = {
			.proto = RECORD_TCP, .reason = REASON_NOT_IN_POLICY, .addr = &a};

		refusals_note(t->refusals, &what);
	}
}

static void sum(void *ctx, const struct refusal *what, uint64_t count)
{
	*(uint64_t *)ctx += count;
}

static uint64_t counted(const struct gate_totals *t)
{
	uint64_t n = refusals_other(t->refusals);

	refusals_each(t->refusals, sum, &n);
	return n;
}

/* A child counts, and is killed; the next one goes on from there. */
static void a_killed_gate_leaves_its_numbers(void **state)
{
	struct gate_totals t;
	struct err e;

	rig_begin(&rig, "network: any\n");
	assert_int_equal(totals_make(&t, &e), 0);
	for (unsigned round = 1; round <= 3; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			totals_mend(&t);
			t.counters->bytes_out += 1000;
			t.dns->answered += 3;
			note_some(&t, 300);
			raise(SIGKILL);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		totals_mend(&t);
		assert_int_equal(t.counters->bytes_out, 1000 * round);
		assert_int_equal(t.dns->answered, 3 * round);
		assert_int_equal(refusals_total(t.refusals), 300 * round);
		assert_int_equal(counted(&t), 300 * round);
	}
	totals_free(&t);
}

/* Whatever octets a gate left there, the next one works with them, and its sums are right. */
static void what_a_gate_wrote_on_purpose_is_put_right(void **state)
{
	struct gate_totals t;
	struct name n = rig_name("a.example"), w = rig_name("b.w.example");
	struct err e;
	unsigned seed = 1;

	rig_begin(&rig, "network: any\n");
	for (int round = 0; round < 50; round++) {
		uint8_t *p;

		assert_int_equal(totals_make(&t, &e), 0);
		note_some(&t, 20);
		wildcards_admit(t.wildcards, span_of(n.s, n.n), &w, 64, mono_now());
		p = (uint8_t *)t.refusals;
		for (int i = 0; i < 2000; i++)
			p[rand_r(&seed) % 80000] = (uint8_t)rand_r(&seed);
		p = (uint8_t *)t.wildcards;
		for (int i = 0; i < 2000; i++)
			p[rand_r(&seed) % 300000] = (uint8_t)rand_r(&seed);
		totals_mend(&t);
		assert_int_equal(counted(&t), refusals_total(t.refusals));
		note_some(&t, 300);
		assert_int_equal(counted(&t), refusals_total(t.refusals));
		wildcards_admit(t.wildcards, span_of(n.s, n.n), &w, 64, mono_now());
		totals_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_flow_has_a_beginning_and_an_end, end),
		cmocka_unit_test_teardown(a_permission_is_named_with_its_rule, end),
		cmocka_unit_test_teardown(the_text_of_a_rule_is_not_the_one_of_another_policy, end),
		cmocka_unit_test_teardown(a_connection_is_noted_from_its_syn_on, end),
		cmocka_unit_test_teardown(a_connection_that_the_far_side_refuses_is_noted_too, end),
		cmocka_unit_test_teardown(a_refused_syn_is_noted_with_its_rule, end),
		cmocka_unit_test_teardown(a_flow_refused_inside_is_a_refusal_only, end),
		cmocka_unit_test_teardown(a_request_is_noted_without_its_query, end),
		cmocka_unit_test_teardown(of_several_requests_no_status_is_told, end),
		cmocka_unit_test_teardown(a_refused_request_is_noted_with_what_it_asked, end),
		cmocka_unit_test_teardown(a_refusal_names_the_permission_that_covers_it, end),
		cmocka_unit_test_teardown(a_refusal_that_no_permission_covers_says_so, end),
		cmocka_unit_test_teardown(lookups_are_noted_both_ways, end),
		cmocka_unit_test_teardown(a_refused_datagram_and_echo_are_noted, end),
		cmocka_unit_test_teardown(a_protocol_that_is_not_carried_is_noted, end),
		cmocka_unit_test_teardown(text_is_printable_and_cut, end),
		cmocka_unit_test_teardown(a_killed_gate_leaves_its_numbers, end),
		cmocka_unit_test_teardown(what_a_gate_wrote_on_purpose_is_put_right, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
