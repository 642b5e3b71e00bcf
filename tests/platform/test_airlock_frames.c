/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as no ordinary socket sends them: where each ends, and that each is counted. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "airlock/layout.h"
#include "lock.h"
#include "toy_gate.h"

struct frame {
	const char *what;
	uint16_t ethertype;
	const char *source, *destination; /* IPv4 */
	uint8_t protocol;
	uint8_t tcp_flags;
	uint16_t port, source_port; /* 0: 1024 */
	uint8_t mac_last;	    /* of the destination MAC; 1 is link0's */
	enum { NOISE, UNOWNED, TO_GATE, SILENT } fate;
};

/* As a source port it reads as type 8, code 0. */
enum { ECHO = 0x0800 };
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
enum { TCP = IPPROTO_TCP, UDP = IPPROTO_UDP, SCTP = IPPROTO_SCTP, GRE = IPPROTO_GRE };

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
		.tcp = {.source = htons(f->source_port ? f->source_port : 1024),
			.dest = htons(f->port),
			.doff = 5},
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

static int tap_reader = -1;

/* The head of the next packet that the gate got, or 0 when none comes. */
static ssize_t next_packet(uint8_t out[TOY_TAP_OCTETS], int timeout_ms)
{
	struct pollfd p = {.fd = tap_reader, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1 ? recv(tap_reader, out, TOY_TAP_OCTETS, 0) : 0;
}

static void open_tapped(void)
{
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
	tap_reader = pair[0];
	lock_open(false);
	toy_gate_start(&lock.gate, pair[1]);
	close(pair[1]);
}

static const struct frame frames[] = {
	{"spoofed source", 0x0800, "192.0.0.3", "93.184.216.34", UDP, 0, 53, 0, 1, NOISE},
	{"the gate's source", 0x0800, "192.0.0.1", "93.184.216.34", TCP, SYN, 80, 0, 1, NOISE},
	{"to loopback", 0x0800, "192.0.0.2", "127.0.0.1", TCP, SYN, 80, 0, 1, NOISE},
	{"from loopback", 0x0800, "127.0.0.1", "192.0.0.1", TCP, SYN, 80, 0, 1, NOISE},
	{"multicast", 0x0800, "192.0.0.2", "224.0.0.251", UDP, 0, 5353, 0, 1, NOISE},
	{"broadcast", 0x0800, "192.0.0.2", "255.255.255.255", UDP, 0, 67, 0, 1, NOISE},
	{"to this network", 0x0800, "192.0.0.2", "0.0.0.0", TCP, SYN, 80, 0, 1, NOISE},
	{"another MAC", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 0, 9, NOISE},
	{"MPLS", 0x8847, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 0, 1, NOISE},
	{"a VLAN tag", 0x8100, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 0, 1, NOISE},
	{"PPPoE", 0x8864, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 0, 1, NOISE},
	{"an ACK", 0x0800, "192.0.0.2", "93.184.216.34", TCP, ACK, 80, 0, 1, UNOWNED},
	{"SYN and ACK", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | ACK, 80, 0, 1, UNOWNED},
	{"SYN and FIN", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | FIN, 80, 0, 1, UNOWNED},
	{"SYN and RST", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | RST, 80, 0, 1, UNOWNED},
	{"no flag", 0x0800, "192.0.0.2", "93.184.216.34", TCP, 0, 80, 0, 1, UNOWNED},
	{"an ACK to the gate's port", 0x0800, "192.0.0.2", "192.0.0.1", TCP, ACK,
	 AIRLOCK_TPROXY_PORT, 0, 1, SILENT},
	{"SYN and FIN to the gate's port", 0x0800, "192.0.0.2", "192.0.0.1", TCP, SYN | FIN,
	 AIRLOCK_TPROXY_PORT, 0, 1, SILENT},
	{"a SYN", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN, 80, 0, 1, TO_GATE},
	{"a SYN with data", 0x0800, "192.0.0.2", "93.184.216.34", TCP, SYN | PSH, 80, 0, 1,
	 TO_GATE},
	{"SCTP", 0x0800, "192.0.0.2", "93.184.216.34", SCTP, 0, 80, 0, 1, TO_GATE},
	{"ping", 0x0800, "192.0.0.2", "93.184.216.34", IPPROTO_ICMP, 0, 0, ECHO, 1, TO_GATE},
	{"ping of the gate", 0x0800, "192.0.0.2", "192.0.0.1", IPPROTO_ICMP, 0, 0, ECHO, 1,
	 TO_GATE},
	{"GRE", 0x0800, "192.0.0.2", "192.0.0.1", GRE, 0, 80, 0, 1, TO_GATE},
	{"UDP to the class E", 0x0800, "192.0.0.2", "250.1.2.3", UDP, 0, 80, 0, 1, TO_GATE},
};

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

	open_tapped();
	CHECK(lock_inside(silence_ipv6) == 0);
	for (size_t i = 0; i < sg_array_len(frames); i++) {
		const struct frame *f = &frames[i];
		bool at_gate;

		CHECK(airlock_read_counters(&lock, &before) == 0);
		frame_to_send = f;
		CHECK(lock_inside(send_frame) == 0);
		at_gate = next_packet(packet, f->fate == TO_GATE ? RIG_PATIENT_MS : 20) > 0;
		CHECK(airlock_read_counters(&lock, &after) == 0);
		if (after.noise - before.noise != (f->fate == NOISE) ||
		    after.unowned - before.unowned != (f->fate == UNOWNED) ||
		    at_gate != (f->fate == TO_GATE)) {
			fprintf(stderr, "%s: noise %d, unowned %d, at the gate %d\n", f->what,
				(int)(after.noise - before.noise),
				(int)(after.unowned - before.unowned), at_gate);
			CHECK(!"the frame's fate");
		}
		/* The sandbox's kernel refuses an answer that it did not ask for: a frame more. */
		CHECK(after.frames - before.frames == 1 ||
		      (f->fate == TO_GATE && after.frames - before.frames == 2));
	}
	airlock_close(&lock);
}

/* A SYN of a connection that is there is the kernel's to answer; the connection lives on. */
static void live_connection_survives_a_syn(void)
{
	int fd = rig_connect_from(WORLD_V4, 443, 30000);

	CHECK(fd >= 0);
	frame_to_send = &(const struct frame){
		"", 0x0800, AIRLOCK_SANDBOX_V4, WORLD_V4, TCP, SYN, 443, 30000, 1, TO_GATE};
	send_frame();
	CHECK(rig_echoes(fd, 1000));
}

static void a_live_connection_survives_a_syn(void)
{
	open_tapped();
	CHECK(lock_inside(live_connection_survives_a_syn) == 0);
	airlock_close(&lock);
}

enum { RANDOM_FRAMES = 20000 };

/* xorshift: the same frames every time. */
static uint32_t random_word(void)
{
	static uint32_t x = 2463534242;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

/* A well-made frame with a few octets changed: most get past the first checks. */
static size_t mangle(uint8_t *octets)
{
	const struct frame *f = &frames[random_word() % sg_array_len(frames)];
	size_t n = build_frame(f, octets);

	for (uint32_t i = random_word() % 4; i > 0; i--)
		octets[12 + random_word() % (n - 12)] = (uint8_t)random_word();
	return random_word() % 8 ? n : 14 + random_word() % (n - 14);
}

static void send_random_frames(void)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex("eth0")};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	uint8_t octets[128];

	for (int i = 0; i < RANDOM_FRAMES; i++) {
		size_t n = mangle(octets);

		CHECK(sendto(fd, octets, n, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)n);
	}
}

static void still_passes(void)
{
	int fd = rig_connect(WORLD_V4, 443);

	CHECK(fd >= 0 && rig_echoes(fd, 1000));
}

static void random_frames_are_counted(void)
{
	struct airlock_counters before, after;

	lock_open(false);
	toy_gate_start(&lock.gate, -1);
	CHECK(lock_inside(silence_ipv6) == 0);
	CHECK(airlock_read_counters(&lock, &before) == 0);
	CHECK(lock_inside(send_random_frames) == 0);
	CHECK(airlock_read_counters(&lock, &after) == 0);
	/* The sandbox's kernel answers some of what comes back, with a reset or an ICMP error. */
	CHECK(after.frames - before.frames >= RANDOM_FRAMES);
	CHECK(after.noise - before.noise > RANDOM_FRAMES / 10);
	CHECK(lock_inside(still_passes) == 0);
	airlock_close(&lock);
}

AS_USER(every_frame_is_accounted_for)
AS_USER(a_live_connection_survives_a_syn)
AS_USER(random_frames_are_counted)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_is_accounted_for_as_user),
		cmocka_unit_test(a_live_connection_survives_a_syn_as_user),
		cmocka_unit_test(random_frames_are_counted_as_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
