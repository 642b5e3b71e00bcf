/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gate/dns.h"

enum { TRIES_MAX = 3, IDLE_MS = 3600 * 1000 };

/* --- the timer --- */

void dns_channel_set_timer(struct dns_channel *c)
{
	struct timeval tv, *left = ares_timeout(c->ares, NULL, &tv);
	int64_t ms = left ? (int64_t)left->tv_sec * 1000 + left->tv_usec / 1000 + 1 : IDLE_MS;

	/* Moves a timer that is set, or sets it from its own expiry: there is room. */
	(void)loop_timer_set(c->loop, &c->timer, mono_add_ms(loop_now(c->loop), ms));
}

static void timer_expired(struct timer *t)
{
	struct dns_channel *c = sg_container_of(t, struct dns_channel, timer);

	dns_channel_set_timer(c);
	ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	dns_channel_set_timer(c);
}

/* --- sockets --- */

static ares_socket_t socket_open(int family, int type, int protocol, void *ctx)
{
	return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int socket_close(ares_socket_t fd, void *ctx)
{
	return close(fd);
}

static int socket_connect(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t n, void *ctx)
{
	return connect(fd, to, n);
}

static ares_ssize_t socket_receive(ares_socket_t fd, void *p, size_t n, int flags,
				   struct sockaddr *from, ares_socklen_t *from_n, void *ctx)
{
	return recvfrom(fd, p, n, flags, from, from_n);
}

static ares_ssize_t socket_send(ares_socket_t fd, const struct iovec *iov, int n, void *ctx)
{
	struct msghdr m = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};

	return sendmsg(fd, &m, MSG_NOSIGNAL);
}

static const struct ares_socket_functions socket_functions = {
	.asocket = socket_open,
	.aclose = socket_close,
	.aconnect = socket_connect,
	.arecvfrom = socket_receive,
	.asendv = socket_send,
};

static void socket_ready(struct watch *w, uint32_t events)
{
	struct dns_channel *c = sg_container_of(w, struct channel_socket, watch)->channel;
	bool in = events & (EPOLLIN | EPOLLERR | EPOLLHUP);
	bool out = w->events & EPOLLOUT && events & (EPOLLOUT | EPOLLERR | EPOLLHUP);

	ares_process_fd(c->ares, in ? w->fd : ARES_SOCKET_BAD, out ? w->fd : ARES_SOCKET_BAD);
	dns_channel_set_timer(c);
}

static struct channel_socket *find_socket(struct dns_channel *c, int fd)
{
	for (size_t i = 0; i < DNS_CHANNEL_SOCKETS_MAX; i++)
		if (c->sockets[i].watch.fd == fd)
			return &c->sockets[i];
	return NULL;
}

/*
 * c-ares says what it wants to know of a socket, and nothing of it before it closes it. A socket
 * that cannot be watched is one that does not answer: its questions time out.
 */
static void socket_wanted(void *ctx, ares_socket_t fd, int readable, int writable)
{
	struct dns_channel *c = ctx;
	struct channel_socket *s = find_socket(c, fd);
	uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

	if (s && events) {
		if (loop_modify(c->loop, &s->watch, events) < 0)
			loop_remove(c->loop, &s->watch);
	} else if (s) {
		loop_remove(c->loop, &s->watch);
	} else if (events && (s = find_socket(c, -1))) {
		if (loop_add(c->loop, &s->watch, fd, events) < 0)
			s->watch.fd = -1;
	}
}

/* --- questions --- */

static enum channel_outcome outcome_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return CHANNEL_ANSWERED;
	case ARES_ETIMEOUT:
		return CHANNEL_TIMED_OUT;
	case ARES_ECANCELLED:
		return CHANNEL_TAKEN_BACK;
	default:
		return CHANNEL_FAILED;
	}
}

/* From c-ares, once for each question; perhaps before ares_send() has returned. */
static void came_back(void *ctx, int status, int timeouts, unsigned char *octets, int n)
{
	struct channel_query *q = ctx;
	struct span answer = status == ARES_SUCCESS ? span_of(octets, (size_t)n) : span_of("", 0);

	if (status != ARES_EDESTRUCTION)
		q->back(q, outcome_of(status), answer);
}

bool dns_channel_ask(struct dns_channel *c, struct channel_query *q, struct span question)
{
	if (c->n_servers == 0) /* ares_send() would lose memory */
		return false;
	ares_send(c->ares, question.p, (int)question.n, came_back, q);
	return true;
}

void dns_channel_take_back(struct dns_channel *c)
{
	ares_cancel(c->ares);
}

/* --- configuration --- */

int dns_channel_set_servers(struct dns_channel *c, const struct resolver_config *config)
{
	struct ares_addr_port_node nodes[RESOLVER_SERVERS_MAX];
	size_t n =
		config->n_servers < RESOLVER_SERVERS_MAX ? config->n_servers : RESOLVER_SERVERS_MAX;

	memset(nodes, 0, sizeof(nodes));
	for (size_t i = 0; i < n; i++) {
		const struct endpoint *e = &config->servers[i];

		nodes[i].next = i + 1 < n ? &nodes[i + 1] : NULL;
		nodes[i].udp_port = nodes[i].tcp_port = e->port;
		nodes[i].family = addr_is_v4(&e->addr) ? AF_INET : AF_INET6;
		if (addr_is_v4(&e->addr))
			memcpy(&nodes[i].addr.addr4, addr_v4_octets(&e->addr), 4);
		else
			memcpy(&nodes[i].addr.addr6, e->addr.b, 16);
	}
	c->n_servers = 0;
	if (ares_set_servers_ports(c->ares, n ? nodes : NULL) != ARES_SUCCESS)
		return -ENOMEM;
	c->n_servers = n;
	return 0;
}

static int init_ares(struct dns_channel *c, const struct resolver_config *config, int64_t try_ms)
{
	char lookups[] = "b"; /* servers only: never the hosts file */
	struct in_addr placeholder = {0};
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = (int)try_ms,
		.tries = config->tries < 1	     ? 1
			 : config->tries > TRIES_MAX ? TRIES_MAX
						     : (int)config->tries,
		.ndots = 1,
		.lookups = lookups,
		.servers = &placeholder,
		.nservers = 1,
		.ednspsz = DNS_UDP_MAX,
		.sock_state_cb = socket_wanted,
		.sock_state_cb_data = c,
	};
	/* With all of these given, no configuration file is looked for. */
	int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		    ARES_OPT_LOOKUPS | ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_SORTLIST |
		    ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB | ARES_OPT_NOROTATE;

	if (ares_init_options(&c->ares, &o, given) != ARES_SUCCESS) {
		c->ares = NULL;
		return -ENOMEM;
	}
	ares_set_socket_functions(c->ares, &socket_functions, c);
	return 0;
}

int dns_channel_open(struct dns_channel *c, struct loop *loop, const struct resolver_config *config,
		     int64_t try_ms)
{
	c->loop = loop;
	for (size_t i = 0; i < DNS_CHANNEL_SOCKETS_MAX; i++)
		c->sockets[i] = (struct channel_socket){{.ready = socket_ready, .fd = -1}, c};
	c->timer.expired = timer_expired;
	if (!loop_timer_set(loop, &c->timer, mono_add_ms(loop_now(loop), IDLE_MS)))
		return -ENOSPC;
	return init_ares(c, config, try_ms);
}

void dns_channel_close(struct dns_channel *c)
{
	if (c->ares)
		ares_destroy(c->ares);
	c->ares = NULL;
	if (c->loop)
		loop_timer_cancel(c->loop, &c->timer);
}
