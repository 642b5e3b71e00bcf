/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate as a hostile broker meets it: any messages about connections that it has, had, or never
 * had, among handovers, changes of the policy and ends of the socket. Whatever it says, no more
 * octets are counted than the limit, and no connection is lost or counted twice.
 *
 * An input is a run of steps, an octet each with what it needs after it. The gate stands in a
 * network namespace in which nothing is up, so that what it dials goes nowhere.
 */
#include "base/span.h"
#include "gate/broker_door.h"
#include "gate/quota.h"
#include "gate_world.h"

enum { STEPS_MAX = 256, KNOWN = 16, LIMIT = 1000000 };

enum step { SAY_OCTETS, SAY, HAND_OVER, CHANGE, READ, JOIN, TURN, STEPS };

#define REST ",\"limits\":{\"bytes_out\":1000000}}"
static const char *const policies[] = {
	"{\"version\":1,\"network\":\"any\"" REST,
	"{\"version\":1,\"network\":\"open\",\"deny\":[\"b.example.com\"]" REST,
	"{\"version\":1,\"network\":\"deny\",\"allow\":[\"a.example.com\"]" REST,
	"{\"version\":1,\"network\":\"deny\"" REST,
};

static int broker = -1, sockets[2];
static uint32_t known[KNOWN]; /* connections that were handed over last */
static size_t n_known;

static struct ruleset *make_rules(void)
{
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(policies[0]), POLICY_JSON, "fuzz", &p, &e) != 0)
		die(1, "fuzz_broker_door: %s", e.text);
	return ruleset_compile(&p, 1, &e);
}

static void begin(void)
{
	begin_gate(make_rules());
	make_policies(policies, sg_array_len(policies));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
		abort();
}

/* Takes the place of the one that was there, with all that it had. */
static void join(void)
{
	int pair[2];
	struct err e;

	if (broker >= 0)
		close(broker);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0)
		abort();
	broker = pair[0];
	if (broker_door_connect(gate.broker, pair[1], &e) != 0)
		abort();
	close(pair[1]);
	if (broker_door_open(gate.broker) != 0)
		abort();
}

static void hand_over(uint8_t which)
{
	struct handing h = {.client = sockets[0], .server = sockets[1], .flags = GATE_TLS};
	const char *text = which & 1 ? "b.example.com" : "a.example.com";
	struct name name;

	if (name_parse_ascii(text, strlen(text), &name) != NAME_OK)
		abort();
	h.name = &name;
	h.dst.port = h.dialled.port = 443;
	h.dst.addr = h.dialled.addr =
		(struct addr){{[10] = 0xff, [11] = 0xff, [12] = 93, [15] = 1}};
	h.begun = loop_now(gate.loop);
	(void)broker_door_hand_over(gate.broker, &h);
}

/* The kernel closes the descriptors that come along. */
static void read_all(void)
{
	uint8_t octets[GATE_MESSAGE_MAX + 1];
	struct gate_message m;
	ssize_t n;

	while ((n = recv(broker, octets, sizeof(octets), MSG_DONTWAIT)) > 0) {
		if (!gate_message_parse(span_of(octets, (size_t)n), &m))
			abort();
		if (m.kind == GATE_HANDOVER)
			known[n_known++ % KNOWN] = m.connection;
	}
}

static void say_octets(struct reader *r)
{
	struct span s = reader_take(r, reader_u8(r));

	if (!r->bad && s.n)
		(void)!send(broker, s.p, s.n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say(struct reader *r)
{
	struct gate_message m = {.kind = (uint8_t)(1 + reader_u8(r) % (GATE_KINDS - 1))};
	uint8_t which = reader_u8(r), octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	m.connection = known[which % KNOWN] + (which >> 6 == 3);
	m.number = which;
	m.out = (uint64_t)reader_u16(r) << (which & 15);
	m.in = reader_u32(r);
	gate_message_print(&m, &b);
	(void)!send(broker, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take_step(struct reader *r)
{
	switch ((enum step)(reader_u8(r) % STEPS)) {
	case SAY_OCTETS:
		say_octets(r);
		break;
	case SAY:
		say(r);
		break;
	case HAND_OVER:
		hand_over(reader_u8(r));
		break;
	case CHANGE:
		change_policy(reader_u8(r));
		break;
	case READ:
		read_all();
		break;
	case JOIN:
		join();
		break;
	case TURN:
	case STEPS:
		turn();
		break;
	}
}

/* As if nothing had been sent before, so that an input shows the same each time. */
static void begin_input(void)
{
	join();
	quota_free(gate.quota);
	gate.quota = quota_new();
	if (!gate.quota)
		abort();
	gate.counters->bytes_out = 0;
	n_known = 0;
	change_policy(0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	begin();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(span_of(data, size));

	if (!gate.loop)
		begin();
	begin_input();
	for (int i = 0; i < STEPS_MAX && reader_left(&r); i++) {
		take_step(&r);
		if (gate.counters->bytes_out > LIMIT ||
		    broker_door_open(gate.broker) > GATE_CONNECTIONS_MAX)
			abort();
	}
	turn();
	if (gate.counters->bytes_out > LIMIT)
		abort();
	return 0;
}
