/* SPDX-License-Identifier: Apache-2.0 */
/* broker_door: what is counted of connections at the broker, their limits and ends, and dials. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "handover_rig.h"
#include "own_clock.h"

/* ---- what is counted ---- */

static void its_end_has_its_octets(void **state)
{
	struct rig_flow f;
	struct record r;
	struct got got;

	begin(ALLOWED);
	got = hand_over(&f);
	say(GATE_MOVED, got.m.connection, 1000, 5000);
	assert_int_equal(rig.gate->counters->bytes_out, 1000);
	assert_int_equal(rig.gate->counters->bytes_in, 5000);
	/* One that falls is a lie, and one of another connection too. */
	say(GATE_MOVED, got.m.connection, 10, 10);
	say(GATE_ENDED, got.m.connection + 1, 9999, 9999);
	assert_int_equal(flows_open_in_all(rig.gate), 1);
	say(GATE_ENDED, got.m.connection, 1500, 7000);
	r = next_of(RECORD_END);
	assert_int_equal(r.bytes_out, 1500);
	assert_int_equal(r.bytes_in, 7000);
	assert_int_equal(r.reason, REASON_NONE);
	assert_int_equal(rig.gate->counters->bytes_out, 1500);
	assert_int_equal(rig.gate->counters->bytes_in, 7000);
	assert_int_equal(flows_open_in_all(rig.gate), 0);
	say(GATE_ENDED, got.m.connection, 1500, 7000);
	assert_false(rig_record(&rig, &r));
	drop(&got);
	rig_close(&f);
}

static void a_number_is_not_used_again(void **state)
{
	uint32_t before = 0;

	begin(ALLOWED);
	for (int i = 0; i < 3; i++) {
		struct rig_flow f;
		struct got got = hand_over(&f);

		assert_true(got.m.connection != before);
		say(GATE_ENDED, before, 5, 5);
		assert_int_equal(flows_open_in_all(rig.gate), 1);
		before = got.m.connection;
		say(GATE_ENDED, before, 0, 0);
		drop(&got);
		rig_close(&f);
	}
}

static void they_count_as_open_flows(void **state)
{
	struct rig_flow f, g;
	struct got got;

	begin("network: deny\nallow: [" SEEN ", 93.184.0.3]\ninspect: [" SEEN
	      "]\nlimits: {flows: 2}\n");
	got = hand_over(&f);
	g = rig_open(&rig, "93.184.0.3", 22);
	assert_int_equal(flows_open_in_all(rig.gate), 2);
	say(GATE_ENDED, got.m.connection, 0, 0);
	assert_int_equal(flows_open_in_all(rig.gate), 1);
	drop(&got);
	rig_close(&f);
	rig_close(&g);
}

static void the_table_has_an_end(void **state)
{
	struct handing h = {.flags = GATE_TLS};
	struct name seen = rig_name(SEEN);
	int pair[2];

	begin(ALLOWED);
	h.name = &seen;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	h.client = pair[0];
	h.server = pair[1];
	for (size_t i = 0; i < GATE_CONNECTIONS_MAX; i++) {
		struct got got;

		assert_int_equal(broker_door_hand_over(rig.gate->broker, &h), REASON_NONE);
		assert_true(take(&got));
		drop(&got);
	}
	assert_int_equal(broker_door_hand_over(rig.gate->broker, &h), REASON_LIMIT_FLOWS);
	assert_int_equal(broker_door_open(rig.gate->broker), GATE_CONNECTIONS_MAX);
	close(pair[0]);
	close(pair[1]);
}

/* ---- limits on octets ---- */

#define LIMITED ALLOWED "limits: {bytes_out: 100000}\n"

/* Reads what it may, and asks for more, until it is cut. Returns what it read. */
static uint64_t read_all(struct got *got)
{
	uint64_t may = got->m.out;

	for (;;) {
		struct got next;

		say(GATE_WANTS, got->m.connection, may, 0);
		assert_true(take(&next));
		if (next.m.kind == GATE_CUT)
			return may;
		assert_int_equal(next.m.kind, GATE_MAY);
		assert_true(next.m.out > may);
		may = next.m.out;
	}
}

static void a_limit_is_met_to_the_octet(void **state)
{
	struct rig_flow f;
	struct got got;

	begin(LIMITED);
	got = hand_over(&f);
	assert_int_equal(read_all(&got), 100000);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_LIMIT_BYTES);
	say(GATE_ENDED, got.m.connection, 100000, 0);
	assert_int_equal(next_of(RECORD_END).reason, REASON_LIMIT_BYTES);
	drop(&got);
	rig_close(&f);
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	expect_refused(&f, REASON_LIMIT_BYTES);
}

static void what_was_not_sent_is_given_back(void **state)
{
	struct rig_flow f, g;
	struct got got, other;

	begin(LIMITED);
	got = hand_over(&f);
	other = hand_over(&g);
	say(GATE_ENDED, other.m.connection, 10, 0);
	assert_int_equal(read_all(&got), 100000 - 10);
	drop(&got);
	drop(&other);
	rig_close(&f);
	rig_close(&g);
}

/* One that downloads only says so again and again: that gives it nothing of the others'. */
static void answers_allow_nothing_more(void **state)
{
	struct rig_flow f;
	struct got got;

	begin(LIMITED);
	got = hand_over(&f);
	for (uint64_t in = 1; in < 50; in++)
		say(GATE_MOVED, got.m.connection, 100, in << 20);
	expect_silence();
	drop(&got);
	rig_close(&f);
}

static void a_limit_of_one_host_is_its_own(void **state)
{
	struct rig_flow f;
	struct got got;

	begin(ALLOWED "limits: {bytes_out_per_host: 50000}\n");
	got = hand_over(&f);
	assert_int_equal(read_all(&got), 50000);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_LIMIT_BYTES_PER_HOST);
	drop(&got);
	rig_close(&f);
}

/* ---- another policy ---- */

static void one_that_is_not_admitted_any_more_is_cut(void **state)
{
	struct rig_flow f;
	struct got got, cut;

	begin(ALLOWED);
	got = hand_over(&f);
	change(ALLOWED "limits: {flows: 9}\n");
	expect_silence();
	change("network: deny\nallow: [" OTHER "]\ninspect: [" SEEN "]\n");
	cut = expect(GATE_CUT);
	assert_int_equal(cut.m.connection, got.m.connection);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_NOT_IN_POLICY);
	/* It counts until it has ended, and is judged no more. */
	assert_int_equal(flows_open_in_all(rig.gate), 1);
	change("network: deny\nallow: [" OTHER "]\n");
	expect_silence();
	say(GATE_ENDED, got.m.connection, 5, 6);
	assert_int_equal(next_of(RECORD_END).reason, REASON_NOT_IN_POLICY);
	assert_int_equal(flows_open_in_all(rig.gate), 0);
	drop(&got);
	rig_close(&f);
}

/* ---- the broker's end ---- */

static void its_end_is_that_of_all_it_had(void **state)
{
	struct rig_flow f;
	struct got got;

	begin(ALLOWED);
	got = hand_over(&f);
	close(broker);
	broker = -1;
	rig_turns(&rig, 2);
	assert_int_equal(next_of(RECORD_END).reason, REASON_BROKER_DOWN);
	assert_int_equal(flows_open_in_all(rig.gate), 0);
	drop(&got);
	rig_close(&f);
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_BROKER_DOWN);
	rig_close(&f);
	join_broker();
	got = hand_over(&f);
	drop(&got);
	rig_close(&f);
}

static void another_broker_takes_the_place(void **state)
{
	struct rig_flow f;
	struct got got;

	begin(ALLOWED);
	got = hand_over(&f);
	join_broker();
	assert_int_equal(flows_open_in_all(rig.gate), 0);
	drop(&got);
	rig_close(&f);
	got = hand_over(&f);
	drop(&got);
	rig_close(&f);
}

static void only_such_a_socket_is_taken(void **state)
{
	int pair[2], stream[2];
	struct err e;

	begin(ALLOWED);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), 0);
	assert_int_equal(broker_door_connect(rig.gate->broker, pair[0], &e), -1);
	assert_int_equal(broker_door_connect(rig.gate->broker, stream[0], &e), -1);
	/* What was there is there. */
	{
		struct rig_flow f;
		struct got got = hand_over(&f);

		drop(&got);
		rig_close(&f);
	}
	for (size_t i = 0; i < 2; i++) {
		close(pair[i]);
		close(stream[i]);
	}
}

static void what_makes_no_sense_is_passed_over(void **state)
{
	static const uint8_t octets[GATE_MESSAGE_MAX + 40] = {GATE_ENDED};
	struct rig_flow f;
	struct got got;

	begin(ALLOWED);
	got = hand_over(&f);
	for (size_t n = 1; n < sizeof(octets); n++) {
		assert_int_equal(send(broker, octets, n, MSG_NOSIGNAL), n);
		rig_turns(&rig, 1);
	}
	for (int kind = GATE_HANDOVER; kind < GATE_KINDS; kind++)
		if (kind != GATE_DIAL && kind != GATE_DIAL_TOKEN)
			say((enum gate_message_kind)kind, 0xffffffff, 1, 1);
	rig_turns(&rig, 8);
	expect_silence();
	assert_int_equal(flows_open_in_all(rig.gate), 1);
	drop(&got);
	rig_close(&f);
}

/* A broker that reads nothing: what it is owed comes when it does. */
static void what_finds_no_room_is_owed(void **state)
{
	struct rig_flow flows[8];
	struct got got[8], cut;
	unsigned cuts = 0;
	int n = 0;

	begin(ALLOWED);
	for (size_t i = 0; i < sg_array_len(flows); i++)
		got[i] = hand_over(&flows[i]);
	/* Nobody reads them: they fill the socket. */
	while (n++ < 4000)
		say(GATE_DIAL, 0xffffffff, 0, 0);
	change("network: deny\ninspect: [" SEEN "]\n");
	for (int turns = 0; turns < 200 && cuts < sg_array_len(flows); turns++) {
		while (take(&cut))
			cuts += cut.m.kind == GATE_CUT;
		rig_turns(&rig, 2);
	}
	assert_int_equal(cuts, sg_array_len(flows));
	for (size_t i = 0; i < sg_array_len(flows); i++) {
		drop(&got[i]);
		rig_close(&flows[i]);
	}
}

/* ---- dials ---- */

static struct got ask_dial(uint32_t connection)
{
	struct got got;

	say(GATE_DIAL, connection, 0, 0);
	got = expect(GATE_DIALLED);
	assert_int_equal(got.m.number, 7);
	assert_int_equal(got.m.connection, connection);
	assert_int_equal(got.fds[1], -1);
	assert_int_equal(got.m.error == 0, got.fds[0] >= 0);
	return got;
}

/* A server of the test's own, at an address that the policy lists. */
static struct got hand_over_local(struct rig_flow *f, uint16_t port)
{
	*f = open_hello("192.0.0.1", port, SEEN, BOTH);
	return expect(GATE_HANDOVER);
}

#define LOCAL "network: deny\nhost_ports: [%u]\n"

static void begin_local(uint16_t port)
{
	char yaml[256];

	snprintf(yaml, sizeof(yaml), LOCAL "inspect: [\"" SEEN ":%u\"]\n", port, port);
	begin(yaml);
}

static void a_dial_goes_to_the_server_of_the_connection(void **state)
{
	uint16_t port = 0;
	int server = rig_listen("127.0.0.1", &port), accepted;
	struct rig_flow f;
	struct got got, dialled;
	char octet;

	begin_local(port);
	got = hand_over_local(&f, port);
	dialled = ask_dial(got.m.connection);
	accepted = accept(server, NULL, NULL);
	assert_true(accepted >= 0);
	assert_int_equal(send(dialled.fds[0], "x", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(recv(accepted, &octet, 1, 0), 1);
	drop(&dialled);
	/* The gate has no copy of it. */
	assert_int_equal(recv(accepted, &octet, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(accepted);
	close(server);
	dialled = ask_dial(got.m.connection);
	assert_int_equal(dialled.m.error, ECONNREFUSED);
	drop(&got);
	rig_close(&f);
}

static void a_dial_is_judged_anew(void **state)
{
	uint16_t port = 0;
	int server = rig_listen("127.0.0.1", &port);
	struct rig_flow f;
	struct got got, dialled, cut;

	begin_local(port);
	got = hand_over_local(&f, port);
	assert_int_equal(ask_dial(got.m.connection + 1).m.error, EACCES);
	assert_int_equal(ask_dial(0).m.error, EACCES);
	dialled = ask_dial(got.m.connection);
	assert_int_equal(dialled.m.error, 0);
	drop(&dialled);
	change("network: deny\nallow: [" OTHER "]\n");
	cut = expect(GATE_CUT);
	assert_int_equal(cut.m.connection, got.m.connection);
	assert_int_equal(ask_dial(got.m.connection).m.error, EACCES);
	say(GATE_ENDED, got.m.connection, 0, 0);
	assert_int_equal(ask_dial(got.m.connection).m.error, EACCES);
	close(server);
	drop(&got);
	rig_close(&f);
}

static void dials_count_within_the_rate(void **state)
{
	uint16_t port = 0;
	int server = rig_listen("127.0.0.1", &port);
	struct rig_flow f;
	struct got got;
	char yaml[256];

	snprintf(yaml, sizeof(yaml),
		 LOCAL "inspect: [\"" SEEN
		       ":%u\"]\nlimits: {flows_per_second: 1, flows_burst: 1}\n",
		 port, port);
	begin(yaml);
	got = hand_over_local(&f, port);
	{
		struct got first = ask_dial(got.m.connection);

		assert_int_equal(first.m.error, 0);
		drop(&first);
	}
	assert_int_equal(ask_dial(got.m.connection).m.error, EAGAIN);
	close(server);
	drop(&got);
	rig_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ends(its_end_has_its_octets),
		ends(a_number_is_not_used_again),
		ends(they_count_as_open_flows),
		ends(the_table_has_an_end),
		ends(a_limit_is_met_to_the_octet),
		ends(what_was_not_sent_is_given_back),
		ends(answers_allow_nothing_more),
		ends(a_limit_of_one_host_is_its_own),
		ends(one_that_is_not_admitted_any_more_is_cut),
		ends(its_end_is_that_of_all_it_had),
		ends(another_broker_takes_the_place),
		ends(only_such_a_socket_is_taken),
		ends(what_makes_no_sense_is_passed_over),
		ends(what_finds_no_room_is_owed),
		ends(a_dial_goes_to_the_server_of_the_connection),
		ends(a_dial_is_judged_anew),
		ends(dials_count_within_the_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
