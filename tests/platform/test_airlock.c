/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The airlock as a whole, as root and as an ordinary user: what passes, what is refused, what is
 * left when one of its processes dies, and what a person is told when the machine lacks a part.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "airlock/layout.h"
#include "base/addr.h"
#include "lock.h"
#include "toy_gate.h"

enum { SYN_AGAIN_MS = 1000 };

static void tcp_passes(void)
{
	const char *const places[] = {WORLD_V4, WORLD_V6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int fd = rig_connect(places[i], i % 2 ? 443 : AIRLOCK_TPROXY_PORT);

		CHECK(fd >= 0);
		CHECK(rig_echoes(fd, 1000));
		close(fd);
	}
}

/* The gate's end of a connection has the name that the sandbox dialled. */
static void name_is_kept(void)
{
	const char *const places[] = {WORLD_V4, WORLD_V6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};
	const char *const names[] = {"93.184.216.34:2", "[2a00:1450:4001:80b::200e]:2",
				     "192.0.0.1:2", "[fd73:616e:6467:1::1]:2"};
	char got[64];

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int fd = rig_connect(places[i], TOY_NAMES);
		ssize_t n;

		CHECK(fd >= 0);
		n = recv(fd, got, sizeof(got) - 1, MSG_WAITALL);
		CHECK(n > 0);
		got[n] = '\0';
		CHECK(strcmp(got, names[i]) == 0);
		close(fd);
	}
}

/*
 * No SYN is lost: of those that were sent, again or not, each came to the gate. One that had to be
 * sent again says nothing by itself, nor does the time: a gate may not have run for a second.
 */
static _Atomic uint64_t *syns_sent;

static void begin_to_count_syns(void)
{
	syns_sent = mmap(NULL, sizeof(*syns_sent), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(syns_sent != MAP_FAILED);
	*syns_sent = toy_gate_syns();
}

static int connect_counted(const char *place, uint16_t port, uint16_t source_port)
{
	int fd = rig_connect_from(place, port, source_port);

	CHECK(fd >= 0);
	*syns_sent += 1 + rig_sent_again(fd);
	return fd;
}

static void every_syn_came(void)
{
	int64_t until = rig_ms() + RIG_PATIENT_MS;

	while (toy_gate_syns() < *syns_sent && rig_ms() < until)
		usleep(1000);
	CHECK(toy_gate_syns() == *syns_sent);
	CHECK(munmap((void *)syns_sent, sizeof(*syns_sent)) == 0);
}

/*
 * The gate closes first, so each time the airlock still has the connection in TIME-WAIT when the
 * sandbox makes the next one from the same port.
 */
static void ports_may_be_used_again(void)
{
	for (int i = 0; i < 100; i++) {
		int fd = connect_counted(i % 2 ? WORLD_V6 : WORLD_V4, TOY_NAMES,
					 (uint16_t)(20000 + i % 2));

		CHECK(recv(fd, (char[64]){0}, 64, MSG_WAITALL) > 0);
		close(fd);
	}
}

/* None is refused, and none stalls for the rig's 3 s. */
static void many_connections(void)
{
	for (int i = 0; i < 5000; i++) {
		int fd = connect_counted(WORLD_V4, (uint16_t)(3 + i % 3000), 0);

		CHECK(rig_echoes(fd, 200));
		close(fd);
	}
}

/* From two processors at a time, so that handshake and data meet in every order. */
static void many_connections_pass(void)
{
	struct airlock_counters k;
	pid_t other;

	lock_open(false);
	toy_gate_start(&lock.gate, -1);
	begin_to_count_syns();
	other = rig_fork();
	if (other == 0)
		_exit(lock_inside(many_connections));
	CHECK(lock_inside(many_connections) == 0);
	CHECK(rig_wait(other) == 0);
	every_syn_came();
	CHECK(airlock_read_counters(&lock, &k) == 0);
	CHECK(k.unowned == 0);
	airlock_close(&lock);
}

/* No address but the one that was given, and no link-local one: nothing solicits a router. */
static void addresses_are_known(void)
{
	char line[128];
	int n = 0;
	FILE *f = fopen("/proc/net/if_inet6", "re");

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		CHECK(strstr(line, " lo\n") || strncmp(line, "fd73616e646700010", 17) == 0);
		n++;
	}
	fclose(f);
	CHECK(n == 2);
}

/* By the first SYN: of three tries the quickest is done before there could be a second one. */
static void refusal_is_seen(void)
{
	const char *const places[] = {WORLD_V4, WORLD_V6, "192.0.0.5"};

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int64_t quickest = INT64_MAX;

		for (int try = 0; try < 3; try++) {
			int64_t start = rig_ms();

			CHECK(rig_connect(places[i], TOY_REFUSED) == -1);
			CHECK(errno == ECONNREFUSED);
			if (rig_ms() - start < quickest)
				quickest = rig_ms() - start;
		}
		CHECK(quickest < SYN_AGAIN_MS);
	}
}

/* A connected datagram socket of this kind, which waits so long for what comes. */
static int datagram_socket(const char *text, int protocol, int ms)
{
	struct timeval limit = {.tv_sec = ms / 1000};
	struct endpoint to = {.port = 53};
	struct sockaddr_storage name;
	socklen_t n;
	int fd;

	CHECK(addr_parse(text, strlen(text), &to.addr));
	n = endpoint_to_sockaddr(&to, &name);
	fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
	CHECK(fd >= 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
	CHECK(connect(fd, (struct sockaddr *)&name, n) == 0);
	return fd;
}

static void udp_passes(void)
{
	const char *const places[] = {WORLD_V4, WORLD_V6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};
	const size_t sizes[] = {0, 1, 1400, 65000, 65507};
	static uint8_t sent[65507], got[65507];

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int fd = datagram_socket(places[i], 0, RIG_PATIENT_MS);

		/* By IPv6 the longest would need a jumbogram on the way to the gate. */
		for (size_t s = 0; s < sg_array_len(sizes) - (i % 2); s++) {
			CHECK(send(fd, sent, sizes[s], 0) == (ssize_t)sizes[s]);
			CHECK(recv(fd, got, sizeof(got), 0) == (ssize_t)sizes[s]);
		}
		close(fd);
	}
}

/* By a ping socket, which an ordinary process of the sandbox may open. */
static void ping_passes(void)
{
	const char *const places[] = {WORLD_V4, WORLD_V6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};

	for (size_t i = 0; i < sg_array_len(places); i++) {
		uint8_t echo[64] = {i % 2 ? 128 : ICMP_ECHO}, got[128];
		int fd = datagram_socket(places[i], i % 2 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
					 RIG_PATIENT_MS);

		CHECK(send(fd, echo, sizeof(echo), 0) == sizeof(echo));
		CHECK(recv(fd, got, sizeof(got), 0) == sizeof(echo));
		CHECK(got[0] == (i % 2 ? 129 : ICMP_ECHOREPLY));
		close(fd);
	}
}

static void low_ports_are_free(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(80)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
}

static void passes_and_refuses(void)
{
	lock_open(false);
	toy_gate_start(&lock.gate, -1);
	CHECK(lock_inside(tcp_passes) == 0);
	CHECK(lock_inside(name_is_kept) == 0);
	begin_to_count_syns();
	CHECK(lock_inside(ports_may_be_used_again) == 0);
	every_syn_came();
	CHECK(lock_inside(addresses_are_known) == 0);
	CHECK(lock_inside(refusal_is_seen) == 0);
	CHECK(lock_inside(udp_passes) == 0);
	CHECK(lock_inside(ping_passes) == 0);
	CHECK(lock_inside(low_ports_are_free) == 0);
	airlock_close(&lock);
}

/* The first connection after the start: no carrier, neighbour or route is still on its way. */
static void first_connect(void)
{
	connect_counted(WORLD_V4, 443, 0);
}

static void first_connect_is_quick(void)
{
	for (int i = 0; i < 50; i++) {
		lock_open(false);
		toy_gate_start(&lock.gate, -1);
		begin_to_count_syns();
		CHECK(lock_inside(first_connect) == 0);
		every_syn_came();
		airlock_close(&lock);
	}
}

/*
 * Far oftener than the kernel's rate limit for its own unreachables lets through (five, and then
 * one a second): what it held back would not be refused in the time that each one has.
 */
static void everything_is_refused(void)
{
	int fd;

	for (int i = 0; i < 50; i++) {
		CHECK(rig_connect(i % 2 ? WORLD_V6 : WORLD_V4, 443) == -1);
		CHECK(errno == ECONNREFUSED);
		fd = datagram_socket(i % 2 ? WORLD_V6 : WORLD_V4, 0, 1000);
		CHECK(send(fd, "x", 1, 0) == 1);
		CHECK(recv(fd, (char[1]){0}, 1, 0) == -1);
		CHECK(errno == ECONNREFUSED);
		close(fd);
	}
}

/* Kills the gate under an open connection, which must end. */
static void gate_dies_under_it(void)
{
	int fd = rig_connect(WORLD_V4, 443);
	ssize_t got;

	CHECK(fd >= 0 && rig_echoes(fd, 10));
	CHECK(write(STDOUT_FILENO, "x", 1) == 1);
	got = recv(fd, (char[1]){0}, 1, 0);
	CHECK(got == 0 || (got < 0 && errno == ECONNRESET));
}

static void dead_gate_is_a_sealed_box(void)
{
	struct airlock_gate_fds fresh;
	struct err e = {""};
	int ready[2], client;
	pid_t gate, inside;

	lock_open(false);
	for (int round = 0; round < 3; round++) {
		gate = toy_gate_start(round ? &fresh : &lock.gate, -1);
		CHECK(lock_inside(tcp_passes) == 0);
		CHECK(pipe(ready) == 0);
		inside = rig_fork();
		if (inside == 0) {
			CHECK(dup2(ready[1], STDOUT_FILENO) >= 0);
			_exit(lock_inside(gate_dies_under_it));
		}
		CHECK(read(ready[0], &client, 1) == 1);
		rig_kill(gate);
		CHECK(rig_wait(inside) == 0);
		CHECK(lock_inside(everything_is_refused) == 0);
		CHECK(airlock_renew(&lock, &fresh, &e) == 0);
		close(ready[0]);
		close(ready[1]);
	}
	airlock_close_gate_fds(&fresh);
	airlock_close(&lock);
}

/* While an old gate still listens a new one cannot; its tun device it has lost. */
static void renewal_needs_a_dead_gate(void)
{
	struct airlock_gate_fds fresh;
	struct err e = {""};
	pid_t gate;

	lock_open(false);
	gate = toy_gate_start(&lock.gate, -1);
	CHECK(airlock_renew(&lock, &fresh, &e) == -1);
	CHECK(strstr(e.text, "listen"));
	CHECK(lock_inside(everything_is_refused) == 0);
	kill(gate, SIGKILL);
	rig_wait(gate);
	CHECK(airlock_renew(&lock, &fresh, &e) == 0);
	toy_gate_start(&fresh, -1);
	CHECK(lock_inside(tcp_passes) == 0);
	airlock_close(&lock);
}

static void killed_keeper_is_seen(void)
{
	struct pollfd p = {.events = POLLIN};
	struct airlock_counters k;
	struct airlock_gate_fds fresh;
	struct err e = {""};
	int before = rig_count_entries("/proc/self/fd");

	lock_open(true);
	p.fd = lock.keeper_pidfd;
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(kill(lock.keeper, SIGKILL) == 0);
	CHECK(poll(&p, 1, RIG_PATIENT_MS) == 1);
	CHECK(airlock_read_counters(&lock, &k) < 0);
	CHECK(airlock_renew(&lock, &fresh, &e) == -1);
	CHECK(strstr(e.text, "keeper"));
	airlock_close(&lock);
	/* A second time does nothing. */
	airlock_close(&lock);
	CHECK(rig_count_entries("/proc/self/fd") == before);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* Waits for the process that this pidfd is of to end. */
static bool ends(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, RIG_PATIENT_MS) == 1;
}

/* With the supervisor, whatever killed it, keeper and door end. */
static void killed_supervisor_takes_all_with_it(void)
{
	int report[2], keeper;
	pid_t supervisor, pid;

	CHECK(pipe2(report, O_CLOEXEC) == 0);
	supervisor = rig_fork();
	if (supervisor == 0) {
		lock_open(true);
		CHECK(write(report[1], &lock.keeper, sizeof(pid)) == sizeof(pid));
		pause();
	}
	close(report[1]);
	CHECK(read(report[0], &pid, sizeof(pid)) == sizeof(pid));
	keeper = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(keeper >= 0);
	rig_kill(supervisor);
	CHECK(ends(keeper));
}

/* Whatever has lost its parent comes to this process; true when all of it has ended in time. */
static bool nothing_is_left(void)
{
	for (int64_t until = rig_ms() + RIG_PATIENT_MS; rig_ms() < until;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return true;
		usleep(1000);
	}
	return false;
}

/* Killed at any moment while the airlock is being made, the supervisor leaves nothing either. */
static void half_made_airlock_goes_too(void)
{
	pid_t supervisor;

	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	for (int i = 0; i < 60; i++) {
		supervisor = rig_fork();
		if (supervisor == 0) {
			lock_open(true);
			pause();
		}
		usleep((useconds_t)(i * 200));
		CHECK(kill(supervisor, SIGKILL) == 0);
		CHECK(nothing_is_left());
	}
}

/* The value of a line of /proc/PID/status. */
static void status_line(pid_t pid, const char *key, char out[64])
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	CHECK(f);
	*out = '\0';
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			sscanf(line + strlen(key), "%63s", out);
	fclose(f);
}

static void keeper_is_confined(void)
{
	struct airlock_counters k;
	char text[64], path[64];

	lock_open(false);
	/* It has answered a second message: whatever it does after the first is done. */
	CHECK(airlock_read_counters(&lock, &k) == 0);
	status_line(lock.keeper, "CapEff:", text);
	CHECK(strcmp(text, "0000000000003000") == 0); /* CAP_NET_ADMIN, CAP_NET_RAW */
	status_line(lock.keeper, "CapPrm:", text);
	CHECK(strcmp(text, "0000000000003000") == 0);
	status_line(lock.keeper, "NoNewPrivs:", text);
	CHECK(strcmp(text, "1") == 0);
	status_line(lock.keeper, "Seccomp:", text);
	CHECK(strcmp(text, "2") == 0);
	if (geteuid() == 0) {
		/* ".", "..", three of /dev/null, control, two of netlink */
		snprintf(path, sizeof(path), "/proc/%d/fd", lock.keeper);
		CHECK(rig_count_entries(path) == 8);
	} else {
		/* Not dumpable: its files in /proc are not even its own user's. */
		snprintf(path, sizeof(path), "/proc/%d/fd", lock.keeper);
		CHECK(opendir(path) == NULL && errno == EACCES);
	}
	airlock_close(&lock);
}

#define BOTH(body) AS_ROOT(body) AS_USER(body)

BOTH(passes_and_refuses)
AS_USER(many_connections_pass)
AS_USER(first_connect_is_quick)
BOTH(dead_gate_is_a_sealed_box)
AS_USER(renewal_needs_a_dead_gate)
BOTH(killed_keeper_is_seen)
AS_USER(killed_supervisor_takes_all_with_it)
AS_USER(half_made_airlock_goes_too)
BOTH(keeper_is_confined)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_and_refuses_as_user),
		cmocka_unit_test(passes_and_refuses_as_root),
		cmocka_unit_test(many_connections_pass_as_user),
		cmocka_unit_test(first_connect_is_quick_as_user),
		cmocka_unit_test(dead_gate_is_a_sealed_box_as_user),
		cmocka_unit_test(dead_gate_is_a_sealed_box_as_root),
		cmocka_unit_test(renewal_needs_a_dead_gate_as_user),
		cmocka_unit_test(killed_keeper_is_seen_as_user),
		cmocka_unit_test(killed_keeper_is_seen_as_root),
		cmocka_unit_test(killed_supervisor_takes_all_with_it_as_user),
		cmocka_unit_test(half_made_airlock_goes_too_as_user),
		cmocka_unit_test(keeper_is_confined_as_user),
		cmocka_unit_test(keeper_is_confined_as_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
