/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy: a flow to the proxy port from its accepted socket on. The far side is a listed port of the
 * host's loopback, which needs no lookup; names are in the gate's table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "gate/proxy.h"
#include "gate_rig.h"

static struct rig rig;
static int listener;
static uint16_t port;

/* `more` are lines of the policy beside the one port of the host. */
static void begin(const char *base, const char *more)
{
	char yaml[512];

	port = 0;
	listener = rig_listen("127.0.0.1", &port);
	snprintf(yaml, sizeof(yaml), "network: %s\nhost_ports: [%u]\n%s", base, port, more);
	rig_begin(&rig, yaml);
}

static int end(void **state)
{
	close(listener);
	rig_end(&rig);
	return 0;
}

/* As the handshake leaves it. */
static struct rig_flow open_proxy(uint16_t to)
{
	static uint16_t next_port = 30000;
	struct flow *fl = flow_table_take(rig.gate->flows);
	static const int on = 1;
	struct judged j;
	int sandbox[2];

	rig_pair(sandbox);
	/* What is only looked at is acknowledged late, and Nagle's algorithm would wait for that. */
	assert_int_equal(setsockopt(sandbox[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	fl->src = (struct endpoint){rig.gate->sandbox_v4, next_port++};
	fl->dst = (struct endpoint){rig.gate->gate_v4, to};
	flow_table_insert(rig.gate->flows, fl);
	judge_destination(rig.gate, &fl->dst, PROTO_TCP, &j);
	assert_int_equal(j.kind, JUDGED_PROXY);
	assert_true(proxy_begin(fl));
	assert_int_equal(flow_set_socket(sandbox[1]), 0);
	assert_int_equal(loop_add(rig.gate->loop, &fl->in.watch, sandbox[1], FLOW_EVENTS | EPOLLET),
			 0);
	return (struct rig_flow){fl, fl->generation, sandbox[0], -1};
}

static void say(const struct rig_flow *f, const void *octets, size_t n)
{
	assert_int_equal(send(f->client, octets, n, MSG_NOSIGNAL), n);
	rig_turns(&rig, 6);
}

static void say_text(const struct rig_flow *f, const char *text)
{
	say(f, text, strlen(text));
}

/* What was sent in small pieces is under way for a while. */
static ssize_t await_octets(int fd, void *got, size_t n)
{
	ssize_t r = -1;

	for (int ms = 0; ms < 5000 && (r = recv(fd, got, n, MSG_DONTWAIT)) < 0; ms++) {
		usleep(1000);
		rig_turns(&rig, 2);
	}
	return r;
}

static void await_server(struct rig_flow *f)
{
	for (int ms = 0; ms < 5000 && f->server < 0; ms++) {
		rig_turns(&rig, 2);
		f->server = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		usleep(1000);
	}
	assert_true(f->server >= 0);
}

static const char *heard(const struct rig_flow *f, size_t *n)
{
	static char got[4096];
	ssize_t r = await_octets(f->client, got, sizeof(got) - 1);

	*n = r < 0 ? 0 : (size_t)r;
	got[*n] = 0;
	return got;
}

static const char *heard_text(const struct rig_flow *f)
{
	size_t n;

	return heard(f, &n);
}

static void expect_heard(const struct rig_flow *f, const void *octets, size_t n)
{
	size_t got_n;
	const char *got = heard(f, &got_n);

	assert_int_equal(got_n, n);
	assert_memory_equal(got, octets, n);
}

static void connect_request(char *text, size_t n, const char *host, unsigned to)
{
	snprintf(text, n, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, to, host, to);
}

static void await_end(const struct rig_flow *f)
{
	for (int ms = 0; ms < 5000 && rig_is_open(f); ms++) {
		rig_turns(&rig, 2);
		usleep(1000);
	}
	assert_false(rig_is_open(f));
}

static struct record next_record(void)
{
	struct record got;

	if (!rig_record(&rig, &got))
		fail_msg("there is no record");
	return got;
}

static void expect_no_record(void)
{
	struct record got;

	assert_false(rig_record(&rig, &got));
}

/* A tunnel that is open, with its far side. */
static struct rig_flow open_tunnel(void)
{
	struct rig_flow f = open_proxy(PROXY_HTTP_PORT);
	char text[256];

	connect_request(text, sizeof(text), "host.sandgate.internal", port);
	say_text(&f, text);
	assert_string_equal(heard_text(&f), "HTTP/1.1 200 Connection established\r\n\r\n");
	await_server(&f);
	return f;
}

static void a_tunnel_passes_octets_and_is_noted(void **state)
{
	struct record got;
	struct rig_flow f;

	begin("deny", "");
	f = open_tunnel();
	rig_expect_passes(&rig, &f);
	got = next_record();
	assert_int_equal(got.kind, RECORD_ALLOW);
	assert_int_equal(got.proto, RECORD_CONNECT);
	assert_string_equal(got.name.s, "host.sandgate.internal");
	assert_int_equal(got.port, port);
	assert_int_equal(rig.gate->counters->flows_opened, 1);
	rig_close(&f);
	await_end(&f);
	got = next_record();
	assert_int_equal(got.kind, RECORD_END);
	assert_int_equal(got.bytes_out, 2);
	assert_int_equal(got.bytes_in, 4);
	expect_no_record();
}

static void a_request_may_come_in_pieces_with_early_data(void **state)
{
	struct rig_flow f;
	char text[256], got[8] = "";
	size_t n;

	begin("deny", "");
	f = open_proxy(PROXY_HTTP_PORT);
	connect_request(text, sizeof(text), "host.sandgate.internal", port);
	n = strlen(text);
	for (size_t i = 0; i < n - 1; i++)
		say(&f, text + i, 1);
	assert_int_equal(recv(f.client, got, sizeof(got), MSG_DONTWAIT), -1);
	say_text(&f, "\nearly");
	await_server(&f);
	assert_int_equal(await_octets(f.server, got, sizeof(got)), 5);
	assert_string_equal(got, "early");
	rig_close(&f);
}

static void a_refusal_is_told_noted_and_leads_nowhere(void **state)
{
	struct rig_flow f;
	struct record got;
	char text[256];
	const char *answer;

	begin("deny", "allow: [api.example.com]\n");
	f = open_proxy(PROXY_HTTP_PORT);
	connect_request(text, sizeof(text), "other.example.com", 443);
	say_text(&f, text);
	answer = heard_text(&f);
	assert_int_equal(strncmp(answer, "HTTP/1.1 403 sandgate: other.example.com:443: ", 46), 0);
	assert_non_null(strstr(answer, "sandgate net allow box site:other.example.com\r\n"));
	got = next_record();
	assert_int_equal(got.kind, RECORD_DENY);
	assert_int_equal(got.proto, RECORD_CONNECT);
	assert_int_equal(got.reason, REASON_NOT_IN_POLICY);
	assert_string_equal(got.name.s, "other.example.com");
	assert_int_equal(got.port, 443);
	close(f.client);
	await_end(&f);
	expect_no_record();
	assert_int_equal(rig.gate->totals->dns->refused, 0);
	assert_int_equal(rig.gate->counters->flows_refused, 1);
	assert_int_equal(rig.gate->counters->flows_opened, 0);
}

/* An address of the table that points inward, as a policy change may leave one. */
static void addresses_are_vetted_with_the_name(void **state)
{
	struct rig_flow f;
	char text[256];

	begin("deny", "allow: [inward.example.com]\n");
	rig_bind(&rig, "inward.example.com", "127.0.0.1");
	f = open_proxy(PROXY_HTTP_PORT);
	connect_request(text, sizeof(text), "inward.example.com", port);
	say_text(&f, text);
	rig_turns(&rig, 6);
	assert_null(strstr(heard_text(&f), " 200 "));
	assert_int_equal(accept(listener, NULL, NULL), -1);
	close(f.client);
	rig_turns(&rig, 6);
}

static void a_dial_that_fails_is_no_refusal(void **state)
{
	struct rig_flow f;
	char text[256];

	begin("deny", "");
	close(listener);
	f = open_proxy(PROXY_HTTP_PORT);
	connect_request(text, sizeof(text), "host.sandgate.internal", port);
	say_text(&f, text);
	assert_int_equal(strncmp(heard_text(&f), "HTTP/1.1 502 ", 13), 0);
	assert_int_equal(next_record().kind, RECORD_ALLOW);
	close(f.client);
	await_end(&f);
	assert_int_equal(next_record().kind, RECORD_END);
	assert_int_equal(rig.gate->counters->flows_refused, 0);
	listener = -1;
}

static void a_client_that_goes_away_leaves_nothing(void **state)
{
	static const char *const parts[] = {"", "CONNECT host", "\5\1", "\5\1\0"};

	begin("deny", "");
	for (size_t i = 0; i < sg_array_len(parts); i++) {
		struct rig_flow f = open_proxy(i < 2 ? PROXY_HTTP_PORT : PROXY_SOCKS_PORT);

		if (i == 3)
			say(&f, "\5\1\0", 3);
		else
			say_text(&f, parts[i]);
		close(f.client);
		await_end(&f);
	}
	expect_no_record();
	assert_int_equal(flows_open(rig.gate->flows), 0);
}

static void socks_by_both_methods(void **state)
{
	static const char request[] = "\5\1\0\3\26host.sandgate.internal";
	static const char accepted[] = "\5\0\0\1\0\0\0\0\0\0";

	begin("deny", "");
	for (int password = 0; password < 2; password++) {
		struct rig_flow f = open_proxy(PROXY_SOCKS_PORT);
		uint8_t wire[2] = {(uint8_t)(port >> 8), (uint8_t)port};

		say(&f, password ? "\5\1\2" : "\5\1\0", 3);
		expect_heard(&f, password ? "\5\2" : "\5\0", 2);
		if (password) {
			say(&f, "\1\1u\1p", 5);
			expect_heard(&f, "\1\0", 2);
		}
		say(&f, request, sizeof(request) - 1);
		say(&f, wire, sizeof(wire));
		await_server(&f);
		expect_heard(&f, accepted, sizeof(accepted) - 1);
		rig_expect_passes(&rig, &f);
		assert_int_equal(next_record().proto, RECORD_SOCKS);
		rig_close(&f);
		await_end(&f);
		next_record();
	}
}

static void another_policy_judges_a_tunnel_again(void **state)
{
	struct rig_flow f, other;
	char yaml[128];
	struct err e;

	begin("deny", "");
	f = open_tunnel();
	next_record();
	snprintf(yaml, sizeof(yaml), "network: brokered\nhost_ports: [%u]\n", port);
	assert_int_equal(rig_change(&rig, yaml, 2, &e), 0);
	rig_expect_passes(&rig, &f);
	/* One that has not said where to is judged when it does. */
	other = open_proxy(PROXY_HTTP_PORT);
	assert_int_equal(rig_change(&rig, "network: brokered\n", 3, &e), 0);
	await_end(&f);
	rig_expect_reset(f.client);
	assert_int_equal(next_record().reason, REASON_PORT_NOT_ALLOWED);
	assert_true(rig_is_open(&other));
	connect_request(yaml, sizeof(yaml), "host.sandgate.internal", port);
	say_text(&other, yaml);
	assert_int_equal(strncmp(heard_text(&other), "HTTP/1.1 403 ", 13), 0);
	rig_close(&f);
	close(other.client);
}

/* A policy under which what it carries is to be looked at comes while its far side is dialled. */
static void another_policy_may_come_while_it_is_dialled(void **state)
{
	struct rig_flow f;
	char text[256];
	struct err e;

	begin("deny", "");
	f = open_proxy(PROXY_HTTP_PORT);
	connect_request(text, sizeof(text), "host.sandgate.internal", port);
	assert_int_equal(send(f.client, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	for (int i = 0; i < 100 && !f.flow->by_proxy; i++)
		rig_turns(&rig, 1);
	assert_int_equal(f.flow->state, FLOW_PROXY);
	snprintf(text, sizeof(text), "network: deny\nhost_ports: [%u]\ninspect: [a.example.com]\n",
		 port);
	assert_int_equal(rig_change(&rig, text, 2, &e), 0);
	assert_string_equal(heard_text(&f), "HTTP/1.1 200 Connection established\r\n\r\n");
	await_server(&f);
	rig_expect_passes(&rig, &f);
	rig_close(&f);
}

/* From its admission on it is not found by its 4-tuple: that may be used again. */
static void the_tuple_is_free_for_another(void **state)
{
	struct rig_flow f;
	struct endpoint src, gate;

	begin("deny", "");
	f = open_tunnel();
	src = f.flow->src;
	gate = (struct endpoint){rig.gate->gate_v4, PROXY_HTTP_PORT};
	assert_null(flow_table_find(rig.gate->flows, &src, &gate));
	rig_close(&f);
	await_end(&f);
	assert_int_equal(flows_open(rig.gate->flows), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_tunnel_passes_octets_and_is_noted, end),
		cmocka_unit_test_teardown(a_request_may_come_in_pieces_with_early_data, end),
		cmocka_unit_test_teardown(a_refusal_is_told_noted_and_leads_nowhere, end),
		cmocka_unit_test_teardown(addresses_are_vetted_with_the_name, end),
		cmocka_unit_test_teardown(a_dial_that_fails_is_no_refusal, end),
		cmocka_unit_test_teardown(a_client_that_goes_away_leaves_nothing, end),
		cmocka_unit_test_teardown(socks_by_both_methods, end),
		cmocka_unit_test_teardown(another_policy_judges_a_tunnel_again, end),
		cmocka_unit_test_teardown(another_policy_may_come_while_it_is_dialled, end),
		cmocka_unit_test_teardown(the_tuple_is_free_for_another, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
