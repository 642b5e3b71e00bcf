/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Two timers. `periodic` advertises to everybody: three times within 16 s of each other when the gate
 * begins, then at random every 200 to 600 s (RFC 4861, 6.2.4), of a lifetime of 1800 s. `answer` is
 * set while a solicitation waits for its answer, at random up to half a second (6.2.6): to who asked,
 * or to everybody when that one has no address yet or there are two, but to everybody no sooner than
 * 3 s after the last time. Until then other solicitations change nothing but that, so a flood of them
 * has a few answers a second.
 *
 * What cannot be sent, since the link has no address of its own yet, is tried again, later each time.
 */
#include "gate/router_advert.h"

#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "gate/paced.h"
#include "gate/router_message.h"

/* RFC 4861, 6.2.1 and 10. */
enum {
	INTERVAL_MAX_MS = 600 * 1000,
	INTERVAL_MIN_MS = 200 * 1000,
	ROUTER_S = 1800,
	INITIAL_MS = 16 * 1000,
	INITIAL = 3,
	DELAY_MS = 500,
	APART_MS = 3000,
	VALID_S = 24 * 3600,
	PREFERRED_S = 4 * 3600,
	AGAIN_MS = 1000,
	AGAIN_DOUBLINGS = 8,
};

const int router_advert_syscalls[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(getrandom), -1};

struct router {
	struct paced paced;
	struct gate *gate;
	struct timer periodic, answer;
	struct addr to; /* whom the answer is for */
	mono_t last;	/* told everybody */
	unsigned told;	/* everybody, so often; and in vain, so often in a row */
	unsigned failed;
	struct router_advert advert;
};

static const struct addr everybody = {{0xff, 2, [15] = 1}};

static int64_t random_ms(int64_t least, int64_t most)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		return most;
	return least + (int64_t)(r % (uint64_t)(most - least + 1));
}

static bool send_to(struct router *r, const struct addr *to)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6};
	uint8_t octets[ROUTER_ADVERT_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	memcpy(&a.sin6_addr, to->b, sizeof(a.sin6_addr));
	router_advert_build(&b, &r->advert);
	return sendto(r->paced.fd, b.p, b.n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&a,
		      sizeof(a)) >= 0;
}

static void set(struct router *r, struct timer *t, int64_t ms)
{
	(void)loop_timer_set(r->gate->loop, t, mono_add_ms(loop_now(r->gate->loop), ms));
}

static int64_t next_ms(struct router *r)
{
	int64_t ms = random_ms(INTERVAL_MIN_MS, INTERVAL_MAX_MS);

	if (r->failed)
		return AGAIN_MS << (r->failed < AGAIN_DOUBLINGS ? r->failed - 1
								: AGAIN_DOUBLINGS - 1);
	return r->told < INITIAL ? INITIAL_MS : ms;
}

static void tell_everybody(struct router *r)
{
	if (send_to(r, &everybody)) {
		r->last = loop_now(r->gate->loop);
		r->failed = 0;
		r->told++;
	} else {
		r->failed++;
	}
	set(r, &r->periodic, next_ms(r));
}

static void periodic_due(struct timer *t)
{
	tell_everybody(sg_container_of(t, struct router, periodic));
}

static void answer_due(struct timer *t)
{
	struct router *r = sg_container_of(t, struct router, answer);

	if (addr_equal(&r->to, &everybody))
		tell_everybody(r);
	else
		(void)!send_to(r, &r->to);
}

/* ---- solicitations ---- */

static bool is_link_local(const struct addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

static void answer_everybody(struct router *r, mono_t due)
{
	mono_t soonest = mono_add_ms(r->last, APART_MS);

	r->to = everybody;
	(void)loop_timer_set(r->gate->loop, &r->answer, mono_before(due, soonest) ? soonest : due);
}

static void take_solicit(struct router *r, const struct addr *from)
{
	mono_t now = loop_now(r->gate->loop);
	mono_t due = r->answer.slot ? r->answer.due : mono_add_ms(now, random_ms(0, DELAY_MS));

	if (r->answer.slot && (addr_equal(&r->to, from) || addr_equal(&r->to, &everybody)))
		return;
	if (r->answer.slot || !is_link_local(from)) {
		answer_everybody(r, due);
		return;
	}
	r->to = *from;
	(void)loop_timer_set(r->gate->loop, &r->answer, due);
}

/* The hop limit that the message came with; -1 when the kernel does not say. */
static int hops_of(struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		int hops;

		if (h->cmsg_level != IPPROTO_IPV6 || h->cmsg_type != IPV6_HOPLIMIT)
			continue;
		memcpy(&hops, CMSG_DATA(h), sizeof(hops));
		return hops;
	}
	return -1;
}

static bool take(struct paced *p)
{
	struct router *r = sg_container_of(p, struct router, paced);
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(sizeof(int))];
	} control = {0};
	uint8_t octets[ROUTER_SOLICIT_MAX];
	struct sockaddr_in6 from = {0};
	struct iovec part = {octets, sizeof(octets)};
	struct msghdr m = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct addr a = addr_from_v6(from.sin6_addr.s6_addr);

	if (n < 0)
		return false;
	if (!(m.msg_flags & MSG_TRUNC) &&
	    router_solicit_valid(span_of(octets, (size_t)n), &a, hops_of(&m)))
		take_solicit(r, &a);
	else
		r->gate->counters->frames_noise++;
	return true;
}

struct router *router_new(struct gate *g, const struct gate_setup *s)
{
	struct router *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->gate = g;
	r->periodic.expired = periodic_due;
	r->answer.expired = answer_due;
	r->last = mono_add_ms(loop_now(g->loop), -APART_MS);
	r->advert = (struct router_advert){
		.prefix = g->sandbox_v6,
		.resolver = g->gate_v6,
		.mtu = s->guest_mtu,
		.router_s = ROUTER_S,
		.resolver_s = ROUTER_S,
		.valid_s = VALID_S,
		.preferred_s = PREFERRED_S,
	};
	if (paced_begin(&r->paced, g->loop, s->router, take) == 0) {
		set(r, &r->periodic, random_ms(0, DELAY_MS));
		return r;
	}
	free(r);
	return NULL;
}
