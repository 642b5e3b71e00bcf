/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Both sockets are watched edge-triggered. A direction moves octets while its source
 * is readable and its sink writable; what the kernel answered with EAGAIN is waited for.
 *
 * Small reads are moved by recv and send, which costs less than two splices; a direction that
 * has more to move than that goes by splice(2) over a borrowed pipe. What the sink does not take of
 * a small read is put into a pipe, which is known to be there before the read (pipes_ready);
 * without one, recv looks (MSG_PEEK), send says how many went, and that many are dropped from
 * the source (MSG_TRUNC). So a direction keeps nothing of its own but in a pipe, and one whose
 * sink is full costs no memory here: the kernel's own window closes.
 *
 * `credit` bounds what may move before the client's octets are looked at again (inspect.c)
 * and what a limit leaves; a pipe never holds more than was credited.
 *
 * What was looked at passes as it was seen (pass_seen): it is taken out of the socket unread, and
 * the copy is sent. The octets in the socket may be others by then: pages that the client sent by
 * sendfile(2) or splice(2) are still its own, across the link as well, and it can write to them.
 *
 * The end of a stream is passed on when the last octet is out. An error on either side
 * resets both. A flow that has much to move gives way after ROUND octets and goes on in
 * the next turn.
 */
#include "gate/flow.h"
#include "gate/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/socket.h>

enum { COPY_OCTETS = 64 * 1024, SMALL_OCTETS = PIPE_OCTETS_SURE, ROUND = 1024 * 1024 };

const int relay_syscalls[] = {SCMP_SYS(recvfrom), SCMP_SYS(sendto),	SCMP_SYS(splice),
			      SCMP_SYS(shutdown), SCMP_SYS(setsockopt), -1};

/* One way of one flow, with its ends by their part in it. */
struct way {
	struct flow *flow;
	struct direction *d;
	struct side *source, *sink;
};

static struct way way_up(struct flow *fl)
{
	return (struct way){fl, &fl->up, &fl->in, &fl->out};
}

static struct way way_down(struct flow *fl)
{
	return (struct way){fl, &fl->down, &fl->out, &fl->in};
}

static bool would_block(int error)
{
	return error == EAGAIN || error == EINTR;
}

static const struct limits *limits_of(const struct flow *fl)
{
	return &ruleset_policy(fl->gate->rules)->limits;
}

static uint64_t host_of(const struct flow *fl)
{
	return limits_of(fl)->bytes_out_per_host ? quota_host(&fl->name, &fl->dst.addr) : 0;
}

static void count(struct way w, size_t n)
{
	struct gate_counters *c = w.flow->gate->counters;

	w.d->octets += n;
	if (w.d == &w.flow->down)
		c->bytes_in += n;
	else
		c->bytes_out += n;
}

/* When octets are taken: those in a pipe will go, and other flows must not be given them again. */
static void spend(struct way w, size_t n)
{
	if (w.d->credit != UINT64_MAX)
		w.d->credit -= n;
	if (w.d == &w.flow->up)
		quota_spend(w.flow->gate->quota, limits_of(w.flow), host_of(w.flow), n);
}

/* As much of n as credit and, towards the world, the limits on octets leave; 0: a limit is met. */
static size_t at_most(struct way w, size_t n, enum reason *why)
{
	uint64_t most = w.d->credit;

	if (w.d == &w.flow->up) {
		uint64_t left =
			quota_left(w.flow->gate->quota, limits_of(w.flow), host_of(w.flow), why);

		most = left < most ? left : most;
	}
	return most < n ? (size_t)most : n;
}

/* The sandbox has sent what it may: the flow ends, and says why. */
static enum moved meet_limit(struct way w, enum reason why)
{
	flow_refuse(w.flow, (struct event){.proto = RECORD_TCP,
					   .reason = why,
					   .name = flow_name(w.flow),
					   .rule = w.flow->rule});
	return MOVED_ERROR;
}

/*
 * After a short read the socket is empty, and one call that would say EAGAIN is saved; not when
 * the end of the stream is behind it, which only a read tells, nor at an urgent mark, where the
 * kernel cuts a read short.
 */
static void note_short_read(struct way w, size_t wanted, size_t got)
{
	if (got < wanted && !w.source->hangup && !w.source->urgent)
		w.source->readable = false;
}

static enum moved read_failed(struct side *s, ssize_t n)
{
	if (n == 0)
		return MOVED_END;
	if (!would_block(errno))
		return MOVED_ERROR;
	s->readable = false;
	return MOVED_NOTHING;
}

/* Shared by all flows: nothing stays in it from one call to the next. */
static uint8_t octets[COPY_OCTETS];

enum moved relay_peek(struct side *s, struct span *seen)
{
	ssize_t n = recv(s->watch.fd, octets, sizeof(octets), MSG_PEEK);

	if (n <= 0)
		return read_failed(s, n);
	*seen = span_of(octets, (size_t)n);
	return MOVED_SOME;
}

/* What comes down passes through here for the first kilobytes, with the status among it. */
static void look_at_answer(struct way w, size_t n)
{
	if (w.d == &w.flow->down && w.flow->inspection == INSPECT_HTTP)
		inspect_answer(w.flow, span_of(octets, n));
}

/* The sandbox's side does without Nagle's delay from the start; the world's from the second send
 * on. */
static void send_without_delay(struct way w)
{
	static const int on = 1;

	if (w.flow->no_delay || w.sink != &w.flow->out)
		return;
	setsockopt(w.sink->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	w.flow->no_delay = true;
}

/*
 * An empty pipe takes as much as PIPE_OCTETS_SURE. A longer rest, of what was looked at, goes in unless
 * the user's pipes are beyond their limits: the flow ends then, since it would have to be read again.
 * The direction may have a pipe already, that has just run empty.
 */
static enum moved keep_rest(struct way w, const uint8_t *rest, size_t n)
{
	w.sink->writable = false;
	if (!w.d->pipe)
		w.d->pipe = pipes_borrow(w.flow->gate->pipes);
	if (!w.d->pipe || write(w.d->pipe->write, rest, n) != (ssize_t)n)
		return MOVED_ERROR;
	w.d->pipe->n = n;
	return MOVED_SOME;
}

/* Octets that were taken from the source; what the sink does not take of them waits in a pipe. */
static enum moved send_taken(struct way w, size_t n)
{
	ssize_t sent = send(w.sink->watch.fd, octets, n, MSG_NOSIGNAL);

	if (sent < 0 && !would_block(errno))
		return MOVED_ERROR;
	sent = sent < 0 ? 0 : sent;
	spend(w, n);
	count(w, (size_t)sent);
	return (size_t)sent < n ? keep_rest(w, octets + sent, n - (size_t)sent) : MOVED_SOME;
}

static enum moved move_small(struct way w, size_t want)
{
	ssize_t n;

	want = want < SMALL_OCTETS ? want : SMALL_OCTETS;
	n = recv(w.source->watch.fd, octets, want, 0);
	if (n <= 0)
		return read_failed(w.source, n);
	look_at_answer(w, (size_t)n);
	w.d->bulk = n == SMALL_OCTETS;
	note_short_read(w, want, (size_t)n);
	return send_taken(w, (size_t)n);
}

/*
 * The first of `seen` octets of the last look, as far as there is credit for them. Where a limit
 * leaves less the flow ends: the rest was judged, and is not to be read again.
 */
static enum moved pass_seen(struct way w, size_t seen)
{
	enum reason why;
	size_t credited = w.d->credit < seen ? (size_t)w.d->credit : seen;
	size_t n = at_most(w, credited, &why);
	enum moved m;

	if (!n)
		return meet_limit(w, why);
	if (recv(w.source->watch.fd, NULL, n, MSG_TRUNC) != (ssize_t)n)
		return MOVED_ERROR;
	if (n == seen)
		note_short_read(w, sizeof(octets), seen);
	if (w.d->octets)
		send_without_delay(w);
	w.d->bulk = n >= SMALL_OCTETS;
	m = send_taken(w, n);
	return m == MOVED_SOME && n < credited ? meet_limit(w, why) : m;
}

static enum moved copy_what_the_sink_takes(struct way w, size_t want)
{
	ssize_t n = recv(w.source->watch.fd, octets, want, MSG_PEEK);
	ssize_t sent;

	if (n <= 0)
		return read_failed(w.source, n);
	sent = send(w.sink->watch.fd, octets, (size_t)n, MSG_NOSIGNAL);
	if (sent < 0) {
		if (!would_block(errno))
			return MOVED_ERROR;
		w.sink->writable = false;
		return MOVED_NOTHING;
	}
	if (sent < n)
		w.sink->writable = false;
	else
		note_short_read(w, want, (size_t)n);
	if (recv(w.source->watch.fd, octets, (size_t)sent, MSG_TRUNC) != sent)
		return MOVED_ERROR;
	look_at_answer(w, (size_t)sent);
	spend(w, (size_t)sent);
	count(w, (size_t)sent);
	return MOVED_SOME;
}

static enum moved move_by_copy(struct way w)
{
	enum reason why;
	size_t want = at_most(w, sizeof(octets), &why);

	if (!want)
		return meet_limit(w, why);
	if (w.d->octets)
		send_without_delay(w);
	/* A read is cut short at an urgent mark, and the mark is not to be passed over. */
	if (!w.source->urgent && (w.d->pipe || pipes_ready(w.flow->gate->pipes)))
		return move_small(w, want);
	return copy_what_the_sink_takes(w, want);
}

static enum moved drain_pipe(struct way w)
{
	struct pipe *p = w.d->pipe;
	ssize_t n = splice(p->read, NULL, w.sink->watch.fd, NULL, p->n,
			   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (n <= 0) {
		if (n == 0 || !would_block(errno))
			return MOVED_ERROR;
		w.sink->writable = false;
		return MOVED_NOTHING;
	}
	p->n -= (size_t)n;
	count(w, (size_t)n);
	return MOVED_SOME;
}

static enum moved fill_pipe(struct way w)
{
	enum reason why;
	size_t want = at_most(w, PIPE_OCTETS, &why);
	ssize_t n;

	if (!want)
		return meet_limit(w, why);
	n = splice(w.source->watch.fd, NULL, w.d->pipe->write, NULL, want,
		   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (n <= 0)
		return read_failed(w.source, n);
	w.d->pipe->n = (size_t)n;
	w.d->bulk = n >= SMALL_OCTETS;
	spend(w, (size_t)n);
	return MOVED_SOME;
}

static enum moved move_by_splice(struct way w)
{
	enum moved m;

	send_without_delay(w);
	if (!w.d->pipe)
		w.d->pipe = pipes_borrow(w.flow->gate->pipes);
	if (!w.d->pipe)
		return move_by_copy(w);
	m = fill_pipe(w);
	return m == MOVED_SOME ? drain_pipe(w) : m;
}

static enum moved move_once(struct way w)
{
	if (w.d->pipe && w.d->pipe->n)
		return drain_pipe(w);
	if (!w.source->readable)
		return MOVED_NOTHING;
	/* splice(2) stops before an urgent octet for ever (tcp_read_sock); recv with OOBINLINE does
	 * not. */
	if (!w.d->bulk || w.source->urgent)
		return move_by_copy(w);
	return move_by_splice(w);
}

static void release_empty_pipe(struct way w)
{
	if (!w.d->pipe || w.d->pipe->n)
		return;
	pipes_return(w.flow->gate->pipes, w.d->pipe);
	w.d->pipe = NULL;
}

/*
 * The next octets of the client or, while a switch is open, of the server are judged for more
 * credit. After a refused request the client's way ends here.
 */
static enum moved ask_for_credit(struct way w)
{
	struct span seen;
	enum moved m;

	if (w.d == &w.flow->up && w.flow->refusing)
		return MOVED_END;
	if (!w.source->readable)
		return MOVED_NOTHING;
	m = relay_peek(w.source, &seen);
	if (m != MOVED_SOME)
		return m;
	if (w.d == &w.flow->up)
		inspect_client(w.flow, seen);
	else
		inspect_server(w.flow, seen);
	if (w.flow->state != FLOW_RELAYING)
		return MOVED_NOTHING;
	if (w.d->credit)
		return pass_seen(w, seen.n);
	return w.flow->refusing ? MOVED_END : MOVED_NOTHING;
}

static void end_way(struct way w)
{
	w.d->ended = true;
	w.source->readable = false;
	/* A refusal still goes to the sandbox's side. */
	if (!w.flow->refusing)
		flow_complete_side(w.sink);
	/* The sandbox's side stays open for the refusal; the last of two ends is told by the close.
	 */
	if (w.flow->refusing ? w.d == &w.flow->up : !w.flow->up.ended || !w.flow->down.ended)
		shutdown(w.sink->watch.fd, SHUT_WR);
}

/* Moves what can be moved. False when the flow must be reset or has left RELAYING. */
static bool run_way(struct way w)
{
	uint64_t until = w.d->octets + ROUND;
	enum moved m = MOVED_SOME;

	while (m == MOVED_SOME && !w.d->ended && w.sink->writable && w.d->octets < until) {
		bool in_flight = w.d->pipe && w.d->pipe->n;

		if (!in_flight && w.d->credit == 0)
			m = ask_for_credit(w);
		else
			m = move_once(w);
		if (w.flow->state != FLOW_RELAYING)
			return false;
	}
	release_empty_pipe(w);
	if (m == MOVED_ERROR)
		return false;
	if (m == MOVED_END)
		end_way(w);
	else if (m == MOVED_SOME && !w.d->ended && w.sink->writable)
		flow_queue(w.flow);
	return true;
}

void relay_begin(struct flow *fl, size_t seen)
{
	if (seen && pass_seen(way_up(fl), seen) == MOVED_ERROR)
		flow_abort(fl);
	else
		relay_run(fl);
}

void relay_run(struct flow *fl)
{
	bool whole = run_way(way_up(fl)) && fl->state == FLOW_RELAYING && run_way(way_down(fl));

	if (fl->state != FLOW_RELAYING)
		return;
	if (!whole)
		flow_abort(fl);
	else if (fl->refusing && fl->down.ended)
		inspect_finish_refusal(fl);
	else if (fl->up.ended && fl->down.ended)
		flow_close(fl);
}
