/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_rig: a whole gate in the test's own process: its tun device and its control socket are
 * socket pairs whose far ends the test holds, its records go into a ring that the test reads, and
 * flows are put into it as they stand after their handshake.
 */
#ifndef SG_TEST_GATE_RIG_H
#define SG_TEST_GATE_RIG_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/control.h"
#include "gate/datagrams.h"
#include "gate/dispatch.h"
#include "gate/dns_server.h"
#include "gate/flow_table.h"
#include "gate/names.h"
#include "gate/new_policy.h"
#include "gate/parts.h"
#include "policy/permission.h"

/* A gate lives as long as its process: nothing is ever freed, and that is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

enum { RIG_GATES = 64 };
static struct gate rig_gates[RIG_GATES];
static size_t rig_n;

struct rig {
	struct gate *gate;
	int tun, control; /* the far ends */
	struct ring *ring;
	struct host_prefixes host;
};

static inline struct addr rig_addr(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

static inline struct name rig_name(const char *text)
{
	struct name n;

	assert_int_equal(name_parse_ascii(text, strlen(text), &n), NAME_OK);
	return n;
}

/* Where it is set policies are resolved by it, so that their permissions count. */
static const struct catalogue *rig_catalogue;

static inline struct policy rig_policy(const char *yaml)
{
	const struct policy_sources sources = {.catalogue = rig_catalogue};
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "test", &p, &e) != 0 ||
	    (rig_catalogue && policy_resolve(&p, &sources, &e) != 0))
		fail_msg("%s", e.text);
	return p;
}

static inline struct ruleset *rig_rules(const char *yaml, uint64_t generation)
{
	struct policy p = rig_policy(yaml);
	struct err e;
	struct ruleset *rules = ruleset_compile(&p, generation, &e);

	if (!rules)
		fail_msg("%s", e.text);
	policy_free(&p);
	return rules;
}

static inline void rig_after_turn(void *ctx)
{
	struct gate *g = ctx;

	flows_run_queue(g->flows);
	loop_stop(g->loop);
}

static inline void rig_turns(struct rig *r, int n)
{
	while (n--) {
		loop_poke(r->gate->loop);
		assert_int_equal(loop_run(r->gate->loop), 0);
	}
}

static inline struct ring *rig_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct ring *ring;
	struct err e;

	assert_true(fd >= 0);
	ring = ring_map(fd, &e);
	if (!ring)
		fail_msg("%s", e.text);
	close(fd);
	return ring;
}

/* `listen_v4` may be -1. The policy has generation 1. */
static inline void rig_begin_with(struct rig *r, const char *yaml, const struct catalogue *c,
				  int listen_v4)
{
	struct resolver_config resolver = {.timeout_ms = 100, .tries = 1};
	struct gate_setup s = {.sandbox = "box",
			       .dhcp = -1,
			       .router = -1,
			       .verdicts = -1,
			       .listen_v4 = listen_v4,
			       .listen_v6 = -1,
			       .door = -1,
			       .host = &r->host,
			       .resolver = &resolver,
			       .catalogue = c,
			       .wake = -1};
	int tun[2], control[2];
	struct err e;

	assert_true(rig_n < RIG_GATES);
	r->gate = &rig_gates[rig_n++];
	r->host.n = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, tun), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
	s.tun = tun[0];
	s.control = control[0];
	s.rules = rig_rules(yaml, 1);
	s.ring = r->ring = rig_ring();
	r->tun = tun[1];
	r->control = control[1];
	if (parts_make(r->gate, &s, &e) != 0)
		fail_msg("%s", e.text);
	loop_set_after_turn(r->gate->loop, rig_after_turn, r->gate);
}

static inline void rig_begin(struct rig *r, const char *yaml)
{
	rig_begin_with(r, yaml, rig_catalogue, -1);
}

static inline void rig_end(struct rig *r)
{
	close(r->tun);
	close(r->control);
	ring_unmap(r->ring);
}

/* The next record, which must be one that the sealer takes. */
static inline bool rig_record(struct rig *r, struct record *out)
{
	if (!ring_take(r->ring, out))
		return false;
	assert_true(record_valid(out));
	return true;
}

static inline void rig_bind(struct rig *r, const char *name, const char *addr)
{
	struct name n = rig_name(name);
	struct addr a = rig_addr(addr);

	names_bind(r->gate->names, &n, addr_is_v4(&a) ? NAMES_A : NAMES_AAAA, &a, 1, 60,
		   NAMES_SHOWN, loop_now(r->gate->loop));
}

/* A policy takes the place of the present one as the control socket's request has it done. */
static inline int rig_change(struct rig *r, const char *yaml, uint64_t generation, struct err *e)
{
	struct policy p = rig_policy(yaml);
	char *wire = policy_print_wire(&p);
	int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	assert_non_null(wire);
	assert_int_equal(write(fd, wire, strlen(wire)), strlen(wire));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
	rc = new_policy_take(r->gate, fd, generation, e);
	close(fd);
	free(wire);
	policy_free(&p);
	return rc;
}

/* ---- a TCP flow that is open, with both its peers ---- */

struct rig_flow {
	struct flow *flow;
	uint32_t generation; /* of the slot: another one when the flow has ended */
	int client, server;
};

static inline int rig_listen(const char *addr, uint16_t *port)
{
	struct endpoint at = {.addr = rig_addr(addr), .port = *port};
	struct sockaddr_storage ss;
	socklen_t n = endpoint_to_sockaddr(&at, &ss);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&ss, n), 0);
	assert_int_equal(listen(fd, 64), 0);
	n = sizeof(ss);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &n), 0);
	assert_true(endpoint_from_sockaddr(&ss, &at));
	*port = at.port;
	return fd;
}

/*
 * Two ends of a TCP connection over loopback, the second one non-blocking. With `octets`, room for about
 * so many on the way to the first, from the start; 0: as usual.
 */
static inline void rig_pair_with_room(int out[2], int octets)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	uint16_t port = 0;
	int l = rig_listen("127.0.0.1", &port);

	assert_int_equal(getsockname(l, (struct sockaddr *)&ss, &n), 0);
	out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (octets)
		setsockopt(out[0], SOL_SOCKET, SO_RCVBUF, &octets, sizeof(octets));
	assert_int_equal(connect(out[0], (struct sockaddr *)&ss, n), 0);
	out[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(out[1] >= 0);
	if (octets)
		setsockopt(out[1], SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets));
	close(l);
}

static inline void rig_pair(int out[2])
{
	rig_pair_with_room(out, 0);
}

/*
 * As after the handshake: judged by its address under the present policy, which must admit it, its
 * octets not seen yet.
 */
static inline struct rig_flow rig_open(struct rig *r, const char *addr, uint16_t port)
{
	static uint16_t next_port = 20000;
	struct flows *f = r->gate->flows;
	struct rig_flow out;
	int sandbox[2], world[2];
	struct judged j;
	struct flow *fl = flow_table_take(f);

	rig_pair(sandbox);
	rig_pair(world);
	fl->src = (struct endpoint){r->gate->sandbox_v4, next_port++};
	fl->dst = (struct endpoint){rig_addr(addr), port};
	flow_table_insert(f, fl);
	judge_destination(r->gate, &fl->dst, PROTO_TCP, &j);
	assert_int_equal(j.kind, JUDGED_FORWARD);
	flow_set_judged(fl, &j);
	fl->n_dial = j.n_dial;
	memcpy(fl->dial, j.dial, sizeof(fl->dial));
	assert_int_equal(flow_set_socket(sandbox[1]), 0);
	assert_int_equal(flow_set_socket(world[1]), 0);
	assert_int_equal(loop_add(r->gate->loop, &fl->in.watch, sandbox[1], FLOW_EVENTS | EPOLLET),
			 0);
	assert_int_equal(loop_add(r->gate->loop, &fl->out.watch, world[1], FLOW_EVENTS | EPOLLET),
			 0);
	fl->out.writable = true;
	fl->state = FLOW_INSPECTING;
	out = (struct rig_flow){fl, fl->generation, sandbox[0], world[0]};
	if (fl->inspection == INSPECT_NOTHING)
		inspect_nothing(fl);
	if (flow_is_whole(fl))
		flow_begin_relay(fl, 0);
	return out;
}

static inline bool rig_is_open(const struct rig_flow *f)
{
	return f->flow->generation == f->generation;
}

/* Octets go both ways, and none is lost. */
static inline void rig_expect_passes(struct rig *r, const struct rig_flow *f)
{
	char got[4] = "";

	assert_int_equal(send(f->client, "up", 2, MSG_NOSIGNAL), 2);
	assert_int_equal(send(f->server, "down", 4, MSG_NOSIGNAL), 4);
	rig_turns(r, 4);
	assert_int_equal(recv(f->server, got, 2, MSG_DONTWAIT), 2);
	assert_memory_equal(got, "up", 2);
	assert_int_equal(recv(f->client, got, 4, MSG_DONTWAIT), 4);
	assert_memory_equal(got, "down", 4);
}

static inline void rig_expect_reset(int fd)
{
	char got[4096];
	ssize_t n;

	while ((n = recv(fd, got, sizeof(got), MSG_DONTWAIT)) > 0)
		;
	assert_int_equal(n, -1);
	assert_int_equal(errno, ECONNRESET);
}

static inline void rig_close(struct rig_flow *f)
{
	close(f->client);
	close(f->server);
}

/* ---- datagrams ---- */

static inline void rig_send_datagram(struct rig *r, const char *to, uint16_t port, const char *text)
{
	struct endpoint from = {r->gate->sandbox_v4, 5353}, dst = {rig_addr(to), port};
	uint8_t octets[512];
	struct buf b = buf_of(octets, sizeof(octets));

	packet_build_udp(&b, &from, &dst, span_of_string(text));
	dispatch_packet(r->gate, buf_span(&b));
	dispatch_run_end(r->gate);
}

static inline int rig_udp_server(uint16_t *port)
{
	struct endpoint at = {.addr = rig_addr("127.0.0.1")};
	struct sockaddr_storage ss;
	socklen_t n = endpoint_to_sockaddr(&at, &ss);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&ss, n), 0);
	n = sizeof(ss);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &n), 0);
	assert_true(endpoint_from_sockaddr(&ss, &at));
	*port = at.port;
	return fd;
}

static inline void rig_expect_datagram(int fd, const char *text)
{
	char got[64] = "";

	assert_int_equal(recv(fd, got, sizeof(got), 0), strlen(text));
	assert_string_equal(got, text);
}

#endif
