/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream: a DNS server for tests, over UDP and TCP on loopback, in the test's own loop.
 *
 * Everything runs in a network namespace that the test makes for itself: nothing leaves, and the
 * only IPv6 route is the one to 2a00::/16.
 */
#ifndef SG_TESTS_UPSTREAM_H
#define SG_TESTS_UPSTREAM_H

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "base/compiler.h"
#include "dns_wire.h"
#include "io/loop.h"

struct upstream;

/*
 * Writes the answer to q into w, header included; false: no answer. Called for each message
 * that comes in.
 */
typedef bool upstream_fn(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w);

enum { UPSTREAM_CONNECTIONS = 8, UPSTREAM_PORTS = 100 };

struct upstream {
	struct loop *loop;
	upstream_fn *answer;
	void *ctx;
	struct endpoint at;
	unsigned n_udp, n_tcp;		/* questions that came */
	char last[NAME_MAX_OCTETS + 1]; /* the name of the last one */
	struct watch udp, listener;
	struct upstream_connection {
		struct watch watch;
		struct upstream *upstream;
	} connections[UPSTREAM_CONNECTIONS];
	struct wire wire;
};

static inline void upstream_must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

/* A namespace of one's own with loopback up. False where that is not allowed. */
static inline bool upstream_isolate(void)
{
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	upstream_must(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0, "lo up");
	close(fd);
	return true;
}

/* A route to 2a00::/16; false on a host without IPv6. */
static inline bool upstream_add_ipv6_route(void)
{
	struct in6_rtmsg route = {
		.rtmsg_dst.s6_addr = {0x2a},
		.rtmsg_dst_len = 16,
		.rtmsg_metric = 1,
		.rtmsg_flags = RTF_UP,
		.rtmsg_ifindex = 1,
	};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	bool ok = fd >= 0 && ioctl(fd, SIOCADDRT, &route) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static inline bool upstream_build(struct upstream *u, struct span message, bool tcp)
{
	struct dns_query q;
	enum dns_rcode rcode;
	struct name name;

	*(tcp ? &u->n_tcp : &u->n_udp) += 1;
	upstream_must(dns_query_parse(message, &q, &rcode) == DNS_PARSE_OK, "question");
	upstream_must(dns_name_from_wire(&q.qname, &name) == NAME_OK, "name");
	strcpy(u->last, name.s);
	return u->answer(u, &q, tcp, &u->wire);
}

static inline void upstream_udp_ready(struct watch *w, uint32_t events)
{
	struct upstream *u = sg_container_of(w, struct upstream, udp);
	struct sockaddr_storage from;
	socklen_t from_n = sizeof(from);
	uint8_t octets[2048];
	ssize_t n = recvfrom(w->fd, octets, sizeof(octets), 0, (struct sockaddr *)&from, &from_n);

	if (n > 0 && upstream_build(u, span_of(octets, (size_t)n), false))
		sendto(w->fd, u->wire.octets, u->wire.b.n, 0, (struct sockaddr *)&from, from_n);
}

static inline void upstream_connection_ready(struct watch *w, uint32_t events)
{
	struct upstream_connection *c = sg_container_of(w, struct upstream_connection, watch);
	struct upstream *u = c->upstream;
	uint8_t octets[2048], prefix[2];
	ssize_t n = recv(w->fd, octets, sizeof(octets), 0);
	int fd = w->fd;

	if (n <= 2) {
		loop_remove(u->loop, w);
		close(fd);
	} else if (upstream_build(u, span_of(octets + 2, (size_t)n - 2), true)) {
		prefix[0] = (uint8_t)(u->wire.b.n >> 8);
		prefix[1] = (uint8_t)u->wire.b.n;
		send(fd, prefix, 2, MSG_MORE);
		send(fd, u->wire.octets, u->wire.b.n, MSG_NOSIGNAL);
	}
}

static inline void upstream_accept(struct watch *w, uint32_t events)
{
	struct upstream *u = sg_container_of(w, struct upstream, listener);
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);

	for (size_t i = 0; i < UPSTREAM_CONNECTIONS; i++) {
		struct upstream_connection *c = &u->connections[i];

		if (c->watch.fd >= 0)
			continue;
		upstream_must(loop_add(u->loop, &c->watch, fd, EPOLLIN) == 0, "epoll");
		return;
	}
	close(fd);
}

/* A port that is free both for UDP and for TCP: one that the kernel chose for the first may not be. */
static inline struct sockaddr_in upstream_bind(int *udp, int *tcp)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);

	*udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	upstream_must(bind(*udp, (struct sockaddr *)&at, n) == 0, "bind");
	getsockname(*udp, (struct sockaddr *)&at, &n);
	*tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(*tcp, (struct sockaddr *)&at, n) == 0 && listen(*tcp, 8) == 0)
		return at;
	upstream_must(errno == EADDRINUSE, "listen");
	close(*tcp);
	at.sin_port = 0;
	return at;
}

static inline void upstream_open(struct upstream *u, struct loop *loop, upstream_fn *answer)
{
	struct sockaddr_in at;
	int udp, tcp, taken[UPSTREAM_PORTS], n = 0;

	/* Those whose other half is taken are held until there is one, so that none comes twice. */
	while (at = upstream_bind(&udp, &tcp), at.sin_port == 0) {
		upstream_must(n < UPSTREAM_PORTS, "ports");
		taken[n++] = udp;
	}
	while (n > 0)
		close(taken[--n]);
	memset(u, 0, offsetof(struct upstream, wire));
	u->loop = loop;
	u->answer = answer;
	u->at = (struct endpoint){.addr = addr_from_v4((const uint8_t *)&at.sin_addr),
				  .port = ntohs(at.sin_port)};
	u->udp.ready = upstream_udp_ready;
	u->listener.ready = upstream_accept;
	upstream_must(loop_add(loop, &u->udp, udp, EPOLLIN) == 0, "epoll");
	upstream_must(loop_add(loop, &u->listener, tcp, EPOLLIN) == 0, "epoll");
	for (size_t i = 0; i < UPSTREAM_CONNECTIONS; i++) {
		u->connections[i].watch =
			(struct watch){.ready = upstream_connection_ready, .fd = -1};
		u->connections[i].upstream = u;
	}
}

static inline void upstream_close_watch(struct upstream *u, struct watch *w)
{
	int fd = w->fd;

	loop_remove(u->loop, w);
	if (fd >= 0)
		close(fd);
}

static inline void upstream_close(struct upstream *u)
{
	upstream_close_watch(u, &u->udp);
	upstream_close_watch(u, &u->listener);
	for (size_t i = 0; i < UPSTREAM_CONNECTIONS; i++)
		upstream_close_watch(u, &u->connections[i].watch);
}

/* An answer's header and question, with the case the question came in. */
static inline void upstream_begin(struct wire *w, const struct dns_query *q, unsigned flags,
				  uint16_t answers, uint16_t authority)
{
	wire_header(w, q->id, (uint16_t)(0x8180 | flags), 1, answers, authority, 0);
	buf_put(&w->b, q->qname.b, q->qname.n);
	buf_put_u16(&w->b, q->qtype);
	buf_put_u16(&w->b, DNS_CLASS_IN);
}

/* A record of the asked name. */
static inline void upstream_put(struct wire *w, uint16_t type, uint32_t ttl, const void *data,
				size_t n)
{
	buf_put_u16(&w->b, 0xc00c);
	buf_put_u16(&w->b, type);
	buf_put_u16(&w->b, DNS_CLASS_IN);
	buf_put_u32(&w->b, ttl);
	buf_put_u16(&w->b, (uint16_t)n);
	buf_put(&w->b, data, n);
}

#endif
