/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver: c-ares inside the gate's loop.
 *
 * Theory of operation. A *slot* is one question (name and type) in flight. Its states:
 *
 *   FREE       nobody's.
 *   ASKED      c-ares has it and will call back exactly once; at least one lookup waits.
 *   ABANDONED  its deadline has passed and all were told; c-ares still has it.
 *   HELD       c-ares gave it back because servers are being replaced; asked again at once.
 *
 * ASKED and HELD slots stand in one list in the order of their deadlines, which are all equally
 * far off, so that one timer serves all. c-ares tries each server for a short time, in turn; when
 * it has no more tries and the deadline is still far, it is asked once more. It gives
 * up every question within a few seconds, so ABANDONED slots come back.
 *
 * c-ares owns the sockets, the order of servers, retransmission and the retry over TCP. It is made
 * with every option given, so that it reads no file but the system's random numbers, once, at
 * creation. The ids of questions are drawn here, from getrandom. Servers can only be replaced
 * while nothing is in flight: everything is taken back and asked again.
 *
 * Source address, id and question of an answer are compared by c-ares, the question again by
 * dns_response_parse().
 */
#include "gate/resolver.h"

#include <ares.h>
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	SOCKETS_MAX = 4 * RESOLVER_SERVERS_MAX, /* UDP and TCP to each, old and new */
	TRY_MS_MIN = 250,
	TRY_MS_MAX = 1000, /* a lost datagram is asked again after this */
	TRIES_MAX = 3,
	IDS = 128, /* drawn at once */
	IDLE_MS = 3600 * 1000,
};

const int resolver_syscalls[] = {
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(close),
	SCMP_SYS(getrandom),
	-1,
};

enum slot_state { SLOT_FREE, SLOT_ASKED, SLOT_ABANDONED, SLOT_HELD };

struct slot {
	struct resolver *resolver;
	struct slot *newer, *older; /* by deadline; free ones are linked by `older` */
	struct lookup *waiting;
	mono_t due;
	enum slot_state state;
	bool edns;
	uint16_t type;
	struct name name;
};

struct socket_watch {
	struct watch watch; /* fd -1: free */
	struct resolver *resolver;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	size_t n_servers;
	int64_t try_ms;
	struct timer deadline, retransmit; /* always set, so that there is always room for them */
	int route_fd;			   /* an IPv6 socket that never sends; -1 without IPv6 */
	size_t n_hosts;
	struct host_name *hosts;
	struct slot *newest, *oldest, *free;
	size_t n_slots; /* that were ever taken: the others are untouched memory */
	size_t n_ids;
	uint16_t ids[IDS];
	struct socket_watch sockets[SOCKETS_MAX];
	struct slot slots[RESOLVER_IN_FLIGHT_MAX];
	struct dns_message answer;
};

/* --- timers --- */

static void set_timer(struct resolver *r, struct timer *t, mono_t due)
{
	/* Moves a timer that is set, or sets it from its own expiry: there is room. */
	(void)loop_timer_set(r->loop, t, due);
}

static void set_deadline(struct resolver *r)
{
	mono_t idle = mono_add_ms(loop_now(r->loop), IDLE_MS);

	set_timer(r, &r->deadline, r->oldest ? r->oldest->due : idle);
}

static void set_retransmit(struct resolver *r)
{
	struct timeval tv, *left = ares_timeout(r->channel, NULL, &tv);
	int64_t ms = left ? (int64_t)left->tv_sec * 1000 + left->tv_usec / 1000 + 1 : IDLE_MS;

	set_timer(r, &r->retransmit, mono_add_ms(loop_now(r->loop), ms));
}

static void retransmit_expired(struct timer *t)
{
	struct resolver *r = sg_container_of(t, struct resolver, retransmit);

	set_retransmit(r);
	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_retransmit(r);
}

/* --- slots --- */

static void slot_link(struct slot *s)
{
	struct resolver *r = s->resolver;

	s->newer = NULL;
	s->older = r->newest;
	*(r->newest ? &r->newest->newer : &r->oldest) = s;
	r->newest = s;
	set_deadline(r);
}

static void slot_unlink(struct slot *s)
{
	struct resolver *r = s->resolver;

	*(s->newer ? &s->newer->older : &r->newest) = s->older;
	*(s->older ? &s->older->newer : &r->oldest) = s->newer;
	set_deadline(r);
}

static void slot_release(struct slot *s)
{
	s->state = SLOT_FREE;
	s->older = s->resolver->free;
	s->resolver->free = s;
}

static struct slot *slot_take(struct resolver *r)
{
	struct slot *s = r->free;

	if (s) {
		r->free = s->older;
		return s;
	}
	if (r->n_slots == RESOLVER_IN_FLIGHT_MAX)
		return NULL;
	s = &r->slots[r->n_slots++];
	s->resolver = r;
	return s;
}

static struct slot *slot_find(struct resolver *r, const struct name *name, uint16_t type)
{
	struct slot *s = r->newest;

	while (s && !(s->type == type && name_equal(&s->name, name)))
		s = s->older;
	return s;
}

/* Each may start lookups of its own from its callback. */
static void tell(struct lookup *waiting, const struct dns_message *answer)
{
	while (waiting) {
		struct lookup *l = waiting;

		waiting = l->next;
		l->done(l, answer);
	}
}

/* c-ares is done with the slot: free before anybody hears of it, since a callback may need one. */
static void settle(struct slot *s, const struct dns_message *answer)
{
	struct lookup *waiting = s->waiting;

	slot_unlink(s);
	slot_release(s);
	tell(waiting, answer);
}

static void deadline_expired(struct timer *t)
{
	struct resolver *r = sg_container_of(t, struct resolver, deadline);
	mono_t now = loop_now(r->loop);

	set_deadline(r);
	while (r->oldest && !mono_before(now, r->oldest->due)) {
		struct slot *s = r->oldest;

		slot_unlink(s);
		s->state = SLOT_ABANDONED;
		tell(s->waiting, NULL);
	}
}

/* --- questions and answers --- */

/* Unpredictable (RFC 5452, 4.3). The kernel has had its seed since before the gate started. */
static uint16_t draw_id(struct resolver *r)
{
	if (r->n_ids == 0 && getrandom(r->ids, sizeof(r->ids), 0) == (ssize_t)sizeof(r->ids))
		r->n_ids = IDS;
	return r->n_ids ? r->ids[--r->n_ids] : 0;
}

static void answered(void *ctx, int status, int timeouts, unsigned char *octets, int n);

static void ask(struct slot *s)
{
	uint8_t question[DNS_QUESTION_MAX];
	size_t n = dns_question_build(&s->name, s->type, draw_id(s->resolver), s->edns, question);

	if (s->resolver->n_servers == 0) { /* ares_send() would lose memory */
		settle(s, NULL);
		return;
	}
	s->state = SLOT_ASKED;
	ares_send(s->resolver->channel, question, (int)n, answered, s);
}

static void take_message(struct slot *s, struct span octets)
{
	struct dns_message *answer = &s->resolver->answer;

	switch (dns_response_parse(octets, &s->name, s->type, answer)) {
	case DNS_RESPONSE_OK:
		settle(s, answer);
		break;
	case DNS_RESPONSE_NO_EDNS:
		/* c-ares does this the first time, and gives up EDNS in its own bookkeeping. */
		if (s->edns) {
			s->edns = false;
			ask(s);
			break;
		}
		/* fall through */
	default:
		settle(s, NULL);
	}
}

static bool may_ask_again(const struct slot *s, int status)
{
	mono_t now = loop_now(s->resolver->loop);

	return status == ARES_ETIMEOUT && mono_ms_until(now, s->due) > s->resolver->try_ms / 2;
}

/* From c-ares, once for each ask(); perhaps before ares_send() has returned. */
static void answered(void *ctx, int status, int timeouts, unsigned char *octets, int n)
{
	struct slot *s = ctx;

	if (status == ARES_EDESTRUCTION)
		return;
	if (s->state == SLOT_ABANDONED)
		slot_release(s);
	else if (status == ARES_ECANCELLED)
		s->state = SLOT_HELD;
	else if (status == ARES_SUCCESS)
		take_message(s, span_of(octets, (size_t)n));
	else if (may_ask_again(s, status))
		ask(s);
	else
		settle(s, NULL);
}

bool resolver_lookup(struct resolver *r, struct lookup *l, const struct name *name, uint16_t type)
{
	struct slot *s = slot_find(r, name, type);

	if (s) {
		l->next = s->waiting;
		s->waiting = l;
		return true;
	}
	s = slot_take(r);
	if (!s)
		return false;
	l->next = NULL;
	s->waiting = l;
	s->due = mono_add_ms(loop_now(r->loop), RESOLVER_DEADLINE_MS);
	s->edns = true;
	s->type = type;
	s->name = *name;
	slot_link(s);
	ask(s);
	set_retransmit(r);
	return true;
}

/* --- sockets of c-ares --- */

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
	struct socket_watch *s = sg_container_of(w, struct socket_watch, watch);
	struct resolver *r = s->resolver;
	bool in = events & (EPOLLIN | EPOLLERR | EPOLLHUP);
	bool out = w->events & EPOLLOUT && events & (EPOLLOUT | EPOLLERR | EPOLLHUP);

	ares_process_fd(r->channel, in ? w->fd : ARES_SOCKET_BAD, out ? w->fd : ARES_SOCKET_BAD);
	set_retransmit(r);
}

static struct socket_watch *find_watch(struct resolver *r, int fd)
{
	for (size_t i = 0; i < SOCKETS_MAX; i++)
		if (r->sockets[i].watch.fd == fd)
			return &r->sockets[i];
	return NULL;
}

/*
 * c-ares says what it wants to know of a socket, and nothing of it before it closes it. A socket
 * that cannot be watched is one that does not answer: its questions time out.
 */
static void socket_wanted(void *ctx, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = ctx;
	struct socket_watch *s = find_watch(r, fd);
	uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

	if (s && events) {
		if (loop_modify(r->loop, &s->watch, events) < 0)
			loop_remove(r->loop, &s->watch);
	} else if (s) {
		loop_remove(r->loop, &s->watch);
	} else if (events && (s = find_watch(r, -1))) {
		if (loop_add(r->loop, &s->watch, fd, events) < 0)
			s->watch.fd = -1;
	}
}

/* --- configuration --- */

/* Each server is tried within the deadline, and no try waits longer than the host's own would. */
static int64_t try_ms(const struct resolver_config *c)
{
	size_t n = c->n_servers ? c->n_servers : 1;
	int64_t ms = RESOLVER_DEADLINE_MS / (int64_t)n;

	if (ms > TRY_MS_MAX)
		ms = TRY_MS_MAX;
	if (c->timeout_ms && ms > c->timeout_ms)
		ms = c->timeout_ms;
	return ms < TRY_MS_MIN ? TRY_MS_MIN : ms;
}

static int set_servers(struct resolver *r, const struct resolver_config *c)
{
	struct ares_addr_port_node nodes[RESOLVER_SERVERS_MAX];
	size_t n = c->n_servers < RESOLVER_SERVERS_MAX ? c->n_servers : RESOLVER_SERVERS_MAX;

	memset(nodes, 0, sizeof(nodes));
	for (size_t i = 0; i < n; i++) {
		const struct endpoint *e = &c->servers[i];

		nodes[i].next = i + 1 < n ? &nodes[i + 1] : NULL;
		nodes[i].udp_port = nodes[i].tcp_port = e->port;
		nodes[i].family = addr_is_v4(&e->addr) ? AF_INET : AF_INET6;
		if (addr_is_v4(&e->addr))
			memcpy(&nodes[i].addr.addr4, addr_v4_octets(&e->addr), 4);
		else
			memcpy(&nodes[i].addr.addr6, e->addr.b, 16);
	}
	r->n_servers = 0;
	if (ares_set_servers_ports(r->channel, n ? nodes : NULL) != ARES_SUCCESS)
		return -ENOMEM;
	r->n_servers = n;
	return 0;
}

static int copy_hosts(const struct resolver_config *c, struct host_name **out)
{
	*out = NULL;
	if (c->n_hosts == 0)
		return 0;
	if (c->n_hosts > HOST_NAMES_MAX)
		return -E2BIG;
	*out = malloc(c->n_hosts * sizeof(**out));
	if (!*out)
		return -ENOMEM;
	memcpy(*out, c->hosts, c->n_hosts * sizeof(**out));
	return 0;
}

/* Asking may tell lookups, but never takes away a slot that is HELD. */
static void ask_held(struct resolver *r)
{
	struct slot *s = r->oldest;

	while (s) {
		struct slot *next = s->newer;

		if (s->state == SLOT_HELD)
			ask(s);
		s = next;
	}
	set_retransmit(r);
}

int resolver_configure(struct resolver *r, const struct resolver_config *c)
{
	struct host_name *hosts;
	int rc = copy_hosts(c, &hosts);

	if (rc < 0)
		return rc;
	ares_cancel(r->channel);
	rc = set_servers(r, c);
	ask_held(r);
	if (rc < 0) {
		free(hosts);
		return rc;
	}
	free(r->hosts);
	r->hosts = hosts;
	r->n_hosts = c->n_hosts;
	return 0;
}

static int open_channel(struct resolver *r, const struct resolver_config *c)
{
	char lookups[] = "b"; /* servers only: never the hosts file */
	struct in_addr placeholder = {0};
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = (int)r->try_ms,
		.tries = c->tries < 1		? 1
			 : c->tries > TRIES_MAX ? TRIES_MAX
						: (int)c->tries,
		.ndots = 1,
		.lookups = lookups,
		.servers = &placeholder,
		.nservers = 1,
		.ednspsz = DNS_UDP_MAX,
		.sock_state_cb = socket_wanted,
		.sock_state_cb_data = r,
	};
	/* With all of these given, no configuration file is looked for. */
	int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		    ARES_OPT_LOOKUPS | ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_SORTLIST |
		    ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB | ARES_OPT_NOROTATE;

	if (ares_init_options(&r->channel, &o, given) != ARES_SUCCESS) {
		r->channel = NULL;
		return -ENOMEM;
	}
	ares_set_socket_functions(r->channel, &socket_functions, r);
	return 0;
}

static void init_tables(struct resolver *r)
{
	for (size_t i = 0; i < SOCKETS_MAX; i++)
		r->sockets[i] = (struct socket_watch){{.ready = socket_ready, .fd = -1}, r};
	r->deadline.expired = deadline_expired;
	r->retransmit.expired = retransmit_expired;
	r->route_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int start(struct resolver *r, const struct resolver_config *c)
{
	mono_t idle = mono_add_ms(loop_now(r->loop), IDLE_MS);
	int rc;

	r->try_ms = try_ms(c);
	if (!loop_timer_set(r->loop, &r->deadline, idle) ||
	    !loop_timer_set(r->loop, &r->retransmit, idle))
		return -ENOSPC;
	rc = open_channel(r, c);
	return rc < 0 ? rc : resolver_configure(r, c);
}

struct resolver *resolver_new(struct loop *loop, const struct resolver_config *c, struct err *e)
{
	struct resolver *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int rc;

	if (r == MAP_FAILED) {
		err_set(e, "resolver: %s", strerror(errno));
		return NULL;
	}
	r->loop = loop;
	init_tables(r);
	rc = start(r, c);
	if (rc < 0) {
		err_set(e, "resolver: cannot set up c-ares: %s", strerror(-rc));
		resolver_free(r);
		return NULL;
	}
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	if (r->channel)
		ares_destroy(r->channel);
	loop_timer_cancel(r->loop, &r->deadline);
	loop_timer_cancel(r->loop, &r->retransmit);
	if (r->route_fd >= 0)
		close(r->route_fd);
	free(r->hosts);
	munmap(r, sizeof(*r));
}

/* --- what the host knows by itself --- */

size_t resolver_find_host(const struct resolver *r, const struct name *name, bool v4,
			  struct addr out[], size_t max, bool *listed)
{
	size_t n = 0;

	*listed = false;
	for (size_t i = 0; i < r->n_hosts; i++) {
		const struct host_name *h = &r->hosts[i];

		if (!name_equal(&h->name, name))
			continue;
		*listed = true;
		if (addr_is_v4(&h->addr) == v4 && n < max)
			out[n++] = h->addr;
	}
	return n;
}

bool resolver_has_ipv6(const struct resolver *r)
{
	return r->route_fd >= 0;
}

bool resolver_has_route(const struct resolver *r, const struct addr *a)
{
	struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	struct endpoint to = {.addr = *a, .port = 9};
	struct sockaddr_storage ss;
	socklen_t n = endpoint_to_sockaddr(&to, &ss);

	if (r->route_fd < 0)
		return false;
	/* Connecting a datagram socket looks a route up and sends nothing; the source of the last
	 * time is given up first. */
	if (connect(r->route_fd, &nobody, sizeof(nobody)) < 0)
		return true;
	return connect(r->route_fd, (struct sockaddr *)&ss, n) == 0 ||
	       (errno != ENETUNREACH && errno != EADDRNOTAVAIL && errno != EHOSTUNREACH);
}
