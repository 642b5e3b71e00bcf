/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a flow after its handshake, and its ends; flow.h has the states, handshake.c and
 * dial.c the way up to the accepted socket.
 */
#include "gate/flow.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/socket.h>

#include "gate/flow_table.h"
#include "gate/proxy.h"

enum {
	LINGER_MS = 2000,
	DRAIN_READS = 16, /* a turn */
	SWEEP_MS = 30000,
	KEEPALIVE_IDLE_S = 120,
	KEEPALIVE_INTERVAL_S = 30,
};

const int flow_syscalls[] = {SCMP_SYS(setsockopt), SCMP_SYS(shutdown), SCMP_SYS(close),
			     SCMP_SYS(recvfrom),   SCMP_SYS(sendto),   -1};

/* ---- what ends a flow ---- */

int flow_set_socket(int fd)
{
	static const struct linger reset_on_close = {1, 0};
	static const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset_on_close, sizeof(reset_on_close)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) != 0)
		return -errno;
	return 0;
}

/* Before this a close is a reset (SO_LINGER {1, 0}): what a dead gate cut never looks complete. */
void flow_complete_side(struct side *s)
{
	static const struct linger off = {0, 0};

	if (s->watch.fd >= 0 && !s->orderly)
		setsockopt(s->watch.fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	s->orderly = true;
}

void flow_close(struct flow *fl)
{
	flow_complete_side(&fl->in);
	flow_complete_side(&fl->out);
	flow_table_free(fl);
}

void flow_abort(struct flow *fl)
{
	if (fl->state == FLOW_DIALING)
		handshake_reset_held(fl);
	flow_table_free(fl);
}

void flow_cut(struct flow *fl)
{
	static const struct linger reset_on_close = {1, 0};
	struct side *const sides[] = {&fl->in, &fl->out};

	for (size_t i = 0; i < 2; i++)
		if (sides[i]->watch.fd >= 0 && sides[i]->orderly)
			setsockopt(sides[i]->watch.fd, SOL_SOCKET, SO_LINGER, &reset_on_close,
				   sizeof(reset_on_close));
	flow_abort(fl);
}

void flow_set_timer(struct flow *fl, int64_t ms)
{
	/* The heap has a place for each flow, so this cannot fail. */
	(void)loop_timer_set(flow_loop(fl), &fl->timer, mono_add_ms(loop_now(flow_loop(fl)), ms));
}

static void drain(struct flow *fl)
{
	static uint8_t thrown_away[16384];
	ssize_t n = 1;

	for (int i = 0; n > 0 && i < DRAIN_READS; i++)
		n = recv(fl->in.watch.fd, thrown_away, sizeof(thrown_away), MSG_TRUNC);
	if (n > 0)
		flow_queue(fl);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		flow_close(fl);
}

void flow_linger(struct flow *fl, struct span last_words)
{
	fl->state = FLOW_LINGERING;
	loop_close(flow_loop(fl), &fl->out.watch);
	flow_drop_pipes(fl);
	(void)!send(fl->in.watch.fd, last_words.p, last_words.n, MSG_NOSIGNAL);
	flow_complete_side(&fl->in);
	shutdown(fl->in.watch.fd, SHUT_WR);
	flow_set_timer(fl, LINGER_MS);
	drain(fl);
}

void flow_expired(struct timer *t)
{
	struct flow *fl = sg_container_of(t, struct flow, timer);

	switch (fl->state) {
	case FLOW_INSPECTING:
		if (fl->timer_is_idle)
			flow_close(fl);
		else
			inspect_time_out(fl);
		break;
	case FLOW_RELAYING:
		if (fl->refusing)
			inspect_finish_refusal(fl);
		else
			inspect_time_out(fl);
		break;
	case FLOW_LINGERING:
	case FLOW_DNS:
		flow_close(fl);
		break;
	case FLOW_PROXY:
		proxy_expired(fl);
		break;
	default:
		flow_abort(fl);
	}
}

/* ---- going on in the next turn ---- */

void flow_queue(struct flow *fl)
{
	struct flows *f = flow_table(fl);

	if (fl->queued)
		return;
	fl->queued = true;
	fl->queue_next = f->queue;
	f->queue = flow_slot(fl);
	loop_poke(f->gate->loop);
}

static void inspect_event(struct flow *fl)
{
	struct span seen;

	switch (relay_peek(&fl->in, &seen)) {
	case MOVED_SOME:
		if (fl->timer_is_idle) {
			fl->timer_is_idle = false;
			flow_set_timer(fl, FLOW_INSPECT_MS);
		}
		inspect_client(fl, seen);
		if (fl->state == FLOW_INSPECTING && fl->up.credit)
			flow_begin_relay(fl, seen.n);
		break;
	case MOVED_END:
		flow_close(fl);
		break;
	case MOVED_ERROR:
		flow_abort(fl);
		break;
	case MOVED_NOTHING:
		break;
	}
}

/* What is left of one that gave way; one that was freed since is free for another from here on. */
static void go_on(struct flow *fl)
{
	switch (fl->state) {
	case FLOW_INSPECTING:
		inspect_event(fl);
		break;
	case FLOW_RELAYING:
		relay_run(fl);
		break;
	case FLOW_LINGERING:
		drain(fl);
		break;
	case FLOW_DNS:
		flow_dns_ready(fl);
		break;
	case FLOW_FREE:
		fl->next = flow_table(fl)->free;
		flow_table(fl)->free = flow_slot(fl);
		break;
	default:
		break;
	}
}

void flows_run_queue(struct flows *f)
{
	uint32_t i = f->queue;

	f->queue = NO_FLOW;
	while (i != NO_FLOW) {
		struct flow *fl = &f->flow[i];

		i = fl->queue_next;
		fl->queued = false;
		go_on(fl);
	}
}

/* ---- events ---- */

static void note_events(struct side *s, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI))
		s->readable = true;
	if (events & EPOLLOUT)
		s->writable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->hangup = true;
	if (events & EPOLLPRI)
		s->urgent = true;
}

static void relay_event(struct flow *fl, uint32_t events)
{
	uint32_t generation = fl->generation;

	relay_run(fl);
	/* After a reset what was readable has been read above, as far as the other side took it. */
	if ((events & EPOLLERR) && fl->generation == generation && fl->state == FLOW_RELAYING)
		flow_abort(fl);
}

/* A client that reset the connection waits for nothing. */
static void proxy_event(struct flow *fl, uint32_t events)
{
	if (events & EPOLLERR)
		flow_abort(fl);
	else
		proxy_in_ready(fl);
}

void flow_in_ready(struct watch *w, uint32_t events)
{
	struct flow *fl = sg_container_of(sg_container_of(w, struct side, watch), struct flow, in);

	note_events(&fl->in, events);
	switch (fl->state) {
	case FLOW_INSPECTING:
		if (fl->in.readable)
			inspect_event(fl);
		break;
	case FLOW_RELAYING:
		relay_event(fl, events);
		break;
	case FLOW_LINGERING:
		drain(fl);
		break;
	case FLOW_DNS:
		flow_dns_ready(fl);
		break;
	case FLOW_PROXY:
		proxy_event(fl, events);
		break;
	default:
		break;
	}
}

void flow_out_ready(struct watch *w, uint32_t events)
{
	struct flow *fl = sg_container_of(sg_container_of(w, struct side, watch), struct flow, out);

	note_events(&fl->out, events);
	if (fl->state == FLOW_DIALING)
		dial_event(fl, events);
	else if (fl->state == FLOW_PROXY)
		proxy_out_ready(fl, events);
	else if (fl->state == FLOW_RELAYING)
		relay_event(fl, events);
	else if (fl->state == FLOW_INSPECTING && (events & EPOLLERR))
		flow_abort(fl);
}

/* A gate with nothing open sleeps. The loop has a place for each part's one timer. */
static void arm_sweep(struct flows *f)
{
	if (f->open && !f->sweep.slot)
		(void)loop_timer_set(f->gate->loop, &f->sweep,
				     mono_add_ms(loop_now(f->gate->loop), SWEEP_MS));
}

void flow_begin_relay(struct flow *fl, size_t seen)
{
	fl->state = FLOW_RELAYING;
	fl->timer_is_idle = false;
	/* That of a refusal that waits for the answers before it runs on. */
	if (!fl->refusing)
		loop_timer_cancel(flow_loop(fl), &fl->timer);
	fl->down.credit = fl->await_status ? 0 : UINT64_MAX;
	arm_sweep(flow_table(fl));
	relay_begin(fl, seen);
}

/* ---- joined flows, sweep ---- */

void flows_join(struct flows *f, int sandbox_fd, int world_fd)
{
	struct flow *fl = flow_table_take(f);

	if (!fl) {
		close(sandbox_fd);
		close(world_fd);
		return;
	}
	if (flow_set_socket(sandbox_fd) != 0 ||
	    loop_add(f->gate->loop, &fl->in.watch, sandbox_fd, FLOW_EVENTS | EPOLLET) != 0)
		close(sandbox_fd);
	if (flow_set_socket(world_fd) != 0 ||
	    loop_add(f->gate->loop, &fl->out.watch, world_fd, FLOW_EVENTS | EPOLLET) != 0)
		close(world_fd);
	if (fl->in.watch.fd < 0 || fl->out.watch.fd < 0) {
		flow_table_free(fl);
		return;
	}
	fl->out.writable = true;
	fl->up.credit = UINT64_MAX;
	flow_begin_relay(fl, 0);
}

/* Keep-alives of the sandbox end at the airlock, so the gate sends its own towards the world. */
void flow_keep_alive(int fd)
{
	static const int on = 1, idle = KEEPALIVE_IDLE_S, interval = KEEPALIVE_INTERVAL_S;

	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* Only flows that live for a while are worth the calls. */
static void sweep(struct timer *t)
{
	struct flows *f = sg_container_of(t, struct flows, sweep);

	for (uint32_t i = 0; i < f->used; i++) {
		struct flow *fl = &f->flow[i];

		if (fl->state != FLOW_RELAYING || fl->keepalive || fl->out.watch.fd < 0)
			continue;
		flow_keep_alive(fl->out.watch.fd);
		fl->keepalive = true;
	}
	arm_sweep(f);
}

uint32_t flows_sending(const struct flows *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->used; i++) {
		const struct flow *fl = &f->flow[i];

		n += fl->state >= FLOW_OFFERED && fl->state <= FLOW_RELAYING && !fl->up.ended;
	}
	return n;
}

uint32_t flows_places(const struct flows *f)
{
	return f->used;
}

void flows_tell(const struct flows *f, uint32_t place)
{
	flow_tell(&f->flow[place]);
}

/* ---- start ---- */

static int listen_on(struct flows *f, struct flow_listener *l, int fd)
{
	static const int on = 1;
	int r;

	l->watch.ready = handshake_accept;
	l->watch.fd = -1;
	l->flows = f;
	if (fd < 0)
		return 0;
	r = flow_set_socket(fd);
	if (r != 0)
		return r;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
		return -errno;
	return loop_add(f->gate->loop, &l->watch, fd, EPOLLIN);
}

struct flows *flows_new(struct gate *g, uint32_t max_flows, int listen_v4, int listen_v6,
			struct err *e)
{
	struct flows *f = calloc(1, sizeof(*f));
	int r;

	if (!f || !flow_table_init(f, max_flows)) {
		err_set(e, "cannot start the gate: no memory for %u flows; lower limits.flows",
			max_flows);
		return NULL;
	}
	f->gate = g;
	f->tokens = ruleset_policy(g->rules)->limits.flows_burst;
	f->filled = loop_now(g->loop);
	f->sweep.expired = sweep;
	r = listen_on(f, &f->listener[0], listen_v4);
	if (r == 0)
		r = listen_on(f, &f->listener[1], listen_v6);
	if (r != 0) {
		err_set(e, "cannot start the gate: its listeners do not work: %s", strerror(-r));
		return NULL;
	}
	return f;
}
