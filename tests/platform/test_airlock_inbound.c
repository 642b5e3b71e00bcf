/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door0: a device that was the sandbox's moves into the airlock, and carries what is opened from
 * outside, and nothing else. Outside there is a bridge with a node; the attacker is whoever has
 * every capability in the sandbox, and the judge is a packet socket on the node's device.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lock.h"
#include "toy_gate.h"

#define NODE4	"10.88.0.1"
#define POD4	"10.88.0.2"
#define SECOND4 "10.88.7.9"
#define NODE6	"fd00:88::1"
#define POD6	"fd00:88::2"

enum { SERVICE = 8080, OPENED_PORT = 9000, FRAME = 2048, ECHO = 4000 };
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

static int pod = -1; /* the sandbox's network namespace; the node is this process's */
static struct airlock_inbound inbound;

/* --- the world --- */

/* The pod's namespace, held by a child that lives as long as the test's body. */
static int hold_pod(void)
{
	int pair[2], fd;
	char path[64], octet = 0;
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	pid = rig_fork();
	if (pid == 0) {
		CHECK(unshare(CLONE_NEWNET) == 0);
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

static int inside(rig_body *body)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		CHECK(setns(pod, CLONE_NEWNET) == 0);
		body();
		_exit(0);
	}
	return rig_wait(pid);
}

static void pod_sh(const char *command)
{
	char line[2048];

	snprintf(line, sizeof(line), "nsenter --net=/proc/%d/fd/%d sh -ec '%s'", (int)getpid(), pod,
		 command);
	rig_sh(line);
}

/* What a plugin such as bridge makes: a veth pair, addresses, routes. */
static void make_pod(void)
{
	char move[160];

	CHECK(unshare(CLONE_NEWNET) == 0);
	pod = hold_pod();
	rig_sh("ip link set lo up; sysctl -qw net.ipv6.conf.default.accept_dad=0;"
	       "ip link add br0 type bridge; ip link set br0 up;"
	       "ip address add " NODE4 "/16 dev br0; ip address add " NODE6 "/64 dev br0 nodad;"
	       "ip link add up0 mtu 1450 type veth peer name eth0 mtu 1450 address 02:42:0a:58:00:02;"
	       "ip link set up0 master br0 up");
	snprintf(move, sizeof(move), "ip link set eth0 netns /proc/%d/fd/%d", (int)getpid(), pod);
	rig_sh(move);
	pod_sh("ip link set lo up; ip link set eth0 up;"
	       "ip address add " POD4 "/16 dev eth0; ip address add " SECOND4 "/24 dev eth0;"
	       "ip address add " POD6 "/64 dev eth0 nodad;"
	       "ip route add default via " NODE4 "; ip route add 10.99.0.0/16 via " NODE4 ";"
	       "ip -6 route add default via " NODE6);
}

static void open_door(void)
{
	struct airlock_addresses a;
	struct airlock_config c = {.link = AIRLOCK_NETNS,
				   .netns = pod,
				   .others = AIRLOCK_OTHERS_INBOUND,
				   .inbound = &inbound,
				   .addresses = &a};
	struct err e = {""};

	if (inbound_read(pod, "eth0", &inbound, &e) < 0)
		fprintf(stderr, "%s\n", e.text);
	CHECK(inbound.n_addresses == 3 && inbound.n_routes >= 5);
	a = inbound_link_addresses(&inbound);
	if (airlock_open(&c, &lock, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"airlock_open");
	}
}

/* --- servers in the pod --- */

/* `ready` is closed when it serves. */
static void serve_tcp(int family, uint16_t port, int ready)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1, l = socket(family, SOCK_STREAM, 0);

	CHECK(setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	if (family == AF_INET6)
		CHECK(setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) == 0 &&
		      bind(l, (struct sockaddr *)&a6, sizeof(a6)) == 0);
	else
		CHECK(bind(l, (struct sockaddr *)&a4, sizeof(a4)) == 0);
	CHECK(listen(l, 16) == 0);
	close(ready);
	for (;;) {
		char text[4096];
		int fd = accept(l, NULL, NULL);
		ssize_t n;

		while (fd >= 0 && (n = recv(fd, text, sizeof(text), 0)) > 0)
			CHECK(send(fd, text, (size_t)n, MSG_NOSIGNAL) == n || errno == EPIPE ||
			      errno == ECONNRESET);
		close(fd);
	}
}

static void serve_udp(uint16_t port, int ready)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	close(ready);
	for (;;) {
		struct sockaddr_in from;
		socklen_t n_from = sizeof(from);
		char text[9000];
		ssize_t n = recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&from, &n_from);

		CHECK(n >= 0 &&
		      sendto(fd, text, (size_t)n, 0, (struct sockaddr *)&from, n_from) == n);
	}
}

static void start_servers(void)
{
	int ready[2];
	char none;

	CHECK(pipe2(ready, O_CLOEXEC) == 0);
	for (int i = 0; i < 3; i++)
		if (rig_fork() == 0) {
			CHECK(setns(pod, CLONE_NEWNET) == 0);
			if (i == 2)
				serve_udp(SERVICE, ready[1]);
			serve_tcp(i ? AF_INET6 : AF_INET, SERVICE, ready[1]);
		}
	close(ready[1]);
	CHECK(read(ready[0], &none, 1) == 0);
	close(ready[0]);
}

/* A connection to the pod, tried until it is served. */
static int reach(const char *address)
{
	int64_t until = rig_ms() + RIG_PATIENT_MS;
	int fd = -1;

	while (fd < 0 && rig_ms() < until)
		fd = rig_connect(address, SERVICE);
	return fd;
}

static void tcp_is_served(const char *address)
{
	int fd = reach(address);

	CHECK(fd >= 0 && rig_echoes(fd, ECHO));
	close(fd);
}

static void udp_is_served(size_t n)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(SERVICE)};
	struct timeval patience = {.tv_sec = RIG_PATIENT_MS / 1000};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char text[9000] = "datagram", back[9000];

	CHECK(inet_pton(AF_INET, POD4, &to.sin_addr) == 1);
	CHECK(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
	CHECK(send(fd, text, n, 0) == (ssize_t)n && recv(fd, back, sizeof(back), 0) == (ssize_t)n);
	CHECK(memcmp(text, back, n) == 0);
	close(fd);
}

/* --- what is served --- */

static void opened_from_outside(void)
{
	pid_t gate;

	make_pod();
	open_door();
	gate = toy_gate_start(&lock.gate, -1);
	start_servers();
	tcp_is_served(POD4);
	tcp_is_served(POD6);
	udp_is_served(100);
	/* In fragments, both ways. */
	udp_is_served(8000);
	rig_sh("ping -c1 -W20 " POD4 " >/dev/null && ping -c1 -W20 " POD6 " >/dev/null");
	/* When the gate has died it goes on, and nothing else does. */
	rig_kill(gate);
	tcp_is_served(POD4);
	udp_is_served(100);
	airlock_close(&lock);
	/* Both pairs go with the airlock. */
	rig_sh("for i in $(seq 400); do ip link show up0 >/dev/null 2>&1 || exit 0; sleep 0.05; done; "
	       "exit 1");
	CHECK(rig_connect(POD4, SERVICE) < 0);
}
AS_ROOT(opened_from_outside)

static void second_address_needs_a_route(void)
{
	make_pod();
	rig_sh("ip address add 10.88.7.1/24 dev br0");
	open_door();
	start_servers();
	tcp_is_served(SECOND4);
}
AS_ROOT(second_address_needs_a_route)

static void speak_to_the_gate(void)
{
	int fd = rig_connect(WORLD_V4, 443);

	CHECK(fd >= 0 && rig_echoes(fd, ECHO));
	close(fd);
	fd = rig_connect(WORLD_V6, 443);
	CHECK(fd >= 0 && rig_echoes(fd, ECHO));
	close(fd);
	/* The node's own address is the gate's to judge, as any other. */
	fd = rig_connect(NODE4, 443);
	CHECK(fd >= 0 && rig_echoes(fd, ECHO));
	close(fd);
}

static void look_the_same(void)
{
	CHECK(inbound.mac[1] == 0x42 && inbound.mtu == 1450);
	pod_sh("ip -o link show eth0 | grep -q \"mtu 1450 .*link/ether 02:42:0a:58:00:02\"");
	pod_sh("ip -o address show eth0 | grep -q \"inet " POD4 "/16 \"");
	pod_sh("ip -o address show eth0 | grep -q \"inet " SECOND4 "/24 \"");
	pod_sh("ip -o address show eth0 | grep -q \"inet6 " POD6 "/64 \"");
	pod_sh("ip route | grep -q \"^default via " NODE4 " dev eth0\"");
	pod_sh("ip route | grep -q \"^10.99.0.0/16 via " NODE4 " dev eth0\"");
	pod_sh("ip -6 route | grep -q \"^default via " NODE6 " dev eth0\"");
	pod_sh("! ip route | grep -v via");
}

/* The numbers of the pair are those of the one before: plugins look at both ends. */
static void has_the_numbers(void)
{
	char line[256];

	snprintf(line, sizeof(line), "ip -o link show eth0 | grep -q \"^%u: eth0@if%u:\"",
		 inbound.index, inbound.peer);
	pod_sh(line);
	snprintf(line, sizeof(line), "ip -o link show up0 | grep -q '^%u: up0@if%u:'", inbound.peer,
		 inbound.index);
	rig_sh(line);
}

static void takes_the_place(void)
{
	make_pod();
	open_door();
	toy_gate_start(&lock.gate, -1);
	look_the_same();
	has_the_numbers();
	CHECK(inside(speak_to_the_gate) == 0);
}
AS_ROOT(takes_the_place)

/* --- what is not --- */

static int judge = -1;

static void start_judging(void)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET,
				.sll_protocol = htons(ETH_P_ALL),
				.sll_ifindex = (int)if_nametoindex("up0")};

	judge = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	CHECK(judge >= 0 && bind(judge, (struct sockaddr *)&a, sizeof(a)) == 0);
}

/* Whether the kernel's own: an ARP or ND message, or a report of its groups (RFC 3810). */
static bool is_housekeeping(const uint8_t *frame)
{
	bool v6 = frame[12] == 0x86 && frame[13] == 0xdd;

	if (frame[12] == 8 && frame[13] == 6)
		return true;
	if (v6 && frame[20] == 0 && frame[54] == 58)
		return frame[62] == 143;
	return v6 && frame[20] == 58 && (frame[54] == 135 || frame[54] == 136);
}

/* How many frames came from the pod's side, but for the kernel's own. `last` gets the last one. */
static unsigned left_by_the_door(uint8_t last[FRAME])
{
	struct pollfd p = {.fd = judge, .events = POLLIN};
	unsigned n = 0;

	while (poll(&p, 1, 300) == 1) {
		struct sockaddr_ll from;
		socklen_t n_from = sizeof(from);
		uint8_t frame[FRAME];

		if (recvfrom(judge, frame, sizeof(frame), 0, (struct sockaddr *)&from, &n_from) <=
		    0)
			continue;
		if (from.sll_pkttype == PACKET_OUTGOING || is_housekeeping(frame))
			continue;
		memcpy(last, frame, sizeof(frame));
		n++;
	}
	return n;
}

/* A segment by hand, IPv4; its length. */
static size_t segment(uint8_t *p, const char *from, uint16_t source, const char *to, uint16_t port,
		      uint8_t flags, uint32_t sequence, uint32_t acknowledged)
{
	uint32_t pseudo = 0, words[2] = {htonl(sequence), htonl(acknowledged)};
	uint16_t ports[2] = {htons(source), htons(port)}, sum;

	memset(p, 0, 44);
	p[0] = 0x45;
	p[3] = 44;
	p[8] = 64;
	p[9] = IPPROTO_TCP;
	CHECK(inet_pton(AF_INET, from, p + 12) == 1 && inet_pton(AF_INET, to, p + 16) == 1);
	memcpy(p + 20, ports, 4);
	memcpy(p + 24, words, 8);
	p[32] = 5 << 4;
	p[33] = flags;
	p[34] = 0xff;
	memcpy(p + 40, "leak", 4);
	sum = rig_checksum(p, 20, 0);
	memcpy(p + 10, &sum, 2);
	for (int i = 12; i < 20; i += 2)
		pseudo += (uint32_t)p[i] << 8 | p[i + 1];
	sum = rig_checksum(p + 20, 24, pseudo + IPPROTO_TCP + 24);
	memcpy(p + 36, &sum, 2);
	return 44;
}

static size_t datagram(uint8_t *p, const char *from, uint16_t source, const char *to, uint16_t port)
{
	uint16_t ports[2] = {htons(source), htons(port)}, sum;

	memset(p, 0, 32);
	p[0] = 0x45;
	p[3] = 32;
	p[8] = 64;
	p[9] = IPPROTO_UDP;
	CHECK(inet_pton(AF_INET, from, p + 12) == 1 && inet_pton(AF_INET, to, p + 16) == 1);
	memcpy(p + 20, ports, 4);
	p[25] = 12;
	memcpy(p + 28, "leak", 4);
	sum = rig_checksum(p, 20, 0);
	memcpy(p + 10, &sum, 2);
	return 32;
}

static size_t icmp(uint8_t *p, const char *from, const char *to, uint8_t type, uint16_t id)
{
	uint16_t ident = htons(id), sum;

	memset(p, 0, 32);
	p[0] = 0x45;
	p[3] = 32;
	p[8] = 64;
	p[9] = IPPROTO_ICMP;
	CHECK(inet_pton(AF_INET, from, p + 12) == 1 && inet_pton(AF_INET, to, p + 16) == 1);
	p[20] = type;
	memcpy(p + 24, &ident, 2);
	memcpy(p + 28, "leak", 4);
	sum = rig_checksum(p, 20, 0);
	memcpy(p + 10, &sum, 2);
	sum = rig_checksum(p + 20, 12, 0);
	memcpy(p + 22, &sum, 2);
	return 32;
}

/* On `device`, from its own address, to that link-layer address. */
static void put(const char *device, const uint8_t to[6], const uint8_t from[6],
		const uint8_t *packet, size_t n)
{
	uint8_t frame[FRAME];
	struct sockaddr_ll a = {.sll_family = AF_PACKET,
				.sll_ifindex = (int)if_nametoindex(device)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && a.sll_ifindex > 0);
	memcpy(frame, to, 6);
	memcpy(frame + 6, from, 6);
	frame[12] = 8;
	frame[13] = 0;
	memcpy(frame + 14, packet, n);
	CHECK(sendto(fd, frame, 14 + n, 0, (struct sockaddr *)&a, sizeof(a)) == (ssize_t)(14 + n));
	close(fd);
}

static const uint8_t mac_gate[6] = {0x02, 's', 'g', 0, 0, 1};
static const uint8_t mac_node[6] = {0x02, 0x42, 0x0a, 0x58, 0, 1};

static uint8_t packet[FRAME];
static size_t packet_n;

static void put_inside(void)
{
	put("eth0", mac_gate, inbound.mac, packet, packet_n);
}

static void from_pod(size_t n)
{
	packet_n = n;
	CHECK(inside(put_inside) == 0);
}

/* Somebody on the bridge, who may claim any address. */
static void from_outside(size_t n)
{
	put("br0", inbound.mac, mac_node, packet, n);
}

static void begin_attack(void)
{
	make_pod();
	/* Nobody answers in the place of those outside that are made up here. */
	rig_sh("ip neigh add 10.88.0.9 lladdr 02:42:0a:58:00:09 dev br0");
	open_door();
	toy_gate_start(&lock.gate, -1);
	/* The airlock has to know where answers go before one is tried. */
	rig_sh("ping -c1 -W3 " POD4 " >/dev/null; ping -c1 -W3 " POD6 " >/dev/null");
	start_judging();
	CHECK(left_by_the_door(packet) == 0);
}

static void nothing_left(void)
{
	uint8_t last[FRAME];

	CHECK(left_by_the_door(last) == 0);
}

static void one_left(uint8_t flags)
{
	uint8_t last[FRAME];

	CHECK(left_by_the_door(last) == 1);
	CHECK(last[14 + 9] == IPPROTO_TCP && last[14 + 33] == flags);
}

/* Without anything opened, no packet of any kind. */
static void unasked(void)
{
	static const uint8_t flags[] = {SYN,	   ACK, SYN | ACK, RST, RST | ACK,
					FIN | ACK, FIN, 0,	   0xff};

	begin_attack();
	for (size_t i = 0; i < sizeof(flags); i++)
		from_pod(segment(packet, POD4, SERVICE, NODE4, 40000, flags[i], 1, 1));
	from_pod(datagram(packet, POD4, SERVICE, NODE4, 40000));
	for (uint8_t type = 0; type < 19; type++)
		from_pod(icmp(packet, POD4, NODE4, type, 7));
	/* Protocols that nobody carries: 47 GRE, 132 SCTP, 4 IP in IP. */
	for (size_t i = 0; i < 3; i++) {
		size_t n = datagram(packet, POD4, SERVICE, NODE4, 40000);

		packet[9] = (uint8_t[]){47, 132, 4}[i];
		packet[10] = packet[11] = 0;
		memcpy(packet + 10, &(uint16_t){rig_checksum(packet, 20, 0)}, 2);
		from_pod(n);
	}
	from_pod(segment(packet, SECOND4, SERVICE, NODE4, 40000, SYN, 1, 1));
	from_pod(datagram(packet, SECOND4, SERVICE, NODE4, 40000));
	nothing_left();
}
AS_ROOT(unasked)

/* One SYN from outside lets a SYN-ACK or a reset out, not a word more. */
static void one_stray_syn(void)
{
	begin_attack();
	from_outside(segment(packet, NODE4, 40001, POD4, OPENED_PORT, SYN, 1000, 0));
	/* The pod's kernel refuses it: nobody listens. */
	one_left(RST | ACK);
	from_outside(segment(packet, NODE4, 40002, POD4, OPENED_PORT, SYN, 1000, 0));
	one_left(RST | ACK);
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40002, ACK, 1, 1001));
	nothing_left();
}
AS_ROOT(one_stray_syn)

/* The attacker's own stack: the pod's kernel says nothing, what is said is made by hand. */
static void silence_pod(void)
{
	pod_sh("nft add table ip quiet; nft add chain ip quiet in "
	       "{ type filter hook input priority 0 \\; policy drop \\; }");
}

static void half_open(void)
{
	begin_attack();
	silence_pod();
	from_outside(segment(packet, NODE4, 40003, POD4, OPENED_PORT, SYN, 1000, 0));
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40003, SYN | ACK, 5000, 1001));
	one_left(SYN | ACK);
	/* Data before the far side has acknowledged. */
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40003, ACK, 5001, 1001));
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40003, FIN | ACK, 5001, 1001));
	nothing_left();
	/* Opened from both sides at once: a SYN is the gate's, and so is what follows it. */
	from_outside(segment(packet, NODE4, 40009, POD4, OPENED_PORT, SYN, 1000, 0));
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40009, SYN, 5000, 0));
	nothing_left();
}
AS_ROOT(half_open)

static void open_by_hand(uint16_t port)
{
	from_outside(segment(packet, NODE4, port, POD4, OPENED_PORT, SYN, 1000, 0));
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, port, SYN | ACK, 5000, 1001));
	from_outside(segment(packet, NODE4, port, POD4, OPENED_PORT, ACK, 1001, 5001));
	one_left(SYN | ACK);
}

/* An open connection carries answers to the one that opened it, and to nobody else. */
static void beside_an_open_connection(void)
{
	begin_attack();
	silence_pod();
	/* The node's kernel knows nothing of these connections, and must not reset them. */
	rig_sh("nft add table ip quiet; nft add chain ip quiet out { type filter hook output priority 0 \\; };"
	       "nft add rule ip quiet out tcp flags rst drop");
	open_by_hand(40004);
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40004, ACK, 5001, 1005));
	one_left(ACK);
	/* Another port of the same two, another host, another address of the pod's. */
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40005, ACK, 5001, 1005));
	from_pod(segment(packet, POD4, OPENED_PORT + 1, NODE4, 40004, ACK, 5001, 1005));
	from_pod(segment(packet, POD4, OPENED_PORT, "10.88.0.9", 40004, ACK, 5001, 1005));
	from_pod(segment(packet, SECOND4, OPENED_PORT, NODE4, 40004, ACK, 5001, 1005));
	/* Out of the window. */
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40004, ACK, 5001 + 0x10000000, 1005));
	/* A SYN of the same endpoints goes to the gate, and what follows it as well. */
	from_pod(segment(packet, POD4, OPENED_PORT, NODE4, 40004, SYN, 9000, 0));
	/* An ICMP error that quotes the connection. */
	from_pod(icmp(packet, POD4, NODE4, 3, 0));
	nothing_left();
}
AS_ROOT(beside_an_open_connection)

/* From the port of the airlock's own listener too. */
static void far_port_of_the_listener(void)
{
	int fd;

	make_pod();
	open_door();
	toy_gate_start(&lock.gate, -1);
	start_servers();
	tcp_is_served(POD4);
	fd = rig_connect_from(POD4, SERVICE, 61000);
	CHECK(fd >= 0 && rig_echoes(fd, ECHO));
}
AS_ROOT(far_port_of_the_listener)

/* Datagrams go to the one endpoint that has asked, from the one that was asked. */
static void datagrams_of_the_asked(void)
{
	begin_attack();
	pod_sh("sysctl -qw net.ipv4.icmp_echo_ignore_all=1");
	from_outside(datagram(packet, NODE4, 40006, POD4, OPENED_PORT));
	/* No ICMP error leaves, though nobody listens. */
	nothing_left();
	from_pod(datagram(packet, POD4, OPENED_PORT, NODE4, 40006));
	CHECK(left_by_the_door(packet) == 1);
	from_pod(datagram(packet, POD4, OPENED_PORT, NODE4, 40007));
	from_pod(datagram(packet, POD4, OPENED_PORT + 1, NODE4, 40006));
	from_pod(datagram(packet, POD4, OPENED_PORT, "10.88.0.9", 40006));
	nothing_left();
	from_outside(icmp(packet, NODE4, POD4, 8, 77));
	nothing_left();
	from_pod(icmp(packet, POD4, NODE4, 0, 77));
	CHECK(left_by_the_door(packet) == 1);
	from_pod(icmp(packet, POD4, NODE4, 0, 78));
	from_pod(icmp(packet, POD4, NODE4, 8, 77));
	from_pod(icmp(packet, POD4, "10.88.0.9", 0, 77));
	nothing_left();
}
AS_ROOT(datagrams_of_the_asked)

static int listen_in_pod(void)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	CHECK(own >= 0 && setns(pod, CLONE_NEWNET) == 0);
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));
	CHECK(fd >= 0 && setns(own, CLONE_NEWNET) == 0);
	close(own);
	return fd;
}

static unsigned came_in(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	unsigned n = 0;

	while (poll(&p, 1, 300) == 1) {
		uint8_t heard[FRAME];

		CHECK(recv(fd, heard, sizeof(heard), 0) > 0);
		n++;
	}
	return n;
}

/* What claims to be the gate, the pod itself or one machine alone does not come in. */
static void false_sources(void)
{
	static const char *const sources[] = {
		"192.0.0.1", POD4, SECOND4, "127.0.0.1", "0.1.2.3", "224.0.0.1", "255.255.255.255"};
	int heard;

	begin_attack();
	silence_pod();
	heard = listen_in_pod();
	for (size_t i = 0; i < sg_array_len(sources); i++)
		from_outside(datagram(packet, sources[i], 40008, POD4, OPENED_PORT));
	/* Nor does what is for another: the gate, or a neighbour. */
	from_outside(datagram(packet, NODE4, 40008, "192.0.0.1", 53));
	from_outside(datagram(packet, NODE4, 40008, "10.88.0.77", 53));
	/* Nor what opens nothing. */
	from_outside(segment(packet, NODE4, 40008, POD4, OPENED_PORT, ACK, 1, 1));
	from_outside(segment(packet, NODE4, 40008, POD4, OPENED_PORT, SYN | ACK, 1, 1));
	from_outside(icmp(packet, NODE4, POD4, 5, 1));
	from_outside(icmp(packet, NODE4, POD4, 3, 1));
	CHECK(came_in(heard) == 0);
	from_outside(datagram(packet, NODE4, 40008, POD4, OPENED_PORT));
	CHECK(came_in(heard) == 1);
}
AS_ROOT(false_sources)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opened_from_outside_as_root),
		cmocka_unit_test(second_address_needs_a_route_as_root),
		cmocka_unit_test(takes_the_place_as_root),
		cmocka_unit_test(unasked_as_root),
		cmocka_unit_test(one_stray_syn_as_root),
		cmocka_unit_test(half_open_as_root),
		cmocka_unit_test(beside_an_open_connection_as_root),
		cmocka_unit_test(far_port_of_the_listener_as_root),
		cmocka_unit_test(datagrams_of_the_asked_as_root),
		cmocka_unit_test(false_sources_as_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
