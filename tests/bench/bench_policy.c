/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_policy: how long a change of the policy takes, from the supervisor's request to the answer,
 * when it holds; and how long a gate with 8,000 open flows takes to ask them all again. One JSON
 * object a line; the median of REPEATS (5) runs, by the clock.
 *
 *     bench_policy [REPEATS]
 *
 * The gate of the first lines is a process of its own, isolated as in use. That of the flows is in
 * this process: each flow's two sockets are the two ends of one TCP connection over loopback, so
 * what a reset costs is in it.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "gate/flow_table.h"
#include "gate/names.h"
#include "gate/new_policy.h"
#include "gate/parts.h"
#include "sandbox/gate_link.h"

enum { FLOWS = 8000, HOSTS = 200, REPEATS_MAX = 99, LARGE = 100000 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(const char *what, double *ms, unsigned repeats, double goal)
{
	qsort(ms, repeats, sizeof(*ms), by_value);
	printf("{\"bench\":\"policy\",\"what\":\"%s\",\"ms\":%.3f,\"goal_ms\":%.0f}\n", what,
	       ms[repeats / 2], goal);
	fflush(stdout);
}

static double ms_since(mono_t start)
{
	return (double)(mono_now().ns - start.ns) / 1e6;
}

/* Names of `zones` zones are allowed, `more` others as well. */
static struct policy make_policy(const char *const *zones, unsigned more)
{
	struct policy p;
	struct err e;
	char text[96];

	policy_init(&p);
	p.network = NET_DENY;
	p.limits.flows = FLOWS + 100;
	for (; *zones; zones++)
		for (unsigned i = 0; i < HOSTS; i++) {
			snprintf(text, sizeof(text), "host%u.%s:5432", i, *zones);
			if (policy_add_rule(&p, EFFECT_ALLOW, text, &e) != 0)
				die(1, "bench_policy: %s", e.text);
		}
	for (unsigned i = 0; i < more; i++) {
		snprintf(text, sizeof(text), "host%u.more.example", i);
		if (policy_add_rule(&p, EFFECT_ALLOW, text, &e) != 0)
			die(1, "bench_policy: %s", e.text);
	}
	return p;
}

static struct ruleset *compile(const struct policy *p, uint64_t generation)
{
	struct err e;
	struct ruleset *rules = ruleset_compile(p, generation, &e);

	if (!rules)
		die(1, "bench_policy: %s", e.text);
	return rules;
}

static const char *const both[] = {"stays.example", "goes.example", NULL};
static const char *const one[] = {"stays.example", NULL};

/* What a gate needs of a sandbox that sends nothing. */
static struct gate_setup quiet_setup(struct ruleset *rules, int *far_end)
{
	static struct host_prefixes host;
	static struct resolver_config resolver = {.timeout_ms = 100, .tries = 1};
	int tun[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, tun) != 0)
		die(1, "bench_policy: no sockets");
	*far_end = tun[1];
	return (struct gate_setup){.sandbox = "bench",
				   .dhcp = -1,
				   .router = -1,
				   .verdicts = -1,
				   .tun = tun[0],
				   .listen_v4 = -1,
				   .listen_v6 = -1,
				   .door = -1,
				   .host = &host,
				   .resolver = &resolver,
				   .rules = rules,
				   .wake = -1};
}

static void time_requests(struct gate_link *link, const char *what, unsigned more, unsigned repeats,
			  double goal, uint64_t *generation)
{
	struct policy p = make_policy(one, more);
	double ms[REPEATS_MAX];
	struct err e;

	for (unsigned r = 0; r < repeats; r++) {
		mono_t start = mono_now();

		if (process_link_set_policy(&link->process, &p, ++*generation, &e) != 0)
			die(1, "bench_policy: %s", e.text);
		ms[r] = ms_since(start);
	}
	report(what, ms, repeats, goal);
	policy_free(&p);
}

static void measure_requests(unsigned repeats)
{
	struct policy p = make_policy(both, 0);
	struct gate_link link = GATE_LINK_NONE;
	uint64_t generation = 1;
	int far_end;
	struct gate_setup s = quiet_setup(compile(&p, generation), &far_end);
	struct err e;

	if (gate_link_start(&link, &s, &e) != 0)
		die(1, "bench_policy: %s", e.text);
	time_requests(&link, "200 names, no open flow", 0, repeats, 5, &generation);
	time_requests(&link, "100,000 names, no open flow", LARGE, repeats, 1000, &generation);
	process_link_leave(&link.process);
	totals_free(&link.totals);
	ruleset_free(s.rules);
	policy_free(&p);
	close(s.tun);
	close(far_end);
}

/* ---- 8,000 flows ---- */

static void make_pair(int listener, int out[2])
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);

	getsockname(listener, (struct sockaddr *)&a, &n);
	out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (out[0] < 0 || connect(out[0], (struct sockaddr *)&a, n) != 0)
		die(1, "bench_policy: no connection over loopback");
	out[1] = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (out[1] < 0)
		die(1, "bench_policy: %d descriptors are not enough", 2 * FLOWS);
}

/* An open flow to an address that one name of the zone was answered with. */
static void open_flow(struct gate *g, unsigned i, const char *zone, int listener)
{
	struct addr a = addr_from_v4(
		(const uint8_t[]){93, zone[0] == 's' ? 184 : 185, 0, (uint8_t)(i % HOSTS)});
	struct endpoint dst = {a, 5432};
	struct flow *fl = flow_table_take(g->flows);
	struct name name;
	struct judged j;
	char text[64];
	int n = snprintf(text, sizeof(text), "host%u.%s", i % HOSTS, zone), pair[2];

	if (!fl || name_parse_ascii(text, (size_t)n, &name) != NAME_OK)
		die(1, "bench_policy: no flow");
	names_bind(g->names, &name, NAMES_A, &a, 1, 60, NAMES_SHOWN, loop_now(g->loop));
	fl->src = (struct endpoint){g->sandbox_v4, (uint16_t)(i + 1000)};
	fl->dst = dst;
	flow_table_insert(g->flows, fl);
	judge_destination(g, &dst, PROTO_TCP, &j);
	if (j.kind != JUDGED_FORWARD)
		die(1, "bench_policy: %s is not admitted", text);
	flow_set_judged(fl, &j);
	fl->n_dial = j.n_dial;
	fl->dial[0] = j.dial[0];
	make_pair(listener, pair);
	if (flow_set_socket(pair[0]) != 0 || flow_set_socket(pair[1]) != 0 ||
	    loop_add(g->loop, &fl->in.watch, pair[0], FLOW_EVENTS | EPOLLET) != 0 ||
	    loop_add(g->loop, &fl->out.watch, pair[1], FLOW_EVENTS | EPOLLET) != 0)
		die(1, "bench_policy: a flow cannot be watched");
	fl->state = FLOW_RELAYING;
	fl->up.credit = fl->down.credit = UINT64_MAX;
}

static int seal(const struct policy *p)
{
	char *wire = policy_print_wire(p);
	int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (!wire || write(fd, wire, strlen(wire)) != (ssize_t)strlen(wire) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0)
		die(1, "bench_policy: no memory file");
	free(wire);
	return fd;
}

static double time_change(struct gate *g, const struct policy *p, uint64_t generation)
{
	int fd = seal(p);
	mono_t start = mono_now();
	struct err e;
	double ms;

	if (new_policy_take(g, fd, generation, &e) != 0)
		die(1, "bench_policy: %s", e.text);
	ms = ms_since(start);
	close(fd);
	return ms;
}

static int listen_on_loopback(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 64) != 0)
		die(1, "bench_policy: no listener");
	return fd;
}

static void measure_flows(const char *what, const char *zone, uint32_t left, unsigned repeats,
			  double goal)
{
	struct policy before = make_policy(both, 0), after = make_policy(one, 0);
	int far_end, listener = listen_on_loopback(), control[2];
	struct gate_setup s = quiet_setup(compile(&before, 1), &far_end);
	static struct gate gates[4];
	static size_t n_gates;
	struct gate *g = &gates[n_gates++];
	double ms[REPEATS_MAX];
	struct err e;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control) != 0)
		die(1, "bench_policy: no sockets");
	s.control = control[0];
	if (parts_make(g, &s, &e) != 0)
		die(1, "bench_policy: %s", e.text);
	for (unsigned r = 0; r < repeats; r++) {
		for (unsigned i = flows_open(g->flows); i < FLOWS; i++)
			open_flow(g, i, zone, listener);
		ms[r] = time_change(g, &after, 2 * r + 2);
		if (flows_open(g->flows) != left)
			die(1, "bench_policy: %u flows are left", flows_open(g->flows));
		time_change(g, &before, 2 * r + 3);
	}
	report(what, ms, repeats, goal);
	/* What is still open is closed, for the next gate's descriptors. */
	for (uint32_t i = 1; i < g->flows->used; i++)
		if (g->flows->flow[i].state != FLOW_FREE)
			flow_cut(&g->flows->flow[i]);
	policy_free(&before);
	policy_free(&after);
	close(listener);
}

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	struct rlimit l = {0};

	if (repeats == 0 || repeats > REPEATS_MAX)
		die(2, "bench_policy: REPEATS is a number from 1 to %d", REPEATS_MAX);
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	signal(SIGPIPE, SIG_IGN);
	measure_requests(repeats);
	measure_flows("8,000 flows re-judged, all stay", "stays.example", FLOWS, repeats, 50);
	measure_flows("8,000 flows re-judged, all reset", "goes.example", 0, repeats, 1000);
	return 0;
}
