/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver: which questions are in flight, and who waits for them.
 *
 * Theory of operation. A *slot* is one question (name and type) in flight. Its states:
 *
 *   FREE       nobody's.
 *   ASKED      the channel (dns_channel.h) has it, and it will come back exactly once; at least one
 *              lookup waits.
 *   ABANDONED  its deadline has passed and all were told; the channel still has it.
 *   HELD       it came back because servers are being replaced; asked again at once.
 *
 * ASKED and HELD slots stand in one list in the order of their deadlines, which are all equally
 * far off, so that one timer serves all. The channel tries each server for a short time, in turn;
 * when it has no more tries and the deadline is still far, it is asked once more. It gives up every
 * question within a few seconds, so ABANDONED slots come back.
 *
 * The ids of questions are drawn here, from getrandom. Servers can only be replaced while nothing is
 * in flight: everything is taken back and asked again. That an answer is one to the question is seen
 * by c-ares, and again by dns_response_parse().
 */
#include "gate/resolver.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/dns_channel.h"

enum {
	TRY_MS_MIN = 250,
	TRY_MS_MAX = 1000, /* a lost datagram is asked again after this */
	IDS = 128,	   /* drawn at once */
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
	struct channel_query query;
	struct resolver *resolver;
	struct slot *newer, *older; /* by deadline; free ones are linked by `older` */
	struct lookup *waiting;
	mono_t due;
	enum slot_state state;
	bool edns;
	uint16_t type;
	struct name name;
};

struct resolver {
	struct loop *loop;
	struct dns_channel channel;
	int64_t try_ms;
	struct timer deadline; /* always set, so that there is always room for it */
	int route_fd;	       /* an IPv6 socket that never sends; -1 without IPv6 */
	size_t n_hosts;
	struct host_name *hosts;
	struct slot *newest, *oldest, *free;
	size_t n_slots; /* that were ever taken: the others are untouched memory */
	size_t n_ids;
	uint16_t ids[IDS];
	struct slot slots[RESOLVER_IN_FLIGHT_MAX];
	struct dns_message answer;
};

/* --- slots --- */

static void set_deadline(struct resolver *r)
{
	mono_t idle = mono_add_ms(loop_now(r->loop), IDLE_MS);

	/* Moves a timer that is set, or sets it from its own expiry: there is room. */
	(void)loop_timer_set(r->loop, &r->deadline, r->oldest ? r->oldest->due : idle);
}

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

static void came_back(struct channel_query *q, enum channel_outcome outcome, struct span octets);

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
	s->query.back = came_back;
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

/* The channel is done with the slot: free before anybody hears of it, since a callback may need one. */
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

static void ask(struct slot *s)
{
	uint8_t question[DNS_QUESTION_MAX];
	size_t n = dns_question_build(&s->name, s->type, draw_id(s->resolver), s->edns, question);

	s->state = SLOT_ASKED;
	if (!dns_channel_ask(&s->resolver->channel, &s->query, span_of(question, n)))
		settle(s, NULL);
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

static bool may_ask_again(const struct slot *s, enum channel_outcome outcome)
{
	mono_t now = loop_now(s->resolver->loop);

	return outcome == CHANNEL_TIMED_OUT && mono_ms_until(now, s->due) > s->resolver->try_ms / 2;
}

/* Once for each ask(); perhaps before that has returned. */
static void came_back(struct channel_query *q, enum channel_outcome outcome, struct span octets)
{
	struct slot *s = sg_container_of(q, struct slot, query);

	if (s->state == SLOT_ABANDONED)
		slot_release(s);
	else if (outcome == CHANNEL_TAKEN_BACK)
		s->state = SLOT_HELD;
	else if (outcome == CHANNEL_ANSWERED)
		take_message(s, octets);
	else if (may_ask_again(s, outcome))
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
	dns_channel_set_timer(&r->channel);
	return true;
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
	dns_channel_set_timer(&r->channel);
}

int resolver_configure(struct resolver *r, const struct resolver_config *c)
{
	struct host_name *hosts;
	int rc = copy_hosts(c, &hosts);

	if (rc < 0)
		return rc;
	dns_channel_take_back(&r->channel);
	rc = dns_channel_set_servers(&r->channel, c);
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

static int start(struct resolver *r, const struct resolver_config *c)
{
	mono_t idle = mono_add_ms(loop_now(r->loop), IDLE_MS);
	int rc;

	r->try_ms = try_ms(c);
	r->deadline.expired = deadline_expired;
	if (!loop_timer_set(r->loop, &r->deadline, idle))
		return -ENOSPC;
	rc = dns_channel_open(&r->channel, r->loop, c, r->try_ms);
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
	r->route_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
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
	dns_channel_close(&r->channel);
	loop_timer_cancel(r->loop, &r->deadline);
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
