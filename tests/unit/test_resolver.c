/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver against real sockets: servers that fail in each way a server can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <seccomp.h>
#include <sys/wait.h>

#include "gate/resolver.h"
#include "own_clock.h"
#include "upstream.h"

static struct loop *loop;
static struct resolver *r;
static struct upstream first, second;
static struct timer guard;

struct ask {
	struct lookup lookup;
	bool done, failed;
	struct dns_message answer;
};
static unsigned outstanding;

static void told(struct lookup *l, const struct dns_message *answer)
{
	struct ask *a = sg_container_of(l, struct ask, lookup);

	assert_false(a->done);
	a->done = true;
	a->failed = !answer;
	if (answer)
		a->answer = *answer;
	if (--outstanding == 0)
		loop_stop(loop);
}

static void guard_expired(struct timer *t)
{
	loop_stop(loop);
}

static int64_t run_until_told(void)
{
	mono_t start = mono_now();

	guard.expired = guard_expired;
	assert_true(loop_timer_set(loop, &guard, mono_add_ms(start, 8000)));
	if (outstanding)
		assert_int_equal(loop_run(loop), 0);
	loop_timer_cancel(loop, &guard);
	assert_int_equal(outstanding, 0);
	return mono_ms_until(start, mono_now());
}

static bool ask(struct ask *a, const char *name, uint16_t type)
{
	struct name n = wire_parse_name(name);

	*a = (struct ask){.lookup.done = told};
	outstanding++;
	if (resolver_lookup(r, &a->lookup, &n, type))
		return true;
	outstanding--;
	return false;
}

/* --- servers --- */

static bool answer_address(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	upstream_begin(w, q, 0, 1, 0);
	upstream_put(w, DNS_A, 60, "\x5d\xb8\0\1", 4);
	return true;
}

static bool answer_nothing(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	return false;
}

static bool answer_servfail(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	upstream_begin(w, q, DNS_SERVFAIL, 0, 0);
	return true;
}

static bool answer_over_tcp(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	uint8_t txt[256] = {255};

	if (!tcp) {
		upstream_begin(w, q, 0x0200, 0, 0);
		return true;
	}
	upstream_begin(w, q, 0, 20, 0);
	for (int i = 0; i < 20; i++)
		upstream_put(w, DNS_TXT, 60, txt, sizeof(txt));
	return true;
}

static bool answer_without_edns(struct upstream *u, const struct dns_query *q, bool tcp,
				struct wire *w)
{
	if (!q->edns)
		return answer_address(u, q, tcp, w);
	upstream_begin(w, q, DNS_FORMERR, 0, 0);
	return true;
}

static bool answer_formerr(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	upstream_begin(w, q, DNS_FORMERR, 0, 0);
	return true;
}

static bool answer_formerr_with_edns(struct upstream *u, const struct dns_query *q, bool tcp,
				     struct wire *w)
{
	upstream_begin(w, q, DNS_FORMERR, 0, 0);
	wire_opt(w, 1232, 0, 0);
	w->octets[11] = 1;
	return true;
}

static bool answer_garbage(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	upstream_begin(w, q, 0, 1, 0);
	upstream_put(w, DNS_A, 60, "\1\2\3", 3);
	return true;
}

/* Each of these must be ignored: another id, another question, from another address. */
static bool answer_forged(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	struct dns_query other = *q;

	other.id ^= 1;
	return answer_address(u, &other, tcp, w);
}

/* --- set-up --- */

static struct resolver_config config_of(struct upstream *a, struct upstream *b)
{
	struct resolver_config c = {.timeout_ms = 5000, .tries = 2};

	if (a)
		c.servers[c.n_servers++] = a->at;
	if (b)
		c.servers[c.n_servers++] = b->at;
	return c;
}

static int setup(void **state)
{
	loop = loop_new(16);
	assert_non_null(loop);
	outstanding = 0;
	return 0;
}

static void begin(upstream_fn *a, upstream_fn *b)
{
	struct resolver_config c;
	struct err e;

	upstream_open(&first, loop, a);
	if (b)
		upstream_open(&second, loop, b);
	c = config_of(&first, b ? &second : NULL);
	r = resolver_new(loop, &c, &e);
	assert_non_null(r);
}

static int teardown(void **state)
{
	resolver_free(r);
	r = NULL;
	upstream_close(&first);
	if (second.loop)
		upstream_close(&second);
	second.loop = NULL;
	loop_free(loop);
	return 0;
}

/* --- tests --- */

static void a_server_answers(void **state)
{
	struct ask a;

	begin(answer_address, NULL);
	assert_true(ask(&a, "a.example", DNS_A));
	run_until_told();
	assert_false(a.failed);
	assert_int_equal(a.answer.n_addrs, 1);
	assert_int_equal(first.n_udp, 1);
}

static void equal_questions_are_asked_once(void **state)
{
	struct ask a[3], other;

	begin(answer_address, NULL);
	for (size_t i = 0; i < 3; i++)
		assert_true(ask(&a[i], "a.example", DNS_A));
	assert_true(ask(&other, "a.example", DNS_AAAA));
	run_until_told();
	assert_int_equal(first.n_udp, 2);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(a[i].answer.n_addrs, 1);
}

static void truncated_answers_come_over_tcp(void **state)
{
	struct ask a;

	begin(answer_over_tcp, NULL);
	assert_true(ask(&a, "a.example", DNS_TXT));
	run_until_told();
	assert_false(a.failed);
	assert_int_equal(a.answer.n_records, 20);
	assert_int_equal(first.n_tcp, 1);
}

static void the_next_server_is_tried(void **state)
{
	struct ask a;

	begin(answer_servfail, answer_address);
	assert_true(ask(&a, "a.example", DNS_A));
	assert_true(run_until_told() < 500);
	assert_false(a.failed);
}

static void a_silent_server_is_passed_over(void **state)
{
	struct ask a;
	int64_t took;

	begin(answer_nothing, answer_address);
	assert_true(ask(&a, "a.example", DNS_A));
	took = run_until_told();
	assert_false(a.failed);
	assert_true(took >= 900 && took < 1500);
}

/* protocols.md: a dead upstream is a failure within 5 s; and its slot comes back. */
static void silence_ends_at_the_deadline(void **state)
{
	struct ask a;
	int64_t took;

	begin(answer_nothing, NULL);
	assert_true(ask(&a, "a.example", DNS_A));
	took = run_until_told();
	assert_true(a.failed);
	assert_true(took > 4000 && took < 5000);
	first.answer = answer_address;
	assert_true(ask(&a, "a.example", DNS_A));
	run_until_told();
	assert_false(a.failed);
}

static void a_closed_port_fails_at_once(void **state)
{
	struct resolver_config c;
	struct ask a;
	struct err e;

	upstream_open(&first, loop, answer_address);
	c = config_of(&first, NULL);
	upstream_close(&first);
	r = resolver_new(loop, &c, &e);
	assert_non_null(r);
	assert_true(ask(&a, "a.example", DNS_A));
	assert_true(run_until_told() < 1000);
	assert_true(a.failed);
}

static void no_server_fails_at_once(void **state)
{
	struct resolver_config c = {0};
	struct ask a;
	struct err e;

	upstream_open(&first, loop, answer_address);
	r = resolver_new(loop, &c, &e);
	assert_non_null(r);
	assert_true(ask(&a, "a.example", DNS_A));
	assert_true(a.done && a.failed);
}

static void servers_without_edns_are_asked_without(void **state)
{
	struct ask a;

	begin(answer_without_edns, NULL);
	for (int i = 0; i < 3; i++) {
		assert_true(ask(&a, "a.example", DNS_A));
		run_until_told();
		assert_false(a.failed);
	}
}

static void a_format_error_is_a_failure_at_once(void **state)
{
	struct ask a;

	begin(answer_formerr_with_edns, NULL);
	for (int i = 0; i < 4; i++) {
		first.answer = i & 1 ? answer_formerr : answer_formerr_with_edns;
		assert_true(ask(&a, "a.example", DNS_A));
		assert_true(run_until_told() < 500);
		assert_true(a.failed);
	}
}

static void a_malformed_answer_is_a_failure(void **state)
{
	struct ask a;

	begin(answer_garbage, NULL);
	assert_true(ask(&a, "a.example", DNS_A));
	run_until_told();
	assert_true(a.failed);
}

static void a_forged_answer_is_ignored(void **state)
{
	struct ask a;

	begin(answer_forged, answer_address);
	assert_true(ask(&a, "a.example", DNS_A));
	assert_true(run_until_told() >= 900);
	assert_false(a.failed);
}

static void ids_are_not_predictable(void **state)
{
	struct ask a;

	begin(answer_address, NULL);
	unsigned steps = 0;
	uint16_t last = 0;

	for (int i = 0; i < 50; i++) {
		uint16_t id;

		assert_true(ask(&a, "a.example", DNS_A));
		run_until_told();
		id = (uint16_t)(first.wire.octets[0] << 8 | first.wire.octets[1]);
		steps += (uint16_t)(id - last) < 256;
		last = id;
	}
	assert_true(steps < 10);
}

static void too_many_in_flight_are_turned_away(void **state)
{
	static struct ask a[RESOLVER_IN_FLIGHT_MAX + 1];
	char name[32];

	begin(answer_nothing, NULL);
	for (int i = 0; i < RESOLVER_IN_FLIGHT_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.example", i);
		assert_true(ask(&a[i], name, DNS_A));
	}
	assert_false(ask(&a[RESOLVER_IN_FLIGHT_MAX], "one.more.example", DNS_A));
	assert_true(ask(&a[RESOLVER_IN_FLIGHT_MAX], "n7.example", DNS_A));
}

/* The host's configuration changed: what is in flight goes to the new servers. */
static void servers_can_be_replaced(void **state)
{
	struct resolver_config c;
	struct ask a, b;

	begin(answer_nothing, NULL);
	upstream_open(&second, loop, answer_address);
	assert_true(ask(&a, "a.example", DNS_A));
	assert_true(ask(&b, "b.example", DNS_A));
	c = config_of(&second, NULL);
	assert_int_equal(resolver_configure(r, &c), 0);
	assert_true(run_until_told() < 500);
	assert_false(a.failed || b.failed);
	assert_int_equal(second.n_udp, 2);
	c = config_of(NULL, NULL);
	assert_int_equal(resolver_configure(r, &c), 0);
	assert_true(ask(&a, "a.example", DNS_A));
	assert_true(a.failed);
	c = config_of(&second, NULL);
	assert_int_equal(resolver_configure(r, &c), 0);
	assert_true(ask(&a, "a.example", DNS_A));
	run_until_told();
	assert_false(a.failed);
}

static void the_hosts_file_is_searched(void **state)
{
	struct host_name hosts[] = {
		{wire_parse_name("db.example"), addr_from_v4((const uint8_t[]){10, 0, 0, 5})},
		{wire_parse_name("db.example"), addr_from_v4((const uint8_t[]){10, 0, 0, 6})},
		{wire_parse_name("six.example"), {{0x2a, [15] = 1}}},
	};
	struct resolver_config c;
	struct addr out[4];
	struct name n;
	bool listed;

	begin(answer_nothing, NULL);
	c = config_of(&first, NULL);
	c.hosts = hosts;
	c.n_hosts = 3;
	assert_int_equal(resolver_configure(r, &c), 0);
	memset(hosts, 0, sizeof(hosts));
	n = wire_parse_name("db.example");
	assert_int_equal(resolver_find_host(r, &n, true, out, 4, &listed), 2);
	assert_true(listed);
	assert_int_equal(resolver_find_host(r, &n, true, out, 1, &listed), 1);
	assert_int_equal(resolver_find_host(r, &n, false, out, 4, &listed), 0);
	assert_true(listed);
	n = wire_parse_name("other.example");
	assert_int_equal(resolver_find_host(r, &n, true, out, 4, &listed), 0);
	assert_false(listed);
}

static void routes_are_known_without_sending(void **state)
{
	struct addr reachable = {{0x2a, [15] = 1}}, not_reachable = {{0x26, [15] = 1}};

	begin(answer_nothing, NULL);
	if (!resolver_has_ipv6(r) || !upstream_add_ipv6_route())
		skip();
	assert_true(resolver_has_route(r, &reachable));
	assert_false(resolver_has_route(r, &not_reachable));
	assert_true(resolver_has_route(r, &reachable));
}

/* After the start it makes no call but those it declares: above all it opens no file. */
static void allow_declared_calls_only(void)
{
	static const int base[] = {SCMP_SYS(epoll_wait), SCMP_SYS(epoll_ctl),
				   SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(brk),
				   SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap),
				   SCMP_SYS(exit_group),
				   /* the test's own server, and the sanitizers */
				   SCMP_SYS(accept4), SCMP_SYS(sendto), SCMP_SYS(write),
				   SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(sigaltstack)};
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);

	for (size_t i = 0; i < sg_array_len(base); i++)
		seccomp_rule_add(f, SCMP_ACT_ALLOW, base[i], 0);
	for (const int *c = resolver_syscalls; *c != -1; c++)
		seccomp_rule_add(f, SCMP_ACT_ALLOW, *c, 0);
	if (seccomp_load(f) != 0)
		_exit(2);
}

static void work_confined(void)
{
	struct resolver_config c;
	struct ask a;

	allow_declared_calls_only();
	if (!ask(&a, "a.example", DNS_TXT))
		_exit(3);
	if (loop_run(loop) != 0 || a.failed)
		_exit(4);
	c = config_of(&second, &first);
	if (resolver_configure(r, &c) != 0)
		_exit(5);
	second.answer = answer_address;
	if (!ask(&a, "b.example", DNS_A) || loop_run(loop) != 0 || a.failed)
		_exit(6);
	resolver_has_route(r, &first.at.addr);
	_exit(0);
}

static void no_file_is_opened_after_the_start(void **state)
{
	int status;
	pid_t pid;

	begin(answer_over_tcp, answer_nothing);
	pid = fork();
	if (pid == 0)
		work_confined();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_server_answers),
		T(equal_questions_are_asked_once),
		T(truncated_answers_come_over_tcp),
		T(the_next_server_is_tried),
		T(a_silent_server_is_passed_over),
		T(silence_ends_at_the_deadline),
		T(a_closed_port_fails_at_once),
		T(no_server_fails_at_once),
		T(servers_without_edns_are_asked_without),
		T(a_format_error_is_a_failure_at_once),
		T(a_malformed_answer_is_a_failure),
		T(a_forged_answer_is_ignored),
		T(ids_are_not_predictable),
		T(too_many_in_flight_are_turned_away),
		T(servers_can_be_replaced),
		T(the_hosts_file_is_searched),
		T(routes_are_known_without_sending),
		T(no_file_is_opened_after_the_start),
	};

	if (!upstream_isolate()) {
		puts("no network namespace of one's own: skipped");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
