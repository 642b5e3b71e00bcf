/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay: many flows at once whose sinks stop reading, so that there are more octets in flight than
 * pipes; and what becomes of the end of a stream, of a reset, of an urgent octet and of a limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/flow.h"
#include "gate/pipes.h"
#include "gate/quota.h"

enum { MANY = PIPES_MAX + 40, OCTETS = 600 * 1000 };

/* A gate lives as long as its process; earlier ones stay where a leak checker finds them. */
static struct gate gate, earlier[8];
static size_t n_earlier;

/* A joined flow seen from outside: what is written to `client` comes out at `server`, and back. */
struct ends {
	int client, server;
	size_t written, read;
	unsigned seed;
};

static void one_turn(void *ctx)
{
	flows_run_queue(gate.flows);
	loop_stop(gate.loop);
}

static void turn(void)
{
	loop_poke(gate.loop);
	assert_int_equal(loop_run(gate.loop), 0);
}

static void begin_with(uint64_t bytes_out)
{
	struct gate_totals totals;
	struct rlimit l;
	struct policy p;
	struct err e;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
	earlier[n_earlier++] = gate;
	policy_init(&p);
	assert_int_equal(policy_set_network(&p, "any", &e), 0);
	p.limits.bytes_out = bytes_out;
	assert_int_equal(totals_make(&totals, &e), 0);
	gate = (struct gate){.loop = loop_new(4096),
			     .rules = ruleset_compile(&p, 1, &e),
			     .counters = totals.counters,
			     .refusals = totals.refusals,
			     .journal = journal_new(totals.refusals, NULL, -1),
			     .pipes = pipes_new(),
			     .quota = totals.quota};
	policy_free(&p);
	gate.flows = flows_new(&gate, 1024, -1, -1, &e);
	assert_non_null(gate.flows);
	loop_set_after_turn(gate.loop, one_turn, NULL);
}

static int begin(void **state)
{
	begin_with(0);
	return 0;
}

/* A connected pair of TCP sockets over loopback, both non-blocking. */
static void make_pair(int out[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&a, &n), 0);
	out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(out[0], (struct sockaddr *)&a, n), 0);
	out[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(out[1] >= 0);
	close(l);
}

static struct ends join(void)
{
	static unsigned seed;
	int sandbox[2], world[2];

	make_pair(sandbox);
	make_pair(world);
	flows_join(gate.flows, sandbox[1], world[1]);
	return (struct ends){.client = sandbox[0], .server = world[0], .seed = ++seed};
}

/* As join(), with little room on the way to the server: the rest stays in the gate. */
static struct ends join_narrow(void)
{
	static const int little = 16 * 1024;
	int sandbox[2], world[2];

	make_pair(sandbox);
	make_pair(world);
	setsockopt(world[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
	setsockopt(world[0], SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	flows_join(gate.flows, sandbox[1], world[1]);
	return (struct ends){.client = sandbox[0], .server = world[0]};
}

static uint8_t octet_at(const struct ends *e, size_t at)
{
	return (uint8_t)((at * 31 + at / 251 + e->seed) & 0xff);
}

/* As much as goes without waiting; the end of the stream behind the last octet. */
static void write_some(struct ends *e)
{
	uint8_t part[8192];

	while (e->written < OCTETS) {
		size_t n = OCTETS - e->written < sizeof(part) ? OCTETS - e->written : sizeof(part);
		ssize_t sent;

		for (size_t i = 0; i < n; i++)
			part[i] = octet_at(e, e->written + i);
		sent = send(e->client, part, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0) {
			assert_int_equal(errno, EAGAIN);
			return;
		}
		e->written += (size_t)sent;
		if (e->written == OCTETS)
			assert_int_equal(shutdown(e->client, SHUT_WR), 0);
	}
}

/* True at the end of the stream. */
static bool read_some(struct ends *e)
{
	uint8_t part[65536];
	ssize_t n;

	while ((n = recv(e->server, part, sizeof(part), MSG_DONTWAIT)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (part[i] != octet_at(e, e->read + (size_t)i))
				fail_msg("octet %zu", e->read + (size_t)i);
		e->read += (size_t)n;
	}
	return n == 0;
}

static void close_ends(struct ends *e)
{
	close(e->client);
	close(e->server);
}

static void more_flows_stand_still_than_there_are_pipes(void **state)
{
	static struct ends flow[MANY];
	unsigned done = 0;

	for (size_t i = 0; i < MANY; i++)
		flow[i] = join();
	/* Nobody reads: every sink fills, and so do the pipes. */
	for (int round = 0; round < 60; round++) {
		for (size_t i = 0; i < MANY; i++)
			write_some(&flow[i]);
		turn();
	}
	for (int round = 0; round < 20000 && done < MANY; round++) {
		done = 0;
		for (size_t i = 0; i < MANY; i++) {
			write_some(&flow[i]);
			done += read_some(&flow[i]);
		}
		turn();
	}
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(flow[i].read, OCTETS);
		close_ends(&flow[i]);
	}
	for (int i = 0; i < 100 && flows_open(gate.flows); i++)
		turn();
	assert_int_equal(flows_open(gate.flows), 0);
}

static void turns(int n)
{
	while (n--)
		turn();
}

static void the_answer_comes_after_the_half_close(void **state)
{
	struct ends e = join();
	char got[8] = "";

	assert_int_equal(send(e.client, "ask", 3, 0), 3);
	assert_int_equal(shutdown(e.client, SHUT_WR), 0);
	turns(5);
	assert_int_equal(recv(e.server, got, sizeof(got), MSG_DONTWAIT), 3);
	assert_int_equal(recv(e.server, got, sizeof(got), MSG_DONTWAIT), 0);
	assert_int_equal(send(e.server, "answer", 6, 0), 6);
	close(e.server);
	turns(5);
	assert_int_equal(recv(e.client, got, sizeof(got), MSG_DONTWAIT), 6);
	assert_int_equal(recv(e.client, got, sizeof(got), MSG_DONTWAIT), 0);
	close(e.client);
	turns(5);
	assert_int_equal(flows_open(gate.flows), 0);
}

static void a_reset_goes_through(void **state)
{
	static const struct linger reset = {1, 0};
	struct ends e = join();
	char got[8];

	assert_int_equal(send(e.client, "x", 1, 0), 1);
	turns(5);
	assert_int_equal(setsockopt(e.client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	close(e.client);
	turns(5);
	assert_int_equal(recv(e.server, got, 1, MSG_DONTWAIT), 1);
	assert_int_equal(recv(e.server, got, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
	close(e.server);
	assert_int_equal(flows_open(gate.flows), 0);
}

/* A limit is met to the octet, and the flow is reset: what was cut does not look whole. */
static void a_limit_on_octets_is_exact(void **state)
{
	struct ends e;
	size_t got = 0;
	ssize_t n;
	char part[4096];

	begin_with(100000);
	e = join();
	for (int i = 0; i < 50; i++) {
		write_some(&e);
		turn();
		while ((n = recv(e.server, part, sizeof(part), MSG_DONTWAIT)) > 0)
			got += (size_t)n;
		if (n < 0 && errno == ECONNRESET)
			break;
	}
	assert_true(got <= 100000);
	assert_int_equal(gate.counters->bytes_out, 100000);
	assert_int_equal(refusals_total(gate.refusals), 1);
	assert_int_equal(flows_open(gate.flows), 0);
	close_ends(&e);
}

/* What stands in pipes counts: many flows at a standstill do not go past the limit together. */
static void a_limit_on_octets_holds_for_flows_that_stand_still(void **state)
{
	enum { LIMIT = 1500000, FLOWS = 20 };
	struct ends e[FLOWS];
	size_t got = 0;
	ssize_t n;
	char part[65536];

	begin_with(LIMIT);
	for (int i = 0; i < FLOWS; i++)
		e[i] = join_narrow();
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < FLOWS; i++)
			write_some(&e[i]);
		turn();
	}
	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < FLOWS; i++)
			while ((n = recv(e[i].server, part, sizeof(part), MSG_DONTWAIT)) > 0)
				got += (size_t)n;
		turn();
		usleep(300); /* for the kernel's window updates */
	}
	assert_in_range(got, 1, LIMIT);
	assert_in_range(gate.counters->bytes_out, 1, LIMIT);
	for (int i = 0; i < FLOWS; i++)
		close_ends(&e[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(more_flows_stand_still_than_there_are_pipes, begin),
		cmocka_unit_test_setup(the_answer_comes_after_the_half_close, begin),
		cmocka_unit_test_setup(a_reset_goes_through, begin),
		cmocka_unit_test(a_limit_on_octets_is_exact),
		cmocka_unit_test(a_limit_on_octets_holds_for_flows_that_stand_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
