/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rejudge: what becomes of open flows when another policy decides. What it would not admit is reset
 * both ways and noted; everything else streams on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "client_hello.h"
#include "gate_rig.h"

static struct rig rig;
static uint64_t generation;

static void begin(const char *yaml)
{
	rig_begin(&rig, yaml);
	generation = 1;
}

static int end(void **state)
{
	rig_end(&rig);
	return 0;
}

static void change(const char *yaml)
{
	struct err e;

	if (rig_change(&rig, yaml, ++generation, &e) != 0)
		fail_msg("%s", e.text);
	rig_turns(&rig, 2);
}

/* The journal's next refusal, passing over what was admitted. */
static struct record next_refusal(void)
{
	struct record got = {0};

	do {
		if (!rig_record(&rig, &got))
			fail_msg("there is no refusal");
	} while (got.kind != RECORD_DENY);
	return got;
}

static void expect_refused(struct rig_flow *f, enum reason why)
{
	struct record got;

	assert_false(rig_is_open(f));
	rig_expect_reset(f->client);
	rig_expect_reset(f->server);
	got = next_refusal();
	if (got.reason != why)
		fail_msg("it was cut for %s", reason_word(got.reason));
	assert_int_equal(got.generation, generation);
	assert_int_equal(got.port, f->flow->dst.port);
	rig_close(f);
}

/* One that had been admitted: its end follows, and says what ended it. */
static void expect_cut(struct rig_flow *f, enum reason why)
{
	struct record got;

	expect_refused(f, why);
	assert_true(rig_record(&rig, &got));
	assert_int_equal(got.kind, RECORD_END);
	assert_int_equal(got.reason, why);
}

static void expect_lives(struct rig_flow *f)
{
	assert_true(rig_is_open(f));
	rig_expect_passes(&rig, f);
}

/* What the client sent has come out whole at the server. */
static void pass(struct rig_flow *f, const void *octets, size_t n)
{
	uint8_t got[4096];

	assert_int_equal(send(f->client, octets, n, MSG_NOSIGNAL), n);
	rig_turns(&rig, 5);
	assert_int_equal(recv(f->server, got, sizeof(got), MSG_DONTWAIT), n);
	assert_memory_equal(got, octets, n);
}

static struct rig_flow open_tls(const char *name, const char *addr, bool ech)
{
	struct rig_flow f = rig_open(&rig, addr, 443);
	uint8_t hello[512];

	pass(&f, hello, client_hello(hello, name, ech, ""));
	return f;
}

static struct rig_flow open_http(const char *addr, const char *request)
{
	struct rig_flow f = rig_open(&rig, addr, 80);

	pass(&f, request, strlen(request));
	return f;
}

/* ---- by address ---- */

static void an_address_that_is_denied_now_is_cut(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nallow: [93.184.0.1, 93.184.0.2]\n");
	gone = rig_open(&rig, "93.184.0.1", 22);
	stays = rig_open(&rig, "93.184.0.2", 22);
	change("network: deny\nallow: [93.184.0.2]\n");
	expect_cut(&gone, REASON_NOT_IN_POLICY);
	expect_lives(&stays);
	rig_close(&stays);
}

static void a_host_port_that_is_taken_away_is_cut(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nhost_ports: [5432, 6379]\n");
	gone = rig_open(&rig, "192.0.0.1", 5432);
	stays = rig_open(&rig, "192.0.0.1", 6379);
	change("network: deny\nhost_ports: [6379]\n");
	expect_cut(&gone, REASON_PORT_NOT_ALLOWED);
	expect_lives(&stays);
	rig_close(&stays);
}

/* The kill switch: nothing at all is admitted. */
static void none_cuts_all_of_it(void **state)
{
	struct rig_flow a, b;

	begin("network: any\n");
	a = rig_open(&rig, "93.184.0.1", 22);
	b = rig_open(&rig, "93.184.0.2", 443);
	change("network: none\n");
	assert_false(rig_is_open(&a) || rig_is_open(&b));
	assert_int_equal(flows_open(rig.gate->flows), 0);
	rig_close(&a);
	rig_close(&b);
}

static void a_port_that_is_taken_away_is_cut(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nallow: ['93.184.0.1:22,23']\n");
	gone = rig_open(&rig, "93.184.0.1", 22);
	stays = rig_open(&rig, "93.184.0.1", 23);
	change("network: deny\nallow: ['93.184.0.1:23']\n");
	expect_cut(&gone, REASON_PORT_NOT_ALLOWED);
	expect_lives(&stays);
	rig_close(&stays);
}

/* It was admitted by its address and has no name of its own: the table of names is asked. */
static void a_denied_name_cuts_a_flow_to_its_address(void **state)
{
	static const char *const bases[] = {"any", "open"};

	for (size_t i = 0; i < 2; i++) {
		char before[32], after[96];
		struct rig_flow gone, stays;

		snprintf(before, sizeof(before), "network: %s\n", bases[i]);
		snprintf(after, sizeof(after), "network: %s\ndeny: ['tracker.example:443']\n",
			 bases[i]);
		begin(before);
		gone = rig_open(&rig, "93.184.0.1", 25);
		stays = rig_open(&rig, "93.184.0.2", 25);
		rig_bind(&rig, "tracker.example", "93.184.0.1");
		rig_bind(&rig, "other.example", "93.184.0.2");
		change(after);
		assert_true(rig_is_open(&gone)); /* another port of it */
		snprintf(after, sizeof(after), "network: %s\ndeny: [tracker.example]\n", bases[i]);
		change(after);
		expect_cut(&gone, REASON_DENIED_BY_RULE);
		expect_lives(&stays);
		rig_close(&stays);
		if (i == 0)
			end(NULL);
	}
}

/* Nobody looked inside under `any`; now one would, and the name that the address has is denied. */
static void a_web_flow_that_was_not_looked_into_is_judged_by_its_bound_names(void **state)
{
	struct rig_flow gone, stays;

	begin("network: any\n");
	gone = rig_open(&rig, "93.184.0.1", 443);
	stays = rig_open(&rig, "93.184.0.2", 443);
	rig_bind(&rig, "tracker.example", "93.184.0.1");
	rig_bind(&rig, "other.example", "93.184.0.2");
	change("network: any\ndeny: [tracker.example]\n");
	expect_cut(&gone, REASON_DENIED_BY_RULE);
	expect_lives(&stays);
	rig_close(&stays);
}

/* ... and where only a name inside could admit it, it cannot go on without one. */
static void a_web_flow_that_was_not_looked_into_needs_a_policy_that_would_not(void **state)
{
	struct rig_flow gone;

	begin("network: deny\nallow: [93.184.0.1]\n");
	gone = rig_open(&rig, "93.184.0.1", 443);
	rig_bind(&rig, "www.example.com", "93.184.0.1");
	change("network: deny\nallow: [www.example.com]\n");
	expect_cut(&gone, REASON_NO_SERVER_NAME);
}

/* ---- by name ---- */

static void the_name_that_admitted_a_flow_is_judged_again(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nallow: ['db.example.com:5432', 'dc.example.com:5432']\n");
	rig_bind(&rig, "db.example.com", "93.184.0.1");
	rig_bind(&rig, "dc.example.com", "93.184.0.2");
	gone = rig_open(&rig, "93.184.0.1", 5432);
	stays = rig_open(&rig, "93.184.0.2", 5432);
	change("network: deny\nallow: ['dc.example.com:5432']\n");
	expect_cut(&gone, REASON_NOT_IN_POLICY);
	expect_lives(&stays);
	rig_close(&stays);
}

/* Where nothing is looked into a new connection would pass by any name of the address. */
static void another_allowed_name_of_the_address_keeps_a_raw_flow(void **state)
{
	struct rig_flow stays;

	begin("network: deny\nallow: ['db.example.com:5432']\n");
	rig_bind(&rig, "db.example.com", "93.184.0.1");
	rig_bind(&rig, "dc.example.com", "93.184.0.1");
	stays = rig_open(&rig, "93.184.0.1", 5432);
	change("network: deny\nallow: ['dc.example.com:5432']\n");
	expect_lives(&stays);
	rig_close(&stays);
}

/* Two names on one address: each flow goes by the name that was read inside it. */
static void the_server_name_inside_is_judged_again(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nallow: [a.example.com, b.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	rig_bind(&rig, "b.example.com", "93.184.0.1");
	gone = open_tls("a.example.com", "93.184.0.1", false);
	stays = open_tls("b.example.com", "93.184.0.1", false);
	change("network: deny\nallow: [b.example.com]\n");
	expect_cut(&gone, REASON_NOT_IN_POLICY);
	expect_lives(&stays);
	rig_close(&stays);
}

/* Under `open` any name may stand inside; a rule by name wants it looked up for the address. */
static void a_server_name_that_was_never_looked_up_does_not_outlive_open(void **state)
{
	struct rig_flow gone, stays;

	begin("network: open\n");
	rig_bind(&rig, "www.example.com", "93.184.0.2");
	gone = open_tls("www.example.com", "93.184.0.1", false);
	stays = open_tls("www.example.com", "93.184.0.2", false);
	change("network: deny\nallow: [www.example.com]\n");
	expect_cut(&gone, REASON_SNI_MISMATCH);
	expect_lives(&stays);
	rig_close(&stays);
}

static void an_encrypted_hello_is_cut_when_it_is_refused_now(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nallow: [a.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	gone = open_tls("a.example.com", "93.184.0.1", true);
	stays = open_tls("a.example.com", "93.184.0.1", false);
	change("network: deny\nallow: [a.example.com]\nech: refuse\n");
	expect_cut(&gone, REASON_ECH_REFUSED);
	expect_lives(&stays);
	rig_close(&stays);
}

/* ---- plain HTTP ---- */

static void the_host_of_the_last_request_is_judged_again(void **state)
{
	struct rig_flow gone, stays;

	begin("network: deny\nallow: [a.example.com, b.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	rig_bind(&rig, "b.example.com", "93.184.0.1");
	gone = open_http("93.184.0.1", "GET / HTTP/1.1\r\nHost: b.example.com\r\n\r\n");
	pass(&gone, "GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n", 39);
	stays = open_http("93.184.0.1", "GET / HTTP/1.1\r\nHost: b.example.com\r\n\r\n");
	change("network: deny\nallow: [b.example.com]\n");
	expect_cut(&gone, REASON_NOT_IN_POLICY);
	assert_true(rig_is_open(&stays));
	pass(&stays, "GET /2 HTTP/1.1\r\nHost: b.example.com\r\n\r\n", 40);
	rig_close(&stays);
}

static void a_request_is_judged_again_by_method_and_path(void **state)
{
	static const char before[] = "network: deny\nallow: [a.example.com]\n";
	static const char after[] = "network: deny\nallow: [{host: a.example.com, ports: [80], "
				    "methods: [GET], paths: ['/v1/*']}]\n";
	struct rig_flow post, elsewhere, stays;

	begin(before);
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	post = open_http("93.184.0.1", "POST /v1/x HTTP/1.1\r\nHost: a.example.com\r\n"
				       "Content-Length: 100\r\n\r\n");
	elsewhere = open_http("93.184.0.1", "GET /v2 HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
	stays = open_http("93.184.0.1", "GET /v1/x?q=1 HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
	change(after);
	expect_cut(&post, REASON_METHOD_NOT_ALLOWED);
	expect_cut(&elsewhere, REASON_PATH_NOT_ALLOWED);
	assert_true(rig_is_open(&stays));
	pass(&stays, "GET /v1/y HTTP/1.1\r\nHost: a.example.com\r\n\r\n", 43);
	rig_close(&stays);
}

/* A path too long to be kept cannot be shown to match: the flow does not pass for one that does. */
static void a_long_path_does_not_pass_for_its_beginning(void **state)
{
	char request[600] = "GET /", after[600];
	struct rig_flow gone;

	begin("network: deny\nallow: [a.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	memset(request + 5, 'a', 400);
	strcpy(request + 405, " HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
	gone = open_http("93.184.0.1", request);
	snprintf(after, sizeof(after),
		 "network: deny\nallow: [{host: a.example.com, ports: [80], paths: ['%.*s']}]\n",
		 RECORD_PATH_MAX - 1, request + 4);
	change(after);
	expect_cut(&gone, REASON_PATH_NOT_ALLOWED);
}

/* ---- what waits ---- */

/* Accepted and silent: what is to be inspected of it is the new policy's to say. */
static void a_flow_that_has_said_nothing_goes_on_under_the_new_policy(void **state)
{
	struct rig_flow raw, gone;
	uint8_t hello[512];
	size_t n = client_hello(hello, "b.example.com", false, "");

	begin("network: deny\nallow: [a.example.com, b.example.com, c.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	rig_bind(&rig, "b.example.com", "93.184.0.2");
	rig_bind(&rig, "c.example.com", "93.184.0.3");
	raw = rig_open(&rig, "93.184.0.1", 443);
	gone = rig_open(&rig, "93.184.0.3", 443);
	change("network: deny\nallow: [93.184.0.1, b.example.com]\n");
	expect_lives(&raw);
	expect_refused(&gone, REASON_NOT_IN_POLICY);
	rig_close(&raw);
	raw = rig_open(&rig, "93.184.0.2", 443);
	pass(&raw, hello, n);
	rig_close(&raw);
}

/* The client had sent all it wanted, and its end had been passed on: that is no reason for a FIN.
 */
static void a_half_closed_flow_is_reset_too(void **state)
{
	struct rig_flow gone;
	char got[8];

	begin("network: deny\nallow: [93.184.0.1]\n");
	gone = rig_open(&rig, "93.184.0.1", 22);
	assert_int_equal(send(gone.client, "all", 3, 0), 3);
	assert_int_equal(shutdown(gone.client, SHUT_WR), 0);
	rig_turns(&rig, 5);
	assert_int_equal(recv(gone.server, got, sizeof(got), MSG_DONTWAIT), 3);
	assert_int_equal(recv(gone.server, got, sizeof(got), MSG_DONTWAIT), 0);
	change("network: deny\nallow: [93.184.0.2]\n");
	assert_false(rig_is_open(&gone));
	rig_expect_reset(gone.client);
	/* After a FIN it could still be sent. */
	assert_int_equal(send(gone.server, "answer", 6, MSG_NOSIGNAL), -1);
	rig_close(&gone);
}

/* A published flow was made from outside; no policy about what goes out is about it. */
static void a_published_flow_stays(void **state)
{
	struct rig_flow f;
	int sandbox[2], world[2];

	begin("network: any\n");
	rig_pair(sandbox);
	rig_pair(world);
	flows_join(rig.gate->flows, sandbox[1], world[1]);
	f = (struct rig_flow){.client = sandbox[0], .server = world[0]};
	change("network: deny\nallow: [a.example.com]\n");
	rig_expect_passes(&rig, &f);
	rig_close(&f);
}

/* A megabyte runs through ten changes of the policy, octet for octet. */
static void a_stream_runs_through_changes(void **state)
{
	enum { OCTETS = 1024 * 1024 };
	static uint8_t part[16384], got[65536];
	static const char *const policies[] = {
		"network: deny\nallow: [a.example.com, c.example.com]\n",
		"network: deny\nallow: ['*.example.com']\n",
		"network: open\n",
	};
	struct rig_flow f;
	size_t sent = 0, seen = 0;
	ssize_t n;

	begin("network: deny\nallow: [a.example.com]\n");
	rig_bind(&rig, "a.example.com", "93.184.0.1");
	f = open_tls("a.example.com", "93.184.0.1", false);
	for (int round = 0; round < 100000 && seen < OCTETS; round++) {
		for (size_t i = 0; i < sizeof(part); i++)
			part[i] = (uint8_t)((sent + i) * 7 + (sent + i) / 256);
		if (sent < OCTETS &&
		    (n = send(f.client, part, sizeof(part), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
			sent += (size_t)n;
		if (round % 3 == 0 && generation < 11)
			change(policies[generation % 3]);
		rig_turns(&rig, 1);
		while ((n = recv(f.server, got, sizeof(got), MSG_DONTWAIT)) > 0)
			for (ssize_t i = 0; i < n; i++, seen++)
				if (got[i] != (uint8_t)(seen * 7 + seen / 256))
					fail_msg("octet %zu", seen);
	}
	assert_int_equal(generation, 11);
	assert_int_equal(seen, sent);
	expect_lives(&f);
	rig_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_address_that_is_denied_now_is_cut, end),
		cmocka_unit_test_teardown(a_host_port_that_is_taken_away_is_cut, end),
		cmocka_unit_test_teardown(none_cuts_all_of_it, end),
		cmocka_unit_test_teardown(a_port_that_is_taken_away_is_cut, end),
		cmocka_unit_test_teardown(a_denied_name_cuts_a_flow_to_its_address, end),
		cmocka_unit_test_teardown(
			a_web_flow_that_was_not_looked_into_is_judged_by_its_bound_names, end),
		cmocka_unit_test_teardown(
			a_web_flow_that_was_not_looked_into_needs_a_policy_that_would_not, end),
		cmocka_unit_test_teardown(the_name_that_admitted_a_flow_is_judged_again, end),
		cmocka_unit_test_teardown(another_allowed_name_of_the_address_keeps_a_raw_flow,
					  end),
		cmocka_unit_test_teardown(the_server_name_inside_is_judged_again, end),
		cmocka_unit_test_teardown(
			a_server_name_that_was_never_looked_up_does_not_outlive_open, end),
		cmocka_unit_test_teardown(an_encrypted_hello_is_cut_when_it_is_refused_now, end),
		cmocka_unit_test_teardown(the_host_of_the_last_request_is_judged_again, end),
		cmocka_unit_test_teardown(a_request_is_judged_again_by_method_and_path, end),
		cmocka_unit_test_teardown(a_long_path_does_not_pass_for_its_beginning, end),
		cmocka_unit_test_teardown(a_flow_that_has_said_nothing_goes_on_under_the_new_policy,
					  end),
		cmocka_unit_test_teardown(a_half_closed_flow_is_reset_too, end),
		cmocka_unit_test_teardown(a_published_flow_stays, end),
		cmocka_unit_test_teardown(a_stream_runs_through_changes, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
