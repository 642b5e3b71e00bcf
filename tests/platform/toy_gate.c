/* SPDX-License-Identifier: Apache-2.0 */
#include "toy_gate.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "rig.h"

enum { PACKET_OCTETS = 65536, HEADER_TCP = 20 };

static _Atomic uint64_t *syns; /* shared by all gates of this process */

struct packet {
	uint8_t *p;
	size_t n;
	bool v6;
	uint8_t protocol;
	uint8_t *payload; /* the transport header */
	size_t payload_n;
};

static bool parse(uint8_t *p, size_t n, struct packet *out)
{
	size_t header;

	if (n < sizeof(struct iphdr))
		return false;
	out->p = p;
	out->n = n;
	out->v6 = p[0] >> 4 == 6;
	header = out->v6 ? sizeof(struct ip6_hdr) : (size_t)(p[0] & 15) * 4;
	if (n < header + 8)
		return false;
	out->protocol = out->v6 ? p[6] : p[9];
	out->payload = p + header;
	out->payload_n = n - header;
	return true;
}

static bool is_syn(const struct packet *k)
{
	const struct tcphdr *t = (const struct tcphdr *)k->payload;

	return k->protocol == IPPROTO_TCP && k->payload_n >= HEADER_TCP && t->syn && !t->ack;
}

static void swap(uint8_t *a, uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t t = a[i];

		a[i] = b[i];
		b[i] = t;
	}
}

/* Exchanging two fields leaves every checksum as it is. */
static void swap_addresses(struct packet *k)
{
	if (k->v6)
		swap(k->p + 8, k->p + 24, 16);
	else
		swap(k->p + 12, k->p + 16, 4);
}

static uint32_t pseudo_sum(const struct packet *k, uint32_t length)
{
	const uint8_t *a = k->v6 ? k->p + 8 : k->p + 12;
	uint32_t sum = length + k->protocol;

	for (size_t i = 0; i < (k->v6 ? 32U : 8U); i += 2)
		sum += (uint32_t)(a[i] << 8 | a[i + 1]);
	return sum;
}

static void refuse(struct packet *k)
{
	struct tcphdr *t = (struct tcphdr *)k->payload;
	uint16_t total;

	swap_addresses(k);
	swap(k->payload, k->payload + 2, 2);
	t->ack_seq = htonl(ntohl(t->seq) + 1);
	t->seq = 0;
	memset(k->payload + 12, 0, 8);
	t->doff = 5;
	t->rst = t->ack = 1;
	t->check = rig_checksum(t, HEADER_TCP, pseudo_sum(k, HEADER_TCP));
	k->n = (size_t)(k->payload - k->p) + HEADER_TCP;
	total = htons((uint16_t)(k->v6 ? HEADER_TCP : k->n));
	memcpy(k->p + (k->v6 ? 4 : 2), &total, 2);
	if (!k->v6) {
		memset(k->p + 10, 0, 2);
		uint16_t sum = rig_checksum(k->p, (size_t)(k->payload - k->p), 0);

		memcpy(k->p + 10, &sum, 2);
	}
}

static void answer_ping(struct packet *k)
{
	uint16_t sum;

	swap_addresses(k);
	k->payload[0] = k->v6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
	memset(k->payload + 2, 0, 2);
	sum = rig_checksum(k->payload, k->payload_n,
			   k->v6 ? pseudo_sum(k, (uint32_t)k->payload_n) : 0);
	memcpy(k->payload + 2, &sum, 2);
}

/* Turns the packet into its answer; false when there is none. */
static bool answer(struct packet *k)
{
	const struct tcphdr *t = (const struct tcphdr *)k->payload;

	if (k->protocol == IPPROTO_TCP && k->payload_n >= HEADER_TCP) {
		if (ntohs(t->dest) == TOY_REFUSED)
			refuse(k);
		return true;
	}
	if (k->protocol == IPPROTO_UDP) {
		swap_addresses(k);
		swap(k->payload, k->payload + 2, 2);
		return true;
	}
	if ((k->protocol == IPPROTO_ICMP && k->payload[0] == ICMP_ECHO) ||
	    (k->protocol == IPPROTO_ICMPV6 && k->payload[0] == ICMP6_ECHO_REQUEST)) {
		answer_ping(k);
		return true;
	}
	return false;
}

/* Who hears of a packet finds all that its answer makes the kernels do done. */
static void serve_tun(int tun, int tap)
{
	static uint8_t octets[PACKET_OCTETS], head[TOY_TAP_OCTETS];
	struct packet k;
	ssize_t got;

	while ((got = read(tun, octets, sizeof(octets))) > 0) {
		size_t n = got < TOY_TAP_OCTETS ? (size_t)got : TOY_TAP_OCTETS;

		memcpy(head, octets, n);
		if (parse(octets, (size_t)got, &k)) {
			*syns += is_syn(&k);
			if (answer(&k))
				CHECK(write(tun, k.p, k.n) == (ssize_t)k.n);
		}
		if (tap >= 0)
			send(tap, head, n, MSG_DONTWAIT);
	}
	/* EBADFD: the keeper has taken the device away. */
	CHECK(got < 0 && (errno == EAGAIN || errno == EBADFD));
}

static void watch(int epoll, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0);
}

/* Says its own name to a connection to TOY_NAMES, and closes it first. */
static bool says_its_name(int fd)
{
	char text[ENDPOINT_TEXT_MAX];
	struct sockaddr_storage name;
	socklen_t n = sizeof(name);
	struct endpoint self;

	CHECK(getsockname(fd, (struct sockaddr *)&name, &n) == 0);
	CHECK(endpoint_from_sockaddr(&name, &self));
	if (self.port != TOY_NAMES)
		return false;
	endpoint_format(&self, text);
	CHECK(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
	close(fd);
	return true;
}

static void serve_listener(int epoll, int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (!says_its_name(fd))
			watch(epoll, fd);
	CHECK(errno == EAGAIN || errno == ECONNABORTED);
}

static void serve_connection(int fd)
{
	uint8_t octets[4096];
	ssize_t got = recv(fd, octets, sizeof(octets), MSG_DONTWAIT);

	if (got > 0)
		got = send(fd, octets, (size_t)got, MSG_NOSIGNAL);
	if (got <= 0)
		close(fd);
}

static void serve(const struct airlock_gate_fds *f, int tap) sg_noreturn;
static void serve(const struct airlock_gate_fds *f, int tap)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e[64];

	CHECK(epoll >= 0);
	watch(epoll, f->tun);
	watch(epoll, f->listen_v4);
	if (f->listen_v6 >= 0)
		watch(epoll, f->listen_v6);
	for (;;) {
		int n = epoll_wait(epoll, e, sg_array_len(e), -1);

		CHECK(n >= 0 || errno == EINTR);
		for (int i = 0; i < n; i++) {
			int fd = e[i].data.fd;

			if (fd == f->tun)
				serve_tun(fd, tap);
			else if (fd == f->listen_v4 || fd == f->listen_v6)
				serve_listener(epoll, fd);
			else
				serve_connection(fd);
		}
	}
}

uint64_t toy_gate_syns(void)
{
	return syns ? *syns : 0;
}

pid_t toy_gate_start(struct airlock_gate_fds *f, int tap)
{
	pid_t pid;

	if (!syns)
		syns = mmap(NULL, sizeof(*syns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	CHECK(syns != MAP_FAILED);
	pid = rig_fork();
	if (pid == 0)
		serve(f, tap);
	airlock_close_gate_fds(f);
	return pid;
}
