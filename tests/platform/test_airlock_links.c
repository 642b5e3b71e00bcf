/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other kinds of link: one into a network namespace that is there already, as root and as the
 * one whose user namespace owns it, and a tap device; what else leads out of such a namespace.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "airlock/capture_ring.h"
#include "airlock/link.h"
#include "lock.h"
#include "toy_gate.h"

static int target = -1; /* the network namespace that is there already */

/* A child that makes namespaces and holds them; the descriptor of its network namespace. */
static int hold_netns(bool own_user, const char *prepare)
{
	int pair[2], fd;
	char path[64], octet = 0;
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	pid = rig_fork();
	if (pid == 0) {
		if (own_user)
			rig_enter_userns(CLONE_NEWNET);
		else
			CHECK(unshare(CLONE_NEWNET) == 0);
		rig_sh(prepare);
		CHECK(write(pair[1], &octet, 1) == 1);
		pause();
	}
	close(pair[1]);
	CHECK(read(pair[0], &octet, 1) == 1);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static int open_link(struct airlock_config *c, struct err *e)
{
	c->link = AIRLOCK_NETNS;
	c->netns = target;
	return airlock_open(c, &lock, e);
}

static void must_open(struct airlock_config *c)
{
	struct err e = {""};

	if (open_link(c, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"airlock_open");
	}
}

static int inside(const char *command)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		if (geteuid() != 0)
			CHECK(setns(ioctl(target, 0xb701 /* NS_GET_USERNS */), CLONE_NEWUSER) == 0);
		CHECK(setns(target, CLONE_NEWNET) == 0);
		execl("/bin/sh", "sh", "-ec", command, NULL);
		_exit(127);
	}
	return rig_wait(pid);
}

static void tcp_passes_inside(void)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		if (geteuid() != 0)
			CHECK(setns(ioctl(target, 0xb701), CLONE_NEWUSER) == 0);
		CHECK(setns(target, CLONE_NEWNET) == 0);
		for (size_t i = 0; i < 2; i++) {
			int fd = rig_connect(i ? WORLD_V6 : WORLD_V4, 443);

			CHECK(fd >= 0 && rig_echoes(fd, 1000));
		}
		_exit(0);
	}
	CHECK(rig_wait(pid) == 0);
}

static void namespace_that_is_there(void)
{
	struct airlock_config c = {.others = AIRLOCK_OTHERS_REMOVED};
	pid_t gate;

	target = hold_netns(geteuid() != 0,
			    "ip link add v0 type veth peer name v1; ip link set v0 up;"
			    "ip address add 10.1.2.3/24 dev v0; ip route add default via 10.1.2.1");
	must_open(&c);
	gate = toy_gate_start(&lock.gate, -1);
	CHECK(inside("test \"$(ls /proc/sys/net/ipv4/conf | tr '\\n' ' ')\" = 'all default eth0 lo '") ==
	      0);
	tcp_passes_inside();
	rig_kill(gate);
	airlock_close(&lock);
	/* With the airlock the link goes, and nothing comes back. */
	CHECK(inside("! ip link show eth0 2>/dev/null && test -z \"$(ip route)\"") == 0);
}
AS_ROOT(namespace_that_is_there)
AS_USER(namespace_that_is_there)

/* A container's network has given it an address of its own, and a name for its device. */
static void addresses_of_its_own(void)
{
	struct airlock_addresses a = airlock_usual_addresses();
	const uint8_t mac[6] = {0x02, 0x42, 0xac, 0x12, 0, 2};
	struct airlock_config c = {.addresses = &a, .mac = mac, .device = "net1", .mtu = 1500};
	pid_t gate;

	a.gate_v4 = airlock_address("172.18.0.1");
	a.sandbox_v4 = airlock_address("172.18.0.2");
	a.v4_bits = 16;
	target = hold_netns(geteuid() != 0, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
					    "net.ipv6.conf.default.disable_ipv6=1");
	must_open(&c);
	gate = toy_gate_start(&lock.gate, -1);
	tcp_passes_inside();
	CHECK(inside("ip -o -4 address show net1 | grep -q 'inet 172.18.0.2/16 '") == 0);
	CHECK(inside("ip route | grep -q '^default via 172.18.0.1 dev net1 .*onlink'") == 0);
	CHECK(inside("ip -o link show net1 | grep -q 'mtu 1500 .*link/ether 02:42:ac:12:00:02'") ==
	      0);
	rig_kill(gate);
}
AS_ROOT(addresses_of_its_own)
AS_USER(addresses_of_its_own)

static void refused_with(const char *prepare, const char *word)
{
	struct airlock_config c = {.others = AIRLOCK_OTHERS_REFUSED};
	struct err e = {""};

	target = hold_netns(true, prepare);
	CHECK(open_link(&c, &e) < 0);
	if (!strstr(e.text, word))
		fprintf(stderr, "%s\n", e.text);
	CHECK(strstr(e.text, word));
	CHECK(inside("! ip link show eth0 2>/dev/null") == 0);
}

static void another_way_out(void)
{
	refused_with("ip link add v0 type veth peer name v1", "the device ");
	refused_with("ip link add br0 type bridge", "the device br0 ");
	/* The name of a device that a namespace may begin with is no excuse. */
	refused_with("ip link add gre0 type bridge 2>/dev/null || ip link add br0 type bridge",
		     "the device ");
	refused_with(
		"ip link set lo up; ip route add 10.0.0.0/8 encap seg6 mode encap segs 2001:db8::1 dev lo "
		"2>/dev/null || ip link add m0 type macvlan 2>/dev/null || ip link add v0 type veth",
		"way out");
}
AS_USER(another_way_out)

static void not_the_starters_own(void)
{
	struct airlock_config c = {0};
	struct err e = {""};

	rig_enter_userns(CLONE_NEWNET);
	target = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK(target >= 0 && open_link(&c, &e) < 0);
	CHECK(strstr(e.text, "of sandgate itself"));
}
AS_USER(not_the_starters_own)

static void not_anothers(void)
{
	struct airlock_config c = {0};
	struct err e = {""};

	target = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	if (target < 0)
		target = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK(target >= 0 && open_link(&c, &e) < 0);
	CHECK(strstr(e.text, "root"));
}
AS_USER(not_anothers)

/* --- a tap --- */

enum { VNET = 10, FRAME = 2048 };

static void send_frame(const uint8_t *source, uint16_t type, const uint8_t *payload, size_t n)
{
	uint8_t frame[FRAME] = {0};
	static const uint8_t gate[6] = {0x02, 's', 'g', 0, 0, 1};

	memcpy(frame + VNET, gate, 6);
	memcpy(frame + VNET + 6, source, 6);
	frame[VNET + 12] = (uint8_t)(type >> 8);
	frame[VNET + 13] = (uint8_t)type;
	memcpy(frame + VNET + 14, payload, n);
	CHECK(write(lock.tap, frame, VNET + 14 + n) == (ssize_t)(VNET + 14 + n));
}

/* The next frame of this type, without its headers; its length or -1 when none comes. */
static ssize_t hear(uint16_t type, uint8_t *payload)
{
	struct pollfd p = {.fd = lock.tap, .events = POLLIN};
	uint8_t frame[FRAME];

	while (poll(&p, 1, RIG_PATIENT_MS) == 1) {
		ssize_t n = read(lock.tap, frame, sizeof(frame));

		CHECK(n > VNET + 14);
		if (frame[VNET + 12] != type >> 8 || frame[VNET + 13] != (type & 0xff))
			continue;
		memcpy(payload, frame + VNET + 14, (size_t)n - VNET - 14);
		return n - VNET - 14;
	}
	return -1;
}

/* An echo request to the world, which the toy gate sends back. */
static size_t echo_request(uint8_t *p)
{
	static const uint8_t head[28] = {0x45, 0, 0,  28,  0,	1,  0, 0, 64, 1, 0, 0, 192, 0,
					 0,    2, 93, 184, 216, 34, 8, 0, 0,  0, 0, 7, 0,   1};
	uint16_t sum;

	memcpy(p, head, sizeof(head));
	sum = rig_checksum(p, 20, 0);
	memcpy(p + 10, &sum, 2);
	sum = rig_checksum(p + 20, 8, 0);
	memcpy(p + 22, &sum, 2);
	return sizeof(head);
}

static void tap_carries_frames(void)
{
	const uint8_t own[6] = {0x02, 's', 'g', 0, 0, 2}, spoofed[6] = {0x02, 's', 'g', 0, 0, 9};
	struct airlock_config c = {.link = AIRLOCK_TAP, .capture = true};
	struct airlock_counters counted;
	struct err e = {""};
	uint8_t packet[FRAME];
	pid_t gate;
	size_t n;

	CHECK(airlock_open(&c, &lock, &e) == 0);
	CHECK(lock.tap >= 0 && lock.capture >= 0 && lock.gate.dhcp >= 0 && lock.gate.router >= 0);
	gate = toy_gate_start(&lock.gate, -1);
	n = echo_request(packet);
	send_frame(own, ETH_P_IP, packet, n);
	CHECK(hear(ETH_P_IP, packet) >= 28);
	CHECK(packet[9] == 1 && packet[20] == 0);
	CHECK(airlock_read_counters(&lock, &counted) == 0 && counted.noise == 0);
	n = echo_request(packet);
	send_frame(spoofed, ETH_P_IP, packet, n);
	send_frame(own, ETH_P_8021Q, packet, n);
	CHECK(airlock_read_counters(&lock, &counted) == 0);
	CHECK(counted.noise == 2);
	rig_kill(gate);
}
AS_ROOT(tap_carries_frames)
AS_USER(tap_carries_frames)

enum { DOOR_PORT = 8080, SYN = 2, ACK = 16 };

/* A segment from the guest's port to the one that sent `in`, with these flags. */
static size_t answer_segment(const uint8_t *in, uint8_t flags, uint8_t *p)
{
	static const uint8_t head[40] = {0x45, 0, 0,   40, 0, 1, 0,   0, 64, 6,
					 0,    0, 192, 0,  0, 2, 192, 0, 0,  1};
	uint32_t theirs, pseudo;
	uint16_t sum;

	memcpy(p, head, sizeof(head));
	memcpy(p + 20, in + 22, 2);
	memcpy(p + 22, in + 20, 2);
	memcpy(&theirs, in + 24, 4);
	theirs = htonl(ntohl(theirs) + 1);
	memcpy(p + 28, &theirs, 4);
	p[32] = 5 << 4;
	p[33] = flags;
	p[34] = 0x10;
	sum = rig_checksum(p, 20, 0);
	memcpy(p + 10, &sum, 2);
	/* The pseudo header: both addresses, the protocol and the length (RFC 9293, 3.1). */
	pseudo = 192 * 256u + 0 + 0 * 256u + 2 + 192 * 256u + 0 + 0 * 256u + 1 + 6 + 20;
	sum = rig_checksum(p + 20, 20, pseudo);
	memcpy(p + 36, &sum, 2);
	return sizeof(head);
}

/* A connection to the guest leaves by the tap, and what the guest answers reaches its socket. */
static void door_of_a_tap(void)
{
	const uint8_t own[6] = {0x02, 's', 'g', 0, 0, 2};
	struct airlock_config c = {.link = AIRLOCK_TAP, .door = true};
	uint16_t port = htons(DOOR_PORT);
	uint8_t packet[FRAME], answer[FRAME], status = 1;
	struct err e = {""};
	pid_t gate;

	CHECK(airlock_open(&c, &lock, &e) == 0);
	gate = toy_gate_start(&lock.gate, -1);
	CHECK(send(lock.door, &port, sizeof(port), 0) == sizeof(port));
	CHECK(hear(ETH_P_IP, packet) >= 40);
	CHECK(packet[9] == 6 && packet[33] == SYN && memcmp(packet + 22, &port, 2) == 0);
	send_frame(own, ETH_P_IP, answer, answer_segment(packet, SYN | ACK, answer));
	CHECK(recv(lock.door, &status, 1, 0) == 1 && status == 0);
	rig_kill(gate);
}
AS_ROOT(door_of_a_tap)
AS_USER(door_of_a_tap)

/* Whether root of a sandbox that knows the airlock can make devices in that namespace as well. */
static bool airlock_knows(int netns)
{
	char path[64];
	struct nl n;
	pid_t pid = rig_fork();

	if (pid == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)lock.keeper);
		CHECK(setns(open(path, O_RDONLY | O_CLOEXEC), CLONE_NEWNET) == 0);
		CHECK(nl_open(&n, NETLINK_ROUTE) == 0);
		_exit(link_knows(&n, netns) != 0);
	}
	return rig_wait(pid) != 0;
}

/*
 * An engine moves the end from where it was left into a namespace that it makes later, by its name,
 * and gives it its addresses. Whatever is published of it is reached from the airlock.
 */
static void handed_to_an_engine(void)
{
	const uint8_t mac[6] = {0x02, 0x42, 0x0a, 0x4d, 0, 2};
	struct airlock_addresses a = airlock_usual_addresses();
	struct airlock_config c = {.link = AIRLOCK_HANDED,
				   .door = true,
				   .device = "sgtest0",
				   .addresses = &a,
				   .mac = mac};
	int room = hold_netns(false, "ip link set lo up"), later = hold_netns(false, "true");
	uint16_t port = htons(DOOR_PORT);
	char move[256];
	struct err e = {""};
	uint8_t status = 0;
	pid_t gate;

	a.gate_v4 = airlock_address("10.77.0.1");
	a.sandbox_v4 = airlock_address("10.77.0.2");
	a.v4_bits = 24;
	c.netns = room;
	if (airlock_open(&c, &lock, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"airlock_open");
	}
	CHECK(!airlock_knows(room));
	gate = toy_gate_start(&lock.gate, -1);
	target = room;
	snprintf(move, sizeof(move), "ip link set sgtest0 netns /proc/%d/fd/%d name eth0", getpid(),
		 later);
	CHECK(inside(move) == 0);
	target = later;
	CHECK(inside("ip link set lo up; ip addr add 10.77.0.2/24 dev eth0; ip link set eth0 up;"
		     "ip -6 addr add " AIRLOCK_SANDBOX_V6 "/64 dev eth0 nodad;"
		     "ip route add default via 10.77.0.1; ip -6 route add default via " AIRLOCK_GATE_V6) ==
	      0);
	tcp_passes_inside();
	CHECK(airlock_knows(later) && !airlock_knows(room));
	CHECK(send(lock.door, &port, sizeof(port), 0) == sizeof(port));
	CHECK(recv(lock.door, &status, 1, 0) == 1 && status == ECONNREFUSED);
	rig_kill(gate);
	airlock_close(&lock);
	CHECK(inside("! ip link show eth0 2>/dev/null") == 0);
}
AS_ROOT(handed_to_an_engine)

/* What a guest asks before it has an address reaches the two sockets, of a second gate too. */
static void guest_is_heard(void)
{
	static const uint8_t discover[28 + 4] = {0x45, 0,  0, 32, 0, 1,	  0,   0,   64,	 17, 0x3a,
						 0xcc, 0,  0, 0,  0, 255, 255, 255, 255, 0,  68,
						 0,    67, 0, 12, 0, 0,	  'd', 'h', 'c', 'p'};
	const uint8_t own[6] = {0x02, 's', 'g', 0, 0, 2};
	struct airlock_config c = {.link = AIRLOCK_TAP};
	struct pollfd p = {.events = POLLIN};
	struct err e = {""};
	uint8_t packet[FRAME], got[64];
	uint16_t sum;

	CHECK(airlock_open(&c, &lock, &e) == 0);
	for (int i = 0; i < 2; i++) {
		memcpy(packet, discover, sizeof(discover));
		packet[10] = packet[11] = 0;
		sum = rig_checksum(packet, 20, 0);
		memcpy(packet + 10, &sum, 2);
		send_frame(own, ETH_P_IP, packet, sizeof(discover));
		p.fd = lock.gate.dhcp;
		CHECK(poll(&p, 1, RIG_PATIENT_MS) == 1);
		CHECK(recv(lock.gate.dhcp, got, sizeof(got), 0) == 4 &&
		      memcmp(got, "dhcp", 4) == 0);
		CHECK(airlock_renew(&lock, &lock.gate, &e) == 0);
	}
}
AS_ROOT(guest_is_heard)
AS_USER(guest_is_heard)

/* --- a capture --- */

static unsigned captured(int fd, const uint8_t *ring)
{
	unsigned n = 0;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	poll(&p, 1, RIG_PATIENT_MS);
	for (unsigned i = 0; i < CAPTURE_BLOCKS; i++) {
		const struct tpacket_block_desc *b =
			(const void *)(ring + (size_t)i * CAPTURE_BLOCK_OCTETS);

		if (b->hdr.bh1.block_status & TP_STATUS_USER)
			n += b->hdr.bh1.num_pkts;
	}
	return n;
}

static void capture_has_every_frame(void)
{
	struct airlock_config c = {.link = AIRLOCK_TAP, .capture = true};
	const size_t size = (size_t)CAPTURE_BLOCK_OCTETS * CAPTURE_BLOCKS;
	const uint8_t own[6] = {0x02, 's', 'g', 0, 0, 2};
	struct err e = {""};
	uint8_t packet[FRAME], *ring;
	size_t n = echo_request(packet);
	int later;

	CHECK(airlock_open(&c, &lock, &e) == 0);
	send_frame(own, ETH_P_IP, packet, n);
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, lock.capture, 0);
	CHECK(ring != MAP_FAILED);
	/* The request, and the kernel's refusal, since there is no gate. */
	CHECK(captured(lock.capture, ring) >= 1);
	later = airlock_open_capture(&lock, &e);
	CHECK(later >= 0);
	send_frame(own, ETH_P_IP, packet, n);
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, later, 0);
	CHECK(ring != MAP_FAILED && captured(later, ring) >= 1);
}
AS_ROOT(capture_has_every_frame)
AS_USER(capture_has_every_frame)

static void wrong_configurations(void **state)
{
	const uint8_t group[6] = {1, 2, 3, 4, 5, 6};
	const struct airlock_config wrong[] = {
		{.mtu = 1000},	    {.mtu = 70000},    {.mac = group},
		{.device = "../x"}, {.device = ""},    {.device = "sixteen-octets-n"},
		{.device = "lo"},   {.device = "all"}, {.device = "default"},
	};

	for (size_t i = 0; i < sg_array_len(wrong); i++) {
		struct err e = {""};
		struct airlock a;

		assert_int_equal(airlock_open(&wrong[i], &a, &e), -1);
		assert_true(*e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(namespace_that_is_there_as_root),
		cmocka_unit_test(namespace_that_is_there_as_user),
		cmocka_unit_test(addresses_of_its_own_as_root),
		cmocka_unit_test(addresses_of_its_own_as_user),
		cmocka_unit_test(another_way_out_as_user),
		cmocka_unit_test(not_the_starters_own_as_user),
		cmocka_unit_test(not_anothers_as_user),
		cmocka_unit_test(tap_carries_frames_as_root),
		cmocka_unit_test(tap_carries_frames_as_user),
		cmocka_unit_test(door_of_a_tap_as_root),
		cmocka_unit_test(door_of_a_tap_as_user),
		cmocka_unit_test(handed_to_an_engine_as_root),
		cmocka_unit_test(guest_is_heard_as_root),
		cmocka_unit_test(guest_is_heard_as_user),
		cmocka_unit_test(capture_has_every_frame_as_root),
		cmocka_unit_test(capture_has_every_frame_as_user),
		cmocka_unit_test(wrong_configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
