/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The airlock as a whole, as root and as an ordinary user: what passes, what is refused, what is
 * left when one of its processes dies, and what a person is told when the machine lacks a part.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "airlock/airlock.h"
#include "airlock/layout.h"
#include "base/addr.h"
#include "rig.h"
#include "toy_gate.h"

/* Documentation addresses would do as well: nothing leaves the namespaces. */
static const char world_v4[] = "93.184.216.34";
static const char world_v6[] = "2a00:1450:4001:80b::200e";

enum { AT_ONCE_MS = 100 };

static struct airlock lock;

static void open_lock(bool door)
{
	struct airlock_config c = {.uid = 1234, .gid = 2345, .door = door};
	struct err e = {""};

	if (airlock_open(&c, &lock, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"airlock_open");
	}
}

/* Runs the body inside the sandbox's namespaces. */
static int in_sandbox(rig_body *body)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		CHECK(setns(lock.sandbox_userns, CLONE_NEWUSER) == 0);
		CHECK(setns(lock.sandbox_netns, CLONE_NEWNET) == 0);
		CHECK(geteuid() == 1234 && getegid() == 2345);
		body();
		_exit(0);
	}
	return rig_wait(pid);
}

static void tcp_passes(void)
{
	const char *const places[] = {world_v4, world_v6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int fd = rig_connect(places[i], i % 2 ? 443 : AIRLOCK_TPROXY_PORT);

		CHECK(fd >= 0);
		CHECK(rig_echoes(fd, 1000));
		close(fd);
	}
}

static void refusal_is_seen(void)
{
	const char *const places[] = {world_v4, world_v6, "192.0.0.5"};

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int64_t start = rig_ms();

		CHECK(rig_connect(places[i], TOY_REFUSED) == -1);
		CHECK(errno == ECONNREFUSED);
		CHECK(rig_ms() - start < AT_ONCE_MS);
	}
}

/* A connected datagram socket of this kind. */
static int datagram_socket(const char *text, int protocol)
{
	struct timeval limit = {.tv_sec = 1};
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
	const char *const places[] = {world_v4, world_v6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};
	const size_t sizes[] = {0, 1, 1400, 65000, 65507};
	static uint8_t sent[65507], got[65507];

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int fd = datagram_socket(places[i], 0);

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
	const char *const places[] = {world_v4, world_v6, AIRLOCK_GATE_V4, AIRLOCK_GATE_V6};

	for (size_t i = 0; i < sg_array_len(places); i++) {
		uint8_t echo[64] = {i % 2 ? 128 : ICMP_ECHO}, got[128];
		int fd = datagram_socket(places[i], i % 2 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);

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
	open_lock(false);
	toy_gate_start(&lock.gate, -1);
	CHECK(in_sandbox(tcp_passes) == 0);
	CHECK(in_sandbox(refusal_is_seen) == 0);
	CHECK(in_sandbox(udp_passes) == 0);
	CHECK(in_sandbox(ping_passes) == 0);
	CHECK(in_sandbox(low_ports_are_free) == 0);
	airlock_close(&lock);
}

/* The first connection after the start: no carrier, neighbour or route is still on its way. */
static void first_connect(void)
{
	int64_t start = rig_ms();
	int fd = rig_connect(world_v4, 443);

	CHECK(fd >= 0);
	CHECK(rig_ms() - start < AT_ONCE_MS);
}

static void first_connect_is_quick(void)
{
	for (int i = 0; i < 50; i++) {
		open_lock(false);
		toy_gate_start(&lock.gate, -1);
		CHECK(in_sandbox(first_connect) == 0);
		airlock_close(&lock);
	}
}

static void everything_is_refused(void)
{
	int64_t start = rig_ms();
	int fd;

	for (int i = 0; i < 50; i++) {
		CHECK(rig_connect(i % 2 ? world_v6 : world_v4, 443) == -1);
		CHECK(errno == ECONNREFUSED);
		fd = datagram_socket(i % 2 ? world_v6 : world_v4, 0);
		CHECK(send(fd, "x", 1, 0) == 1);
		CHECK(recv(fd, (char[1]){0}, 1, 0) == -1);
		CHECK(errno == ECONNREFUSED);
		close(fd);
	}
	CHECK(rig_ms() - start < 10 * AT_ONCE_MS);
}

/* Kills the gate under an open connection, which must end. */
static void gate_dies_under_it(void)
{
	int fd = rig_connect(world_v4, 443);
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

	open_lock(false);
	for (int round = 0; round < 3; round++) {
		gate = toy_gate_start(round ? &fresh : &lock.gate, -1);
		CHECK(in_sandbox(tcp_passes) == 0);
		CHECK(pipe(ready) == 0);
		inside = rig_fork();
		if (inside == 0) {
			CHECK(dup2(ready[1], STDOUT_FILENO) >= 0);
			_exit(in_sandbox(gate_dies_under_it));
		}
		CHECK(read(ready[0], &client, 1) == 1);
		rig_kill(gate);
		CHECK(rig_wait(inside) == 0);
		CHECK(in_sandbox(everything_is_refused) == 0);
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

	open_lock(false);
	gate = toy_gate_start(&lock.gate, -1);
	CHECK(airlock_renew(&lock, &fresh, &e) == -1);
	CHECK(strstr(e.text, "listen"));
	CHECK(in_sandbox(everything_is_refused) == 0);
	kill(gate, SIGKILL);
	rig_wait(gate);
	CHECK(airlock_renew(&lock, &fresh, &e) == 0);
	toy_gate_start(&fresh, -1);
	CHECK(in_sandbox(tcp_passes) == 0);
	airlock_close(&lock);
}

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void killed_keeper_is_seen(void)
{
	struct pollfd p = {.events = POLLIN};
	struct airlock_counters k;
	struct airlock_gate_fds fresh;
	struct err e = {""};
	int before = count_entries("/proc/self/fd");

	open_lock(true);
	p.fd = lock.keeper_pidfd;
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(kill(lock.keeper, SIGKILL) == 0);
	CHECK(poll(&p, 1, 1000) == 1);
	CHECK(airlock_read_counters(&lock, &k) < 0);
	CHECK(airlock_renew(&lock, &fresh, &e) == -1);
	CHECK(strstr(e.text, "keeper"));
	airlock_close(&lock);
	/* A second time does nothing. */
	airlock_close(&lock);
	CHECK(count_entries("/proc/self/fd") == before);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
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

	open_lock(false);
	/* It has answered a second message: whatever it does after the first is done. */
	CHECK(airlock_read_counters(&lock, &k) == 0);
	status_line(lock.keeper, "CapEff:", text);
	CHECK(strcmp(text, "0000000000001000") == 0); /* CAP_NET_ADMIN */
	status_line(lock.keeper, "CapPrm:", text);
	CHECK(strcmp(text, "0000000000001000") == 0);
	status_line(lock.keeper, "NoNewPrivs:", text);
	CHECK(strcmp(text, "1") == 0);
	status_line(lock.keeper, "Seccomp:", text);
	CHECK(strcmp(text, "2") == 0);
	if (geteuid() == 0) {
		/* ".", "..", three of /dev/null, control, two of netlink */
		snprintf(path, sizeof(path), "/proc/%d/fd", lock.keeper);
		CHECK(count_entries(path) == 8);
	} else {
		/* Not dumpable: its files in /proc are not even its own user's. */
		snprintf(path, sizeof(path), "/proc/%d/fd", lock.keeper);
		CHECK(opendir(path) == NULL && errno == EACCES);
	}
	airlock_close(&lock);
}

static int tap_reader = -1;

/* The head of the next packet that the gate got, or 0 when none comes. */
static ssize_t next_packet(uint8_t out[TOY_TAP_OCTETS], int timeout_ms)
{
	struct pollfd p = {.fd = tap_reader, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1 ? recv(tap_reader, out, TOY_TAP_OCTETS, 0) : 0;
}

static void open_tapped_lock(void)
{
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
	tap_reader = pair[0];
	open_lock(false);
	toy_gate_start(&lock.gate, pair[1]);
	close(pair[1]);
}

struct frame {
	const char *what;
	uint16_t ethertype;
	const char *source, *destination; /* IPv4 */
	uint8_t protocol;
	uint8_t tcp_flags;
	uint16_t port;
	uint8_t mac_last; /* of the destination MAC; 1 is link0's */
	enum { NOISE, UNOWNED, TO_GATE, SILENT } fate;
};

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
enum { TCP = IPPROTO_TCP, UDP = IPPROTO_UDP, SCTP = IPPROTO_SCTP, GRE = IPPROTO_GRE };

static const struct frame frames[] = {
	{"spoofed source", 0x0800, "192.0.0.3", "93.184.216.34", UDP, 0, 53, 1, NOISE},
	{"the gate's source", 0x0800, "192.0.0.1", "93.184.216.34", TCP, SYN, 80, 1, NOISE},
	{"to loopback", 0x0800, "192.0.0.2", "127.0.0.1", TCP, SYN, 80, 1, NOISE},
	{"from loopback", 0x0800, "127.0.0.1", "192.0.0.1", TCP, SYN, 80, 1, NOISE},
	{"multicast", 0x0800, "192.0.0.2", "224.0.0.251", UDP, 0, 5353, 1, NOISE},
	{"broadcast", 0x0800, "192.0.0.2", "255.255.255.255", UDP, 0, 67, 1, NOISE},
	{"to this network", 0x0800, "192.0.0.2", "0.0.0.0", TCP, SYN, 80, 1, NOISE},
	{"another MAC", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 9, NOISE},
	{"MPLS", 0x8847, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 1, NOISE},
	{"a VLAN tag", 0x8100, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 1, NOISE},
	{"PPPoE", 0x8864, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 1, NOISE},
	{"an ACK", 0x0800, "192.0.0.2", "93.184.216.34", TCP, ACK, 80, 1, UNOWNED},
	{"SYN and ACK", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | ACK, 80, 1, UNOWNED},
	{"SYN and FIN", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | FIN, 80, 1, UNOWNED},
	{"SYN and RST", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | RST, 80, 1, UNOWNED},
	{"no flag", 0x0800, "192.0.0.2", "93.184.216.34", TCP, 0, 80, 1, UNOWNED},
	{"an ACK to the gate's port", 0x0800, "192.0.0.2", "192.0.0.1", TCP, ACK,
	 AIRLOCK_TPROXY_PORT, 1, SILENT},
	{"SYN and FIN to the gate's port", 0x0800, "192.0.0.2", "192.0.0.1", TCP, SYN | FIN,
	 AIRLOCK_TPROXY_PORT, 1, SILENT},
	{"a SYN", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 1, TO_GATE},
	{"a SYN with data", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | PSH, 80, 1, TO_GATE},
	{"SCTP", 0x0800, "192.0.0.2", "93.184.216.34", SCTP, 0, 80, 1, TO_GATE},
	{"GRE", 0x0800, "192.0.0.2", "192.0.0.1", GRE, 0, 80, 1, TO_GATE},
	{"UDP to the class E", 0x0800, "192.0.0.2", "250.1.2.3", UDP, 0, 80, 1, TO_GATE},
};

static size_t build_frame(const struct frame *f, uint8_t *out)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) p = {
		.eth = {.h_dest = {2, 's', 'g', 0, 0, f->mac_last},
			.h_source = {2, 's', 'g', 0, 0, 2},
			.h_proto = htons(f->ethertype)},
		.ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = f->protocol},
		.tcp = {.source = htons(1024), .dest = htons(f->port), .doff = 5},
	};
	uint8_t *tcp = (uint8_t *)&p.tcp;

	p.ip.saddr = inet_addr(f->source);
	p.ip.daddr = inet_addr(f->destination);
	p.ip.tot_len = htons(sizeof(p) - sizeof(p.eth));
	p.ip.check = rig_checksum(&p.ip, sizeof(p.ip), 0);
	tcp[13] = f->tcp_flags;
	if (f->protocol == TCP) {
		uint16_t check = rig_checksum(&p.ip.saddr, 8, TCP + sizeof(p.tcp));

		p.tcp.check = rig_checksum(tcp, sizeof(p.tcp), (uint16_t)~ntohs(check));
	}
	memcpy(out, &p, sizeof(p));
	return sizeof(p);
}

static const struct frame *frame_to_send;

static void send_frame(void)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex("eth0")};
	uint8_t octets[128];
	size_t n = build_frame(frame_to_send, octets);
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	CHECK(fd >= 0);
	CHECK(sendto(fd, octets, n, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)n);
}

/* The sandbox's kernel tells multicast routers, now and again, which groups it is in. */
static void silence_ipv6(void)
{
	rig_write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
}

/* Each frame comes to exactly one end, and the counters say which. */
static void every_frame_is_accounted_for(void)
{
	struct airlock_counters before, after;
	uint8_t packet[TOY_TAP_OCTETS];

	open_tapped_lock();
	CHECK(in_sandbox(silence_ipv6) == 0);
	for (size_t i = 0; i < sg_array_len(frames); i++) {
		const struct frame *f = &frames[i];
		bool at_gate;

		CHECK(airlock_read_counters(&lock, &before) == 0);
		frame_to_send = f;
		CHECK(in_sandbox(send_frame) == 0);
		at_gate = next_packet(packet, f->fate == TO_GATE ? 1000 : 20) > 0;
		CHECK(airlock_read_counters(&lock, &after) == 0);
		if (after.noise - before.noise != (f->fate == NOISE) ||
		    after.unowned - before.unowned != (f->fate == UNOWNED) ||
		    at_gate != (f->fate == TO_GATE)) {
			fprintf(stderr, "%s: noise %d, unowned %d, at the gate %d\n", f->what,
				(int)(after.noise - before.noise),
				(int)(after.unowned - before.unowned), at_gate);
			CHECK(!"the frame's fate");
		}
		/* The sandbox's kernel resets the connection that it did not ask for. */
		CHECK(after.frames > before.frames);
	}
	airlock_close(&lock);
}

#define ROOT(body)                                  \
	static void body##_as_root(void **state)    \
	{                                           \
		assert_int_equal(rig_run(body), 0); \
	}
#define USER(body)                                          \
	static void body##_as_user(void **state)            \
	{                                                   \
		assert_int_equal(rig_run_as_user(body), 0); \
	}
#define BOTH(body) ROOT(body) USER(body)

BOTH(passes_and_refuses)
USER(first_connect_is_quick)
BOTH(dead_gate_is_a_sealed_box)
USER(renewal_needs_a_dead_gate)
BOTH(killed_keeper_is_seen)
BOTH(keeper_is_confined)
USER(every_frame_is_accounted_for)

int main(void)
{
	const struct CMUnitTest as_user[] = {
		cmocka_unit_test(passes_and_refuses_as_user),
		cmocka_unit_test(first_connect_is_quick_as_user),
		cmocka_unit_test(dead_gate_is_a_sealed_box_as_user),
		cmocka_unit_test(renewal_needs_a_dead_gate_as_user),
		cmocka_unit_test(killed_keeper_is_seen_as_user),
		cmocka_unit_test(keeper_is_confined_as_user),
		cmocka_unit_test(every_frame_is_accounted_for_as_user),
	};
	const struct CMUnitTest as_root[] = {
		cmocka_unit_test(passes_and_refuses_as_root),
		cmocka_unit_test(dead_gate_is_a_sealed_box_as_root),
		cmocka_unit_test(killed_keeper_is_seen_as_root),
		cmocka_unit_test(keeper_is_confined_as_root),
	};
	int failed = cmocka_run_group_tests(as_user, NULL, NULL);

	return geteuid() == 0 ? failed + cmocka_run_group_tests(as_root, NULL, NULL) : failed;
}
