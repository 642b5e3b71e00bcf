/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A connection that was handed over is in a table here until the broker says that it has ended: it
 * counts as an open one, it has its end in the journal with its octets, and another policy judges
 * it again.
 *
 *	free -> OPEN -> CUT -> free	`ended` frees it from either; so does the broker's end
 *
 * The gate has no descriptor of it any more. What the broker says of it is believed as far as it
 * cannot widen anything: octets only rise, and dials go to the address that was judged, if it is
 * admitted now. Numbers of earlier connections name none.
 *
 * Limits on octets hold by an allowance: so many may be read of the client, spent here before it
 * is told, and what is left of it is given back at the end. So a limit can be met early and never
 * late. When nothing is left to allow, what waits for more is cut.
 *
 * A message to the broker is owed, not queued: one that finds no room is made anew from the table
 * when there is some. A handover that finds no room is refused: that broker stands still.
 */
#include "gate/broker_door.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "gate/broker_dials.h"
#include "gate/judge.h"
#include "gate/quota.h"
#include "gate/token_dials.h"
#include "gate/tunnels.h"
#include "io/message_socket.h"
#include "io/passed_fd.h"

enum { AT_ONCE = 64 }; /* messages; then packets have their turn */

/* What may be read of a client before the gate is asked again. */
enum { ALLOW_MAX = 1024 * 1024, ALLOW_MIN = 4096, ALLOW_SHARE = 16 };

/* A number is the place in the table, and how often it was taken before. */
enum { SLOT_BITS = 10 };
_Static_assert(1 << SLOT_BITS == GATE_CONNECTIONS_MAX, "a number holds every place");

const int broker_door_syscalls[] = {SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(close), -1};

enum handed_state { HANDED_FREE, HANDED_OPEN, HANDED_CUT };

struct handed {
	enum handed_state state;
	bool owed; /* GATE_MAY while OPEN, GATE_CUT while CUT */
	bool by_default, by_proxy;
	enum record_proto proto;
	enum reason ended_for;
	uint32_t number;
	struct endpoint src, dst, dialled;
	const struct rule *rule;
	mono_t begun;
	uint64_t host;	  /* for limits.bytes_out_per_host */
	uint64_t allowed; /* octets of the client, in all */
	uint64_t step;	  /* of those, the last */
	uint64_t out, in; /* that the broker told of */
	struct name name; /* n is 0: none */
};

struct broker_door {
	struct gate *gate;
	struct watch watch; /* fd is -1 without a broker */
	struct broker_dials *dials;
	struct token_dials *tokens;
	uint32_t open;
	uint32_t first_free; /* none below is free */
	struct handed handed[GATE_CONNECTIONS_MAX];
};

static const struct limits *limits_of(const struct broker_door *d)
{
	return &ruleset_policy(d->gate->rules)->limits;
}

static const struct name *name_of(const struct handed *h)
{
	return h->name.n ? &h->name : NULL;
}

/* ---- The journal ---- */

static struct event event_of(const struct handed *h, enum record_kind kind, enum reason reason)
{
	return (struct event){.kind = kind,
			      .proto = h->proto,
			      .reason = reason,
			      .name = name_of(h),
			      .addr = &h->dst.addr,
			      .port = h->dst.port,
			      .rule = h->rule,
			      .exchange = {.near = &h->src,
					   .far = h->by_proxy ? NULL : &h->dst,
					   .proto = IPPROTO_TCP}};
}

static void note_refused(struct broker_door *d, const struct handed *h, const struct rule *rule)
{
	struct event e = event_of(h, RECORD_DENY, h->ended_for);

	e.rule = rule;
	d->gate->counters->flows_refused++;
	d->gate->counters->frames_denied++;
	journal_note(d->gate->journal, &e);
}

static void note_end(struct broker_door *d, const struct handed *h)
{
	struct event e = event_of(h, RECORD_END, h->ended_for);

	e.bytes_out = h->out;
	e.bytes_in = h->in;
	e.duration_ms = (uint64_t)((loop_now(d->gate->loop).ns - h->begun.ns) / 1000000);
	journal_note(d->gate->journal, &e);
}

/* ---- The table ---- */

static uint32_t place_of(uint32_t number)
{
	return number & (GATE_CONNECTIONS_MAX - 1);
}

static struct handed *find(struct broker_door *d, uint32_t number)
{
	struct handed *h = &d->handed[place_of(number)];

	return h->state != HANDED_FREE && h->number == number ? h : NULL;
}

static struct handed *take_place(struct broker_door *d)
{
	for (uint32_t i = d->first_free; i < GATE_CONNECTIONS_MAX; i++) {
		struct handed *h = &d->handed[i];

		if (h->state != HANDED_FREE)
			continue;
		d->first_free = i;
		*h = (struct handed){.number = (h->number & ~(GATE_CONNECTIONS_MAX - 1u)) +
					       GATE_CONNECTIONS_MAX + i};
		return h;
	}
	return NULL;
}

static void free_place(struct broker_door *d, struct handed *h)
{
	uint32_t place = place_of(h->number);

	broker_dials_forget(d->dials, h->number);
	h->state = HANDED_FREE;
	d->open--;
	if (place < d->first_free)
		d->first_free = place;
}

/* ---- To the broker ---- */

static int send_message(struct broker_door *d, const struct gate_message *m, const int *fds,
			size_t n)
{
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	gate_message_print(m, &b);
	return passed_fds_send(d->watch.fd, b.p, b.n, fds, n);
}

int broker_door_send(struct broker_door *d, const struct gate_message *m, int fd)
{
	if (d->watch.fd < 0)
		return ECONNREFUSED;
	return send_message(d, m, &fd, 1) == 0 ? 0 : EAGAIN;
}

static void await_room(struct broker_door *d)
{
	/* The watch is in the loop: only its events change. */
	(void)!loop_modify(d->gate->loop, &d->watch, EPOLLIN | EPOLLOUT);
}

static bool pay(struct broker_door *d, struct handed *h)
{
	struct gate_message m = {.kind = h->state == HANDED_CUT ? GATE_CUT : GATE_MAY,
				 .connection = h->number,
				 .out = h->state == HANDED_CUT ? 0 : h->allowed};

	h->owed = send_message(d, &m, NULL, 0) != 0;
	return !h->owed;
}

static void owe(struct broker_door *d, struct handed *h)
{
	if (!pay(d, h))
		await_room(d);
}

static void pay_all(struct broker_door *d)
{
	bool paid = broker_dials_answer(d->dials, d->watch.fd);

	for (size_t i = 0; i < GATE_CONNECTIONS_MAX && paid; i++)
		if (d->handed[i].state != HANDED_FREE && d->handed[i].owed)
			paid = pay(d, &d->handed[i]);
	if (paid)
		(void)!loop_modify(d->gate->loop, &d->watch, EPOLLIN);
}

static void cut(struct broker_door *d, struct handed *h, const struct verdict *v)
{
	h->state = HANDED_CUT;
	h->ended_for = v->reason;
	broker_dials_forget(d->dials, h->number);
	note_refused(d, h, v->rule);
	owe(d, h);
}

/* ---- Octets ---- */

/* A step more, or what is left of it; 0: a limit is met, `why` says which. */
static uint64_t allow_more(struct broker_door *d, struct handed *h, enum reason *why)
{
	uint64_t left = quota_left(d->gate->quota, limits_of(d), h->host, why);
	uint64_t step = left / ALLOW_SHARE;

	step = step > ALLOW_MAX ? ALLOW_MAX : step < ALLOW_MIN ? ALLOW_MIN : step;
	step = step < left ? step : left;
	quota_spend(d->gate->quota, limits_of(d), h->host, step);
	h->allowed += step;
	h->step = step;
	return step;
}

static void take_octets(struct broker_door *d, struct handed *h, const struct gate_message *m)
{
	struct gate_counters *c = d->gate->counters;

	/* One that fell would be a lie, and more than was allowed is no more than that. */
	if (m->out > h->out) {
		uint64_t out = m->out < h->allowed ? m->out : h->allowed;

		c->bytes_out += out - h->out;
		h->out = out;
	}
	if (m->in > h->in) {
		c->bytes_in += m->in - h->in;
		h->in = m->in;
	}
}

static void take_moved(struct broker_door *d, struct handed *h, const struct gate_message *m)
{
	enum reason why;

	take_octets(d, h, m);
	if (h->state == HANDED_CUT || h->allowed - h->out > h->step / 2)
		return;
	if (quota_left(d->gate->quota, limits_of(d), h->host, &why)) {
		allow_more(d, h, &why);
		owe(d, h);
	} else if (m->kind == GATE_WANTS && h->out == h->allowed) {
		cut(d, h, &(struct verdict){.reason = why, .rule = h->rule});
	}
}

static void end(struct broker_door *d, struct handed *h)
{
	quota_return(d->gate->quota, limits_of(d), h->host, h->allowed - h->out);
	note_end(d, h);
	free_place(d, h);
}

/* ---- Dials ---- */

static struct admitted admitted_of(const struct handed *h)
{
	return (struct admitted){.dst = &h->dst,
				 .dialled = &h->dialled.addr,
				 .proto = PROTO_TCP,
				 .name = name_of(h),
				 .inside = h->name.n > 0,
				 .by_default = h->by_default,
				 .by_proxy = h->by_proxy};
}

/* To the server that it was handed over with, if the policy of now admits that. */
static void take_dial(struct broker_door *d, const struct gate_message *m)
{
	struct handed *h = find(d, m->connection);
	struct broker_dial dial = {.number = m->number, .connection = m->connection};
	struct admitted a;

	if (h && h->state == HANDED_OPEN) {
		a = admitted_of(h);
		dial.to = &h->dialled;
		dial.name = name_of(h);
		dial.error = judge_again(d->gate, &a).allow ? 0 : EACCES;
	} else {
		dial.error = EACCES;
	}
	broker_dials_begin(d->dials, &dial);
	if (!broker_dials_answer(d->dials, d->watch.fd))
		await_room(d);
}

static void dial_is_done(void *ctx)
{
	struct broker_door *d = ctx;

	if (d->watch.fd >= 0 && !broker_dials_answer(d->dials, d->watch.fd))
		await_room(d);
}

/* ---- From the broker ---- */

static void take_message(struct broker_door *d, struct span octets)
{
	struct gate_message m;
	struct handed *h;

	if (!gate_message_parse(octets, &m))
		return;
	h = find(d, m.connection);
	if (m.kind == GATE_DIAL) {
		take_dial(d, &m);
	} else if (m.kind == GATE_TUNNELLED) {
		tunnels_answer(d->gate, m.number, (int)m.error);
	} else if (m.kind == GATE_DIAL_TOKEN) {
		token_dials_begin(d->tokens, &m);
	} else if (h && (m.kind == GATE_MOVED || m.kind == GATE_WANTS)) {
		take_moved(d, h, &m);
	} else if (h && m.kind == GATE_ENDED) {
		take_octets(d, h, &m);
		end(d, h);
	}
}

/* What it had is reset by its end; what was allowed may have been sent. */
static void lose_broker(struct broker_door *d)
{
	if (d->watch.fd < 0)
		return;
	loop_close(d->gate->loop, &d->watch);
	broker_dials_forget_all(d->dials);
	token_dials_forget(d->tokens);
	tunnels_fail(d->gate);
	for (size_t i = 0; i < GATE_CONNECTIONS_MAX && d->open; i++) {
		struct handed *h = &d->handed[i];

		if (h->state == HANDED_FREE)
			continue;
		if (h->state == HANDED_OPEN)
			h->ended_for = REASON_BROKER_DOWN;
		note_end(d, h);
		free_place(d, h);
	}
}

/* False: there is no more now. No message brings a descriptor; the kernel drops one that does. */
static bool receive_one(struct broker_door *d)
{
	uint8_t octets[GATE_MESSAGE_MAX + 1]; /* one too long is seen as such */
	ssize_t n = recv(d->watch.fd, octets, sizeof(octets), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		lose_broker(d);
		return false;
	}
	take_message(d, span_of(octets, (size_t)n));
	return d->watch.fd >= 0;
}

static void ready(struct watch *w, uint32_t events)
{
	struct broker_door *d = sg_container_of(w, struct broker_door, watch);

	if (events & EPOLLOUT)
		pay_all(d);
	for (int i = 0; i < AT_ONCE && receive_one(d); i++)
		;
}

/* ---- Hand over ---- */

static int send_handover(struct broker_door *d, const struct handed *h, const struct handing *what)
{
	const int fds[2] = {what->client, what->server};
	struct gate_message m = {.kind = GATE_HANDOVER,
				 .flags = what->flags,
				 .dst = what->dialled,
				 .connection = h->number,
				 .out = h->allowed,
				 .name = h->name};

	return send_message(d, &m, fds, sg_array_len(fds));
}

static void fill(struct handed *h, const struct handing *what)
{
	h->src = what->src;
	h->dst = what->dst;
	h->dialled = what->dialled;
	h->rule = what->rule;
	h->by_default = what->by_default;
	h->by_proxy = what->flags & GATE_BY_PROXY;
	h->proto = what->proto;
	h->begun = what->begun;
	h->host = quota_host(what->name, &what->dst.addr);
	if (what->name)
		h->name = *what->name;
}

enum reason broker_door_hand_over(struct broker_door *d, const struct handing *what)
{
	struct handed *h = d->watch.fd >= 0 ? take_place(d) : NULL;
	enum reason why = d->watch.fd >= 0 ? REASON_LIMIT_FLOWS : REASON_BROKER_DOWN;

	if (!h)
		return why;
	fill(h, what);
	if (!allow_more(d, h, &why))
		return why;
	if (send_handover(d, h, what) != 0) {
		quota_return(d->gate->quota, limits_of(d), h->host, h->allowed);
		return REASON_BROKER_DOWN;
	}
	h->state = HANDED_OPEN;
	d->open++;
	return REASON_NONE;
}

/* ---- All of them ---- */

uint32_t broker_door_open(const struct broker_door *d)
{
	return d->open;
}

void broker_door_rejudge(struct broker_door *d)
{
	for (size_t i = 0; i < GATE_CONNECTIONS_MAX && d->open; i++) {
		struct handed *h = &d->handed[i];
		struct admitted a;
		struct verdict v;

		h->rule = NULL;
		if (h->state != HANDED_OPEN)
			continue;
		a = admitted_of(h);
		v = judge_again(d->gate, &a);
		if (v.allow)
			h->rule = v.rule;
		else
			cut(d, h, &v);
	}
}

void broker_door_tell(const struct broker_door *d, uint32_t place)
{
	const struct handed *h = &d->handed[place];
	struct event e = event_of(h, RECORD_ALLOW, REASON_NONE);

	if (h->state == HANDED_OPEN)
		journal_tell(d->gate->journal, &e, VERDICT_ALLOW, "requests are seen");
}

int broker_door_connect(struct broker_door *d, int fd, struct err *e)
{
	int own = message_socket_keep(fd, "the broker's", e);
	int r;

	if (own < 0)
		return -1;
	lose_broker(d);
	r = loop_add(d->gate->loop, &d->watch, own, EPOLLIN);
	if (r == 0)
		return 0;
	close(own);
	return err_set(e, "the broker's end cannot be watched: %s", strerror(-r));
}

struct broker_door *broker_door_new(struct gate *g)
{
	struct broker_door *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->gate = g;
	d->watch = (struct watch){.ready = ready, .fd = -1};
	d->dials = broker_dials_new(g, dial_is_done, d);
	d->tokens = d->dials ? token_dials_new(g, d->dials, dial_is_done, d) : NULL;
	if (d->tokens)
		return d;
	free(d->dials);
	free(d);
	return NULL;
}
