/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover_rig: a gate, its clients, and the test in the place of the broker: it takes what the
 * gate hands over, and says what it likes.
 */
#ifndef SG_TEST_HANDOVER_RIG_H
#define SG_TEST_HANDOVER_RIG_H

#include "client_hello.h"
#include "gate/broker_door.h"
#include "gate_rig.h"
#include "io/passed_fd.h"

#define SEEN	"seen.example.com"
#define OTHER	"other.example.com"
#define ALLOWED "network: deny\nallow: [" SEEN ", " OTHER "]\ninspect: [" SEEN "]\n"
#define BOTH	"\2h2\10http/1.1"

static struct rig rig;
static int broker = -1; /* its end */
static uint64_t generation;

static inline void begin_alone(const char *yaml)
{
	rig_begin(&rig, yaml);
	generation = 1;
	rig_bind(&rig, SEEN, "93.184.0.1");
	rig_bind(&rig, OTHER, "93.184.0.2");
}

static inline void join_broker(void)
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

static inline void begin(const char *yaml)
{
	begin_alone(yaml);
	join_broker();
}

static inline int end(void **state)
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

static inline void change(const char *yaml)
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

static inline bool take(struct got *got)
{
	uint8_t octets[GATE_MESSAGE_MAX + 1];
	ssize_t n = passed_fds_receive(broker, octets, sizeof(octets), got->fds, 2);

	if (n <= 0)
		return false;
	assert_true(gate_message_parse(span_of(octets, (size_t)n), &got->m));
	return true;
}

static inline struct got expect(enum gate_message_kind kind)
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

static inline void expect_silence(void)
{
	struct got got;

	rig_turns(&rig, 2);
	if (take(&got))
		fail_msg("the broker is told of kind %d", got.m.kind);
}

static inline void say(enum gate_message_kind kind, uint32_t connection, uint64_t out, uint64_t in)
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

static inline void drop(struct got *got)
{
	for (size_t i = 0; i < 2; i++)
		if (got->fds[i] >= 0)
			close(got->fds[i]);
}

/* ---- clients ---- */

static inline struct rig_flow open_hello(const char *addr, uint16_t port, const char *name,
					 const char *alpn)
{
	struct rig_flow f = rig_open(&rig, addr, port);
	uint8_t hello[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, name, false, alpn);

	assert_int_equal(send(f.client, hello, n, MSG_NOSIGNAL), n);
	rig_turns(&rig, 3);
	return f;
}

static inline struct rig_flow open_text(const char *addr, uint16_t port, const char *text)
{
	struct rig_flow f = rig_open(&rig, addr, port);

	assert_int_equal(send(f.client, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	rig_turns(&rig, 3);
	return f;
}

static inline void expect_spliced(struct rig_flow *f, size_t n)
{
	uint8_t got[4096];

	assert_true(rig_is_open(f));
	assert_int_equal(recv(f->server, got, sizeof(got), MSG_DONTWAIT), n);
	expect_silence();
	rig_close(f);
}

static inline struct record next_of(enum record_kind kind)
{
	struct record got = {0};

	do {
		if (!rig_record(&rig, &got))
			fail_msg("there is no such record");
	} while (got.kind != kind);
	return got;
}

static inline void expect_refused(struct rig_flow *f, enum reason why)
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

static inline struct got hand_over(struct rig_flow *f)
{
	*f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	return expect(GATE_HANDOVER);
}

#define ends(test) cmocka_unit_test_teardown(test, end)

#endif
