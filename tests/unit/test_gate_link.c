/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_link: a gate in a process of its own, isolated as it is in use (seccomp, Landlock): it takes
 * another policy, refuses a broken one in words, and leaves its numbers to the next one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "airlock/addresses.h"
#include "gate/ip.h"
#include "sandbox/gate_link.h"

enum { PATIENT_MS = 20000 };

static struct gate_link link_ = {.process = {.what = "gate", .pidfd = -1, .control = -1}};
static int tun;
static struct ring *ring;

static struct policy parse(const char *yaml)
{
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "test", &p, &e) != 0)
		fail_msg("%s", e.text);
	return p;
}

static void start(const char *yaml)
{
	static struct host_prefixes host;
	static struct resolver_config resolver = {.timeout_ms = 100, .tries = 1};
	struct gate_setup s = {.sandbox = "box",
			       .dhcp = -1,
			       .router = -1,
			       .verdicts = -1,
			       .listen_v4 = -1,
			       .listen_v6 = -1,
			       .door = -1,
			       .host = &host,
			       .resolver = &resolver,
			       .ring = ring,
			       .wake = -1};
	struct policy p = parse(yaml);
	int pair[2];
	struct err e;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	s.tun = pair[0];
	tun = pair[1];
	s.rules = ruleset_compile(&p, 1, &e);
	assert_non_null(s.rules);
	if (gate_link_start(&link_, &s, &e) != 0)
		fail_msg("%s", e.text);
	close(pair[0]);
	ruleset_free(s.rules);
	policy_free(&p);
}

static int begin(void **state)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct err e;

	ring = ring_map(fd, &e);
	close(fd);
	return ring ? 0 : -1;
}

static void kill_gate(void)
{
	struct err how;

	assert_int_equal(kill(link_.process.pid, SIGKILL), 0);
	process_link_bury(&link_.process, &how);
	assert_non_null(strstr(how.text, "signal 9"));
	close(tun);
}

static int end(void **state)
{
	if (link_.process.pid > 0)
		kill_gate();
	totals_free(&link_.totals);
	ring_unmap(ring);
	return 0;
}

static json_int_t status(const char *group, const char *key)
{
	json_t *m = process_link_ask(&link_.process, json_pack("{s:s}", "op", "status"),
				     PATIENT_MS),
	       *o;
	json_int_t n;

	assert_non_null(m);
	o = group ? json_object_get(m, group) : m;
	assert_true(json_is_integer(json_object_get(o, key)));
	n = json_integer_value(json_object_get(o, key));
	json_decref(m);
	return n;
}

/* A datagram of the sandbox's, and whether it is refused (ICMP) within a while. */
static bool is_refused(const char *to, uint16_t port)
{
	struct endpoint from = {.port = 5353}, dst = {.port = port};
	struct pollfd f = {.fd = tun, .events = POLLIN};
	uint8_t octets[512];
	struct buf b = buf_of(octets, sizeof(octets));

	assert_true(addr_parse(AIRLOCK_SANDBOX_V4, strlen(AIRLOCK_SANDBOX_V4), &from.addr));
	assert_true(addr_parse(to, strlen(to), &dst.addr));
	packet_build_udp(&b, &from, &dst, span_of_string("hello"));
	assert_int_equal(send(tun, octets, b.n, 0), (ssize_t)b.n);
	if (poll(&f, 1, PATIENT_MS) != 1)
		return false;
	assert_true(recv(tun, octets, sizeof(octets), 0) > 0);
	return true;
}

static int set(const char *yaml, uint64_t generation, struct err *e)
{
	struct policy p = parse(yaml);
	int rc = process_link_set_policy(&link_.process, &p, generation, e);

	policy_free(&p);
	return rc;
}

static void an_isolated_gate_takes_another_policy(void **state)
{
	struct err e = {""};

	start("network: deny\n");
	assert_int_equal(status(NULL, "generation"), 1);
	assert_int_equal(set("network: deny\nallow: [www.example.com]\n", 2, &e), 0);
	assert_int_equal(status(NULL, "generation"), 2);
	assert_true(is_refused("93.184.0.1", 123));
	/* Again and again: each frees the one before. */
	for (uint64_t g = 3; g < 50; g++)
		assert_int_equal(set("network: open\ndeny: [a.example]\n", g, &e), 0);
	assert_int_equal(status(NULL, "generation"), 49);
}

static void a_refused_policy_is_told_in_words_and_changes_nothing(void **state)
{
	struct err e = {""};

	start("network: deny\n");
	assert_int_equal(set("network: open\n", 1, &e), -1);
	assert_non_null(strstr(e.text, "generation 1 is not after 1"));
	assert_int_equal(status(NULL, "generation"), 1);
	assert_true(is_refused("93.184.0.1", 123));
}

/* Ten times as long as a message may be. */
static void a_policy_is_larger_than_a_message(void **state)
{
	enum { NAMES = 300000 };
	struct policy p = parse("network: deny\n");
	struct err e = {""};
	char text[64];

	start("network: deny\n");
	for (int i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "host%d.some-longer-domain.example", i);
		assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, text, &e), 0);
	}
	if (process_link_set_policy(&link_.process, &p, 2, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(status(NULL, "generation"), 2);
	assert_int_equal(set("network: deny\n", 3, &e), 0);
	policy_free(&p);
}

static void without_a_gate_there_is_a_message(void **state)
{
	struct err e = {""};

	start("network: deny\n");
	kill_gate();
	assert_int_equal(set("network: open\n", 2, &e), -1);
	assert_non_null(strstr(e.text, "no gate"));
	start("network: deny\n");
}

/* Numbers only grow, whoever kills the gate; what it has put into the ring is there. */
static void numbers_outlive_a_killed_gate(void **state)
{
	struct record_totals t;

	for (int round = 1; round <= 3; round++) {
		start("network: deny\n");
		assert_int_equal(status(NULL, "refusals"), 2 * (round - 1));
		assert_true(is_refused("93.184.0.1", 123));
		assert_true(is_refused("93.184.0.2", 123));
		assert_int_equal(status(NULL, "refusals"), 2 * round);
		assert_int_equal(status("flows", "refused"), 2 * round);
		assert_int_equal(status("frames", "denied"), 2 * round);
		kill_gate();
		ring_mend(ring);
		ring_read_totals(ring, &t);
		assert_int_equal(t.refused[REASON_NOT_IN_POLICY], 2 * round);
	}
	start("network: deny\n");
	assert_int_equal(status(NULL, "refusals"), 6);
}

static void the_groups_of_refusals_outlive_a_killed_gate(void **state)
{
	json_t *m, *row;

	start("network: deny\n");
	assert_true(is_refused("93.184.0.1", 123));
	kill_gate();
	start("network: deny\n");
	assert_true(is_refused("93.184.0.1", 123));
	m = process_link_ask(&link_.process, json_pack("{s:s}", "op", "refusals"), PATIENT_MS);
	assert_int_equal(json_array_size(json_object_get(m, "refusals")), 1);
	row = json_array_get(json_object_get(m, "refusals"), 0);
	assert_int_equal(json_integer_value(json_object_get(row, "count")), 2);
	assert_string_equal(json_string_value(json_object_get(row, "address")), "93.184.0.1");
	assert_true(json_is_null(json_object_get(row, "permission")));
	json_decref(m);
}

/* While one gate is dead and the next is not there, what was counted is told all the same. */
/* One that was taken over says what it likes: sums with it must not be the end of the supervisor.
 */
static void a_number_without_bounds_is_bounded(void **state)
{
	json_t *answer =
		json_pack("{s:I, s:{s:I, s:I, s:f, s:s}}", "most", INT64_MAX, "flows", "least",
			  INT64_MIN, "some", (json_int_t)7, "real", 1e300, "text", "9");

	assert_int_equal(gate_link_number(answer, NULL, "most"), GATE_NUMBER_MAX);
	assert_int_equal(gate_link_number(answer, "flows", "least"), 0);
	assert_int_equal(gate_link_number(answer, "flows", "some"), 7);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(gate_link_number(answer, "flows", i ? "real" : "text"), 0);
	assert_int_equal(gate_link_number(answer, "most", "some"), 0);
	assert_int_equal(gate_link_number(NULL, NULL, "most"), 0);
	json_decref(answer);
}

static void without_a_gate_the_numbers_are_there(void **state)
{
	json_t *m;

	start("network: deny\n");
	assert_true(is_refused("93.184.0.1", 123));
	kill_gate();
	m = gate_link_counted(&link_, "status", PATIENT_MS);
	assert_int_equal(json_integer_value(json_object_get(m, "refusals")), 1);
	assert_int_equal(json_integer_value(json_object_get(m, "generation")), 1);
	json_decref(m);
	m = gate_link_counted(&link_, "refusals", PATIENT_MS);
	assert_int_equal(json_array_size(json_object_get(m, "refusals")), 1);
	json_decref(m);
	start("network: deny\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_isolated_gate_takes_another_policy, begin, end),
		cmocka_unit_test_setup_teardown(
			a_refused_policy_is_told_in_words_and_changes_nothing, begin, end),
		cmocka_unit_test_setup_teardown(a_policy_is_larger_than_a_message, begin, end),
		cmocka_unit_test_setup_teardown(without_a_gate_there_is_a_message, begin, end),
		cmocka_unit_test_setup_teardown(numbers_outlive_a_killed_gate, begin, end),
		cmocka_unit_test_setup_teardown(the_groups_of_refusals_outlive_a_killed_gate, begin,
						end),
		cmocka_unit_test_setup_teardown(without_a_gate_the_numbers_are_there, begin, end),
		cmocka_unit_test(a_number_without_bounds_is_bounded),
	};
	sigset_t all;

	/* As the supervisor does. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
