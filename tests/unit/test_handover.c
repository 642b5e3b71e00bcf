/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover: which connections go to the broker, what is counted of them there, and that there is no
 * other way to a host that has to be seen. The broker's end of the socket is the test's.
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

#include "client_hello.h"
#include "gate/broker_door.h"
#include "gate_rig.h"
#include "io/passed_fd.h"

#define SEEN  "seen.example.com"
#define OTHER "other.example.com"
#define BOTH  "\2h2\10http/1.1"

static struct rig rig;
static int broker = -1; /* its end */
static uint64_t generation;

static void begin_alone(const char *yaml)
{
	rig_begin(&rig, yaml);
	generation = 1;
	rig_bind(&rig, SEEN, "93.184.0.1");
	rig_bind(&rig, OTHER, "93.184.0.2");
}

static void join_broker(void)
{
	int pair[2];
	struct err e;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	if (broker >= 0)
		close(broker);
	broker = pair[0];
	assert_int_equal(broker_door_connect(rig.gate->broker, pair[1], &e), 0);
	close(pair[1]);
}

static void begin(const char *yaml)
{
	begin_alone(yaml);
	join_broker();
}

static int end(void **state)
{
	if (rig.ring)
		rig_end(&rig);
	rig.ring = NULL;
	rig_catalogue = NULL;
	if (broker >= 0)
		close(broker);
	broker = -1;
	return 0;
}

static void change(const char *yaml)
{
	struct err e;

	if (rig_change(&rig, yaml, ++generation, &e) != 0)
		fail_msg("%s", e.text);
	rig_turns(&rig, 2);
}

/* ---- what the broker gets and says ---- */

struct got {
	struct gate_message m;
	int fds[2];
};

static bool take(struct got *got)
{
	uint8_t octets[GATE_MESSAGE_MAX + 1];
	ssize_t n = passed_fds_receive(broker, octets, sizeof(octets), got->fds, 2);

	if (n <= 0)
		return false;
	assert_true(gate_message_parse(span_of(octets, (size_t)n), &got->m));
	return true;
}

static struct got expect(enum gate_message_kind kind)
{
	struct got got;

	/* The kernel may keep octets back for a while: a dial takes its time, and many small sends. */
	for (int i = 0; i < 1000; i++) {
		rig_turns(&rig, 2);
		if (take(&got)) {
			assert_int_equal(got.m.kind, kind);
			return got;
		}
		usleep(2000);
	}
	fail_msg("the broker is told nothing");
	return got;
}

static void expect_silence(void)
{
	struct got got;

	rig_turns(&rig, 2);
	if (take(&got))
		fail_msg("the broker is told of kind %d", got.m.kind);
}

static void say(enum gate_message_kind kind, uint32_t connection, uint64_t out, uint64_t in)
{
	struct gate_message m = {
		.kind = (uint8_t)kind, .connection = connection, .out = out, .in = in};
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	m.number = 7;
	gate_message_print(&m, &b);
	assert_int_equal(send(broker, b.p, b.n, MSG_NOSIGNAL), b.n);
	rig_turns(&rig, 2);
}

static void drop(struct got *got)
{
	for (size_t i = 0; i < 2; i++)
		if (got->fds[i] >= 0)
			close(got->fds[i]);
}

/* ---- clients ---- */

static struct rig_flow open_hello(const char *addr, uint16_t port, const char *name,
				  const char *alpn)
{
	struct rig_flow f = rig_open(&rig, addr, port);
	uint8_t hello[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, name, false, alpn);

	assert_int_equal(send(f.client, hello, n, MSG_NOSIGNAL), n);
	rig_turns(&rig, 3);
	return f;
}

static struct rig_flow open_text(const char *addr, uint16_t port, const char *text)
{
	struct rig_flow f = rig_open(&rig, addr, port);

	assert_int_equal(send(f.client, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	rig_turns(&rig, 3);
	return f;
}

static void expect_spliced(struct rig_flow *f, size_t n)
{
	uint8_t got[4096];

	assert_true(rig_is_open(f));
	assert_int_equal(recv(f->server, got, sizeof(got), MSG_DONTWAIT), n);
	expect_silence();
	rig_close(f);
}

static struct record next_of(enum record_kind kind)
{
	struct record got = {0};

	do {
		if (!rig_record(&rig, &got))
			fail_msg("there is no such record");
	} while (got.kind != kind);
	return got;
}

static void expect_refused(struct rig_flow *f, enum reason why)
{
	uint8_t got[64];
	struct record r;

	expect_silence();
	r = next_of(RECORD_DENY);
	if (r.reason != why)
		fail_msg("it was refused for %s", reason_word(r.reason));
	/* Not an octet has gone to the server. */
	assert_true(recv(f->server, got, sizeof(got), MSG_DONTWAIT) <= 0);
	rig_close(f);
}

/* ---- what goes ---- */

#define ALLOWED "network: deny\nallow: [" SEEN ", " OTHER "]\ninspect: [" SEEN "]\n"

static void a_hello_is_handed_over_unread(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX], octets[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	struct name seen = rig_name(SEEN);
	struct rig_flow f;
	struct record r;
	struct got got;

	begin(ALLOWED);
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	got = expect(GATE_HANDOVER);
	assert_int_equal(got.m.flags, GATE_TLS | GATE_OFFERS_HTTP2 | GATE_OFFERS_HTTP1);
	assert_true(name_equal(&got.m.name, &seen));
	assert_int_equal(got.m.dst.port, 443);
	assert_int_equal(got.m.out, 1 << 20);
	assert_false(rig_is_open(&f));
	assert_int_equal(flows_open_in_all(rig.gate), 1);
	/* Both are what the client and the server are connected to, whatever the gate closed. */
	assert_int_equal(recv(got.fds[0], octets, sizeof(octets), MSG_DONTWAIT), n);
	assert_memory_equal(octets, hello, n);
	assert_int_equal(send(got.fds[1], "up", 2, MSG_NOSIGNAL), 2);
	assert_int_equal(recv(f.server, octets, sizeof(octets), 0), 2);
	r = next_of(RECORD_ALLOW);
	assert_int_equal(r.proto, RECORD_TCP);
	assert_true(name_equal(&r.name, &seen));
	assert_false(rig_record(&rig, &r));
	drop(&got);
	rig_close(&f);
}

static void the_offers_are_those_of_the_hello(void **state)
{
	static const struct {
		const char *alpn;
		uint8_t flags;
	} table[] = {{"", GATE_TLS},
		     {"\2h2", GATE_TLS | GATE_OFFERS_HTTP2},
		     {"\10http/1.1", GATE_TLS | GATE_OFFERS_HTTP1},
		     {"\4mqtt\10http/1.1", GATE_TLS | GATE_OFFERS_HTTP1}};

	begin(ALLOWED);
	for (size_t i = 0; i < sg_array_len(table); i++) {
		struct rig_flow f = open_hello("93.184.0.1", 443, SEEN, table[i].alpn);
		struct got got = expect(GATE_HANDOVER);

		assert_int_equal(got.m.flags, table[i].flags);
		drop(&got);
		rig_close(&f);
	}
}

static void what_speaks_no_http_is_told_at_once(void **state)
{
	struct rig_flow f;

	begin(ALLOWED);
	f = open_hello("93.184.0.1", 443, SEEN, "\4mqtt");
	expect_refused(&f, REASON_NOT_HTTP);
}

static void another_host_is_spliced(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	struct rig_flow f;

	begin(ALLOWED);
	f = open_hello("93.184.0.2", 443, OTHER, BOTH);
	expect_spliced(&f, client_hello(hello, OTHER, false, BOTH));
}

static void without_a_broker_it_is_refused_at_once(void **state)
{
	static const uint8_t denied[] = {21, 3, 3, 0, 2, 2, 49};
	struct rig_flow f;
	uint8_t got[64];

	begin_alone(ALLOWED);
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	assert_int_equal(recv(f.client, got, sizeof(got), MSG_DONTWAIT), sizeof(denied));
	assert_memory_equal(got, denied, sizeof(denied));
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_BROKER_DOWN);
	assert_int_equal(rig.gate->counters->flows_refused, 1);
	rig_close(&f);
}

/* ---- plain HTTP ---- */

/* A host of a permission that is for some requests only, in plain HTTP as well. */
#define GITHUB	  "github.com"
#define PLAIN	  "network: deny\nallow: [" OTHER "]\npermissions: [github]\n"
#define GET(host) "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n"

static void begin_catalogued(const char *yaml)
{
	rig_catalogue = catalogue_builtin();
	begin(yaml);
	rig_bind(&rig, GITHUB, "93.184.0.1");
}

static void the_first_request_decides(void **state)
{
	struct rig_flow f;
	struct got got;
	char text[256];

	begin_catalogued(PLAIN);
	rig_bind(&rig, OTHER, "93.184.0.1");
	f = open_text("93.184.0.1", 80, GET(GITHUB) GET(OTHER));
	got = expect(GATE_HANDOVER);
	assert_int_equal(got.m.flags, 0);
	assert_int_equal(recv(got.fds[0], text, sizeof(text), MSG_DONTWAIT),
			 strlen(GET(GITHUB) GET(OTHER)));
	drop(&got);
	rig_close(&f);
}

static void a_later_request_is_refused_in_its_order(void **state)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct rig_flow f;
	char text[2048];
	ssize_t n;

	begin_catalogued(PLAIN);
	rig_bind(&rig, OTHER, "93.184.0.1");
	f = open_text("93.184.0.1", 80, GET(OTHER) GET(GITHUB));
	assert_int_equal(recv(f.server, text, sizeof(text), MSG_DONTWAIT), strlen(GET(OTHER)));
	assert_int_equal(send(f.server, answer, strlen(answer), MSG_NOSIGNAL), strlen(answer));
	close(f.server);
	rig_turns(&rig, 4);
	n = recv(f.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > (ssize_t)strlen(answer));
	text[n] = 0;
	assert_memory_equal(text, answer, strlen(answer));
	assert_non_null(strstr(text, "sandgate-reason: not-inspected\r\n"));
	expect_silence();
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_NOT_INSPECTED);
	close(f.client);
}

static void plain_http_without_a_broker_is_answered(void **state)
{
	struct rig_flow f;
	char text[2048];
	ssize_t n;

	begin_catalogued(PLAIN);
	close(broker);
	broker = -1;
	rig_turns(&rig, 1);
	f = open_text("93.184.0.1", 80, GET(GITHUB));
	n = recv(f.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, "403 Forbidden\r\n"));
	assert_non_null(strstr(text, "sandgate-reason: broker-down\r\n"));
	rig_close(&f);
}

/* ---- what is counted ---- */

static struct got hand_over(struct rig_flow *f)
{
	*f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	return expect(GATE_HANDOVER);
}

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

static void expect_cut_unseen(struct rig_flow *f)
{
	assert_false(rig_is_open(f));
	rig_expect_reset(f->client);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_NOT_INSPECTED);
	rig_close(f);
}

static void a_policy_that_begins_to_see_cuts_what_it_cannot(void **state)
{
	struct rig_flow f, port, stays;

	begin("network: deny\nallow: [" SEEN ", " OTHER ", \"" SEEN ":8443\"]\n");
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	port = open_hello("93.184.0.1", 8443, SEEN, BOTH);
	stays = open_hello("93.184.0.2", 443, OTHER, BOTH);
	change("network: deny\nallow: [" SEEN ", " OTHER ", \"" SEEN ":8443\"]\n"
	       "inspect: [" SEEN ", \"" SEEN ":8443\"]\n");
	expect_cut_unseen(&f);
	expect_cut_unseen(&port);
	assert_true(rig_is_open(&stays));
	rig_close(&stays);
}

static void plain_http_that_is_to_be_seen_is_cut_too(void **state)
{
	struct rig_flow f;

	begin_catalogued("network: deny\nallow: [" GITHUB "]\n");
	f = open_text("93.184.0.1", 80, GET(GITHUB));
	assert_true(rig_is_open(&f));
	change(PLAIN);
	expect_cut_unseen(&f);
}

static void what_waits_goes_to_the_broker_when_it_comes(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	struct rig_flow f;
	struct got got;

	begin("network: deny\nallow: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.1", 443);
	change(ALLOWED);
	assert_true(rig_is_open(&f));
	assert_int_equal(send(f.client, hello, n, MSG_NOSIGNAL), n);
	got = expect(GATE_HANDOVER);
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
		if (kind != GATE_DIAL && kind != GATE_WANTS)
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

/* ---- ways round it ---- */

/* Admitted by their addresses, raw, or by everything: TLS to the host goes to the broker all the
 * same. */
static void it_is_seen_whatever_admits_the_connection(void **state)
{
	static const struct {
		const char *yaml;
		uint16_t port;
	} table[] = {
		{"network: deny\nallow: [\"93.184.0.1:443\"]\ninspect: [" SEEN "]\n", 443},
		{"network: deny\nallow: [93.184.0.0/16]\ninspect: [" SEEN "]\n", 443},
		{"network: deny\nallow: [\"" SEEN ":443/raw\"]\ninspect: [" SEEN "]\n", 443},
		{"network: deny\nallow: [\"" SEEN ":8443\"]\ninspect: [\"" SEEN ":8443\"]\n", 8443},
		{"network: any\ninspect: [" SEEN "]\n", 443},
		{"network: any\ninspect: all\n", 443},
		{"network: open\ninspect: [" SEEN "]\n", 443},
		{"network: open\ninspect: [\"" SEEN ":8443\"]\n", 8443},
	};

	for (size_t i = 0; i < sg_array_len(table); i++) {
		struct rig_flow f;
		struct got got;

		begin(table[i].yaml);
		f = open_hello("93.184.0.1", table[i].port, SEEN, BOTH);
		got = expect(GATE_HANDOVER);
		assert_int_equal(got.m.dst.port, table[i].port);
		drop(&got);
		rig_close(&f);
		end(NULL);
	}
}

/* The host's own address under no name, under another, or under none that can be read. */
static void its_address_carries_nothing_else(void **state)
{
	static const char *const yaml[] = {
		"network: any\ninspect: [" SEEN "]\n",
		"network: deny\nallow: [\"" SEEN ":443/raw\"]\ninspect: [" SEEN "]\n",
		"network: deny\nallow: [" SEEN ", \"93.184.0.1:443\"]\ninspect: [" SEEN "]\n",
	};

	for (size_t i = 0; i < sg_array_len(yaml); i++) {
		struct rig_flow f;

		begin(yaml[i]);
		f = open_hello("93.184.0.1", 443, "", BOTH);
		expect_refused(&f, REASON_NO_SERVER_NAME);
		f = open_hello("93.184.0.1", 443, "front.example.net", BOTH);
		expect_refused(&f, REASON_SNI_MISMATCH);
		f = open_text("93.184.0.1", 443, "SSH-2.0-x\r\n");
		expect_refused(&f, REASON_NOT_TLS);
		f = open_text("93.184.0.1", 443, "\x16\x03\x01\x01\x01\x02");
		expect_refused(&f, REASON_MALFORMED_TLS);
		end(NULL);
	}
	begin("network: open\ninspect: [" SEEN "]\n");
	{
		struct rig_flow f = open_hello("93.184.0.1", 443, "front.example.net", BOTH);

		expect_refused(&f, REASON_SNI_MISMATCH);
	}
}

static void what_is_not_for_it_passes_as_it_did(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	struct rig_flow f;

	begin("network: any\ninspect: [" SEEN "]\n");
	f = open_hello("93.184.0.9", 443, "", BOTH);
	expect_spliced(&f, client_hello(hello, "", false, BOTH));
	f = open_hello("93.184.0.9", 443, "front.example.net", BOTH);
	expect_spliced(&f, client_hello(hello, "front.example.net", false, BOTH));
	f = open_hello("93.184.0.2", 443, OTHER, BOTH);
	expect_spliced(&f, client_hello(hello, OTHER, false, BOTH));
	f = open_text("93.184.0.9", 5432, "\x08\x16\x03");
	expect_spliced(&f, 3);
	f = open_text("93.184.0.1", 22, "SSH-2.0-client\r\n");
	expect_spliced(&f, 16);
}

/* Nothing is waited for where the server speaks first. */
static void a_server_may_speak_first(void **state)
{
	struct rig_flow f;
	char got[16];

	begin("network: any\ninspect: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.9", 443);
	assert_int_equal(send(f.server, "220 ready", 9, MSG_NOSIGNAL), 9);
	rig_turns(&rig, 3);
	assert_int_equal(recv(f.client, got, sizeof(got), MSG_DONTWAIT), 9);
	rig_expect_passes(&rig, &f);
	rig_close(&f);
}

/* After the server has spoken it is no TLS that could be opened: it is cut, not let by. */
static void a_greeting_does_not_open_a_way(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	struct rig_flow f;

	begin("network: any\ninspect: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.9", 443);
	assert_int_equal(send(f.server, "220 ready", 9, MSG_NOSIGNAL), 9);
	rig_turns(&rig, 3);
	assert_int_equal(send(f.client, hello, n, MSG_NOSIGNAL), n);
	rig_turns(&rig, 3);
	expect_refused(&f, REASON_NOT_INSPECTED);
}

static void a_hello_in_pieces_is_waited_for(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX], octets[64];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	const int on = 1;
	struct rig_flow f;
	struct got got;

	begin("network: any\ninspect: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.9", 443);
	setsockopt(f.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(send(f.client, hello + i, 1, MSG_NOSIGNAL), 1);
		if (i + 1 < n)
			rig_turns(&rig, 2);
	}
	got = expect(GATE_HANDOVER);
	assert_true(recv(f.server, octets, sizeof(octets), MSG_DONTWAIT) < 0);
	drop(&got);
	rig_close(&f);
}

static void without_a_name_nothing_goes_under_inspect_all(void **state)
{
	struct rig_flow f;

	begin("network: any\ninspect: all\n");
	f = open_hello("93.184.0.9", 443, "", BOTH);
	expect_refused(&f, REASON_NO_SERVER_NAME);
}

#define ends(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ends(a_hello_is_handed_over_unread),
		ends(the_offers_are_those_of_the_hello),
		ends(what_speaks_no_http_is_told_at_once),
		ends(another_host_is_spliced),
		ends(without_a_broker_it_is_refused_at_once),
		ends(the_first_request_decides),
		ends(a_later_request_is_refused_in_its_order),
		ends(plain_http_without_a_broker_is_answered),
		ends(its_end_has_its_octets),
		ends(a_number_is_not_used_again),
		ends(they_count_as_open_flows),
		ends(the_table_has_an_end),
		ends(a_limit_is_met_to_the_octet),
		ends(what_was_not_sent_is_given_back),
		ends(answers_allow_nothing_more),
		ends(a_limit_of_one_host_is_its_own),
		ends(one_that_is_not_admitted_any_more_is_cut),
		ends(a_policy_that_begins_to_see_cuts_what_it_cannot),
		ends(plain_http_that_is_to_be_seen_is_cut_too),
		ends(what_waits_goes_to_the_broker_when_it_comes),
		ends(its_end_is_that_of_all_it_had),
		ends(another_broker_takes_the_place),
		ends(only_such_a_socket_is_taken),
		ends(what_makes_no_sense_is_passed_over),
		ends(what_finds_no_room_is_owed),
		ends(a_dial_goes_to_the_server_of_the_connection),
		ends(a_dial_is_judged_anew),
		ends(dials_count_within_the_rate),
		ends(it_is_seen_whatever_admits_the_connection),
		ends(its_address_carries_nothing_else),
		ends(what_is_not_for_it_passes_as_it_did),
		ends(a_server_may_speak_first),
		ends(a_greeting_does_not_open_a_way),
		ends(a_hello_in_pieces_is_waited_for),
		ends(without_a_name_nothing_goes_under_inspect_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
