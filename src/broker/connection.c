/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	SERVER_TLS -> CLIENT_TLS -> OPEN -> gone
 *
 * SERVER_TLS	nothing is read from the client; its hello waits in the socket
 * CLIENT_TLS the server is verified, or it is known why it cannot be: then the client is told in
 * answers OPEN requests come
 *
 * Whatever becomes ready, all links of the connection are worked on in turns until nothing moves:
 * what one codec took in another may put out. A connection that has had its share goes on in the
 * next turn of the loop, behind the others.
 *
 * The client's link decides how long a connection lives; the server's may come and go (upstream.c).
 * It is freed at the end of a turn, when no function of it can be under way.
 */
#include "broker/connection.h"

#include <errno.h>
#include <stdlib.h>

#include "broker/authorities.h"
#include "broker/context.h"
#include "broker/gate_door.h"
#include "broker/upstream.h"

enum {
	ROUNDS = 16,		     /* of work at once */
	REPORT_MS = 500,	     /* what has moved is told no later */
	REPORT_OCTETS = 1024 * 1024, /* to the client, before the gate is told */
};

enum connection_state { SERVER_TLS, CLIENT_TLS, OPEN };

struct connection {
	struct connections *all;
	struct connection *next, **link;
	struct connection *next_turn; /* of those with work for the next turn */
	bool has_turn, gone;
	enum connection_state state;
	struct handover peer;
	struct link client;
	struct upstreams up;
	struct exchanges exchanges;
	struct timer timer;
	mono_t since;	 /* the state, or the head that is coming, or the end of sending */
	mono_t moved;	 /* the last octet */
	uint64_t octets; /* as of then */
	bool head_coming, ending;
	uint64_t told_out, told_in; /* to the gate */
	mono_t told_at;
	uint64_t step;	   /* by how much the gate last let it read on */
	bool asked, wants; /* the gate for more; it waits for that */
	bool shut;	   /* it was quiet for too long, and no more requests are taken */
};

struct connections {
	struct broker *broker;
	struct connection *first, *turn;
	unsigned open;
};

static struct broker *broker_of(const struct connection *c)
{
	return c->all->broker;
}

/* ---- Turns ---- */

static void give_turn(struct connection *c)
{
	if (!c->has_turn) {
		c->has_turn = true;
		c->next_turn = c->all->turn;
		c->all->turn = c;
	}
}

static void wake(struct upstreams *up)
{
	give_turn(sg_container_of(up, struct connection, up));
}

static void client_ready(struct watch *w, uint32_t events)
{
	struct connection *c = sg_container_of(w, struct connection, client.watch);

	link_note(&c->client, events);
	/* A client that reset the connection waits for nothing, read or not. */
	if (events & EPOLLERR)
		c->client.broken = true;
	give_turn(c);
}

/* ---- The client's side ---- */

/*
 * The protocol of the server, so that nothing has to be translated; where the client does not offer
 * that, and when there is no server to ask, its own.
 */
static enum tls_alpn choose_alpn(const struct connection *c)
{
	uint8_t offered = c->peer.alpn;

	if (upstreams_speak_http2(&c->up))
		return TLS_ALPN_HTTP2;
	if (offered & HANDOVER_HTTP1)
		return TLS_ALPN_HTTP1;
	return offered & HANDOVER_HTTP2 ? TLS_ALPN_HTTP2 : TLS_ALPN_NONE;
}

static void begin_requests(struct connection *c)
{
	bool http2 = c->client.tls && tls_alpn(c->client.tls) == TLS_ALPN_HTTP2;
	struct codec *codec = http2 ? http2_server_new(&exchange_events, &c->exchanges)
				    : http1_server_new(&exchange_events, &c->exchanges);

	if (!codec) {
		c->gone = true;
		return;
	}
	codec->tls = c->client.tls != NULL;
	codec->absolute = c->peer.absolute;
	c->client.codec = c->exchanges.client = codec;
	c->exchanges.client_http2 = http2;
	c->state = OPEN;
}

static void begin_client(struct connection *c)
{
	struct authority *a;
	struct err e = {""};

	c->state = CLIENT_TLS;
	c->since = mono_now();
	if (!c->peer.tls)
		return;
	a = authorities_find(broker_of(c)->authorities, &c->peer.name);
	if (a)
		c->client.tls =
			tls_accept_new(a, c->peer.client, &c->peer.name, choose_alpn(c), &e);
	c->gone = !c->client.tls;
}

static bool shake_hands(struct connection *c)
{
	switch (link_handshake(&c->client)) {
	case TLS_DONE:
		begin_requests(c);
		return true;
	case TLS_WANT_READ:
		c->client.readable = false;
		return false;
	case TLS_WANT_WRITE:
		c->client.writable = false;
		return false;
	case TLS_CLOSED:
	case TLS_FAILED:
		break;
	}
	c->gone = true;
	return false;
}

/* ---- Work ---- */

static bool work_on_client(struct connection *c)
{
	bool moved;

	if (c->state == CLIENT_TLS)
		return shake_hands(c);
	if (c->state != OPEN)
		return false;
	moved = link_receive(&c->client);
	moved = link_send(&c->client) || moved;
	/* What it can not be sent any more it does not wait for. */
	if (c->client.write_over && !c->client.codec->finished)
		c->client.broken = true;
	return moved;
}

static bool work_once(struct connection *c)
{
	bool moved = upstreams_work(&c->up);

	if (c->state == SERVER_TLS && c->up.settled) {
		begin_client(c);
		moved = true;
	}
	if (!c->gone)
		moved = work_on_client(c) || moved;
	if (c->exchanges.n_waiting && upstreams_may_take(&c->up))
		exchanges_advance(&c->exchanges);
	exchanges_sweep(&c->exchanges);
	c->gone = c->gone || link_is_over(&c->client);
	return moved && !c->gone;
}

/* ---- What the gate counts ---- */

static uint64_t sent_to_client(const struct connection *c)
{
	return c->client.octets - c->client.received;
}

static bool tell_gate(struct connection *c, enum gate_message_kind kind)
{
	const struct link *l = &c->client;

	if (!gate_door_tell(broker_of(c)->door, kind, c->peer.connection, l->received,
			    sent_to_client(c)))
		return false;
	c->told_out = l->received;
	c->told_in = sent_to_client(c);
	c->told_at = loop_now(broker_of(c)->loop);
	return true;
}

static bool has_news(const struct connection *c)
{
	bool moved = c->client.received != c->told_out || sent_to_client(c) != c->told_in;

	return sent_to_client(c) - c->told_in >= REPORT_OCTETS ||
	       (moved &&
		!mono_before(loop_now(broker_of(c)->loop), mono_add_ms(c->told_at, REPORT_MS)));
}

/* Early enough that nothing waits, where the gate has more to give. */
static void report(struct connection *c)
{
	const struct link *l = &c->client;
	bool low = l->may_receive - l->received < c->step / 2;

	if (!c->wants && link_is_held(l))
		c->wants = tell_gate(c, GATE_WANTS);
	else if ((low && !c->asked) || has_news(c))
		c->asked = tell_gate(c, GATE_MOVED) && low;
}

static void let_read(struct connection *c, uint64_t octets)
{
	struct link *l = &c->client;

	c->asked = c->wants = false;
	if (octets <= l->may_receive)
		return;
	c->step = octets - l->may_receive;
	l->may_receive = octets;
	give_turn(c);
}

/* ---- Time ---- */

static void note_time(struct connection *c)
{
	uint64_t octets = c->client.octets + upstreams_octets(&c->up);
	const struct codec *codec = c->client.codec;
	bool head = c->state == OPEN && !c->exchanges.n_live && !codec->ops->idle(codec);
	bool ending = c->client.write_over;
	mono_t now = loop_now(broker_of(c)->loop);

	if (octets != c->octets)
		c->moved = now;
	if ((head && !c->head_coming) || (ending && !c->ending))
		c->since = now;
	c->octets = octets;
	c->head_coming = head;
	c->ending = ending;
}

static mono_t deadline(const struct connection *c)
{
	const struct patience *p = &broker_of(c)->patience;

	if (c->state == CLIENT_TLS)
		return mono_add_ms(c->since, p->handshake);
	if (c->head_coming)
		return mono_add_ms(c->since, c->shut ? p->linger : p->head);
	if (c->ending && !c->exchanges.n_live)
		return mono_add_ms(c->since, p->linger);
	if (c->client.out.n && p->stall < p->idle)
		return mono_add_ms(c->client.sent_at, p->stall);
	return mono_add_ms(c->moved, p->idle);
}

/* The timer may ring too early, which is looked at then, but never too late. */
static void set_timer(struct connection *c)
{
	mono_t when = deadline(c), other;

	if (upstreams_deadline(&c->up, &other) && mono_before(other, when))
		when = other;
	if (exchanges_deadline(&c->exchanges, broker_of(c)->patience.log, &other) &&
	    mono_before(other, when))
		when = other;
	if (!c->timer.slot || mono_before(when, c->timer.due))
		loop_timer_set(broker_of(c)->loop, &c->timer, when);
}

/*
 * One that is only quiet, or sends a head too slowly, is ended in good order, once; everything else
 * that took too long is cut.
 */
static void end_for_time(struct connection *c, mono_t now)
{
	struct codec *codec = c->client.codec;

	if (!codec || c->shut || c->ending || c->exchanges.n_live) {
		c->gone = true;
		return;
	}
	c->shut = true;
	c->moved = c->since = now;
	codec->ops->shut(codec);
}

static void expired(struct timer *t)
{
	struct connection *c = sg_container_of(t, struct connection, timer);
	mono_t now = loop_now(broker_of(c)->loop);

	upstreams_give_up(&c->up, now);
	exchanges_give_up(&c->exchanges, broker_of(c)->patience.log, now);
	if (!mono_before(now, deadline(c)))
		end_for_time(c, now);
	give_turn(c);
}

/* ---- Begin and end ---- */

static void free_connection(struct connection *c)
{
	struct broker *b = broker_of(c);

	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->all->open--;
	tell_gate(c, GATE_ENDED);
	loop_timer_cancel(b->loop, &c->timer);
	exchanges_free(&c->exchanges);
	upstreams_close(&c->up);
	link_close(&c->client, b->loop);
	free(c);
}

/* What a cut has left to say, a reset of HTTP/2, is said while the link is there. */
static void end_connection(struct connection *c)
{
	exchanges_free(&c->exchanges);
	upstreams_work(&c->up);
	free_connection(c);
}

static void work(struct connection *c)
{
	bool moved = true;

	for (int i = 0; i < ROUNDS && moved && !c->gone; i++)
		moved = work_once(c);
	if (c->gone) {
		end_connection(c);
		return;
	}
	report(c);
	note_time(c);
	set_timer(c);
	if (moved) {
		give_turn(c);
		loop_poke(broker_of(c)->loop);
	}
}

static void after_turn(void *ctx)
{
	struct connections *all = ctx;
	struct connection *c = all->turn, *next;

	all->turn = NULL;
	for (; c; c = next) {
		next = c->next_turn;
		c->has_turn = false;
		work(c);
	}
}

static enum exchange_sent send_request(void *owner, struct exchange *x, const struct message *m,
				       struct codec **to, struct upstream_failure *failure)
{
	struct connection *c = owner;

	return upstreams_send(&c->up, x, m, to, failure);
}

static void fill(struct connection *c, struct connections *all, const struct handover *h)
{
	static const struct exchange_ways ways = {.send = send_request};

	c->all = all;
	c->peer = *h;
	c->moved = c->since = c->told_at = mono_now();
	c->timer.expired = expired;
	c->exchanges = (struct exchanges){
		.rules = &all->broker->rules, .ways = &ways, .owner = c, .peer = &c->peer};
	c->up.broker = all->broker;
	c->up.peer = &c->peer;
	c->up.exchanges = &c->exchanges;
	c->up.wake = wake;
}

static void link_in(struct connection *c, struct connections *all)
{
	c->next = all->first;
	c->link = &all->first;
	if (c->next)
		c->next->link = &c->next;
	all->first = c;
	all->open++;
}

int connection_take(struct broker *b, const struct handover *h)
{
	struct connections *all = b->connections;
	struct connection *c = all->open < CONNECTIONS_MAX ? calloc(1, sizeof(*c)) : NULL;
	int r = c ? 0 : all->open < CONNECTIONS_MAX ? -ENOMEM : -EMFILE;

	if (r == 0) {
		fill(c, all, h);
		r = link_open(&c->client, b->loop, h->client, client_ready);
	} else {
		link_reset_socket(h->client);
	}
	if (r != 0) {
		link_reset_socket(h->server);
		free(c);
		return r;
	}
	c->client.may_receive = c->step = h->may_read;
	link_in(c, all);
	/* Without a server the client is told why. */
	upstreams_begin(&c->up);
	give_turn(c);
	return 0;
}

/* ---- All of them ---- */

struct connections *connections_new(struct broker *b)
{
	struct connections *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->broker = b;
	loop_set_after_turn(b->loop, after_turn, all);
	return all;
}

void connections_free(struct connections *all)
{
	if (!all)
		return;
	while (all->first)
		free_connection(all->first);
	free(all);
}

unsigned connections_open(const struct connections *all)
{
	return all->open;
}

void connections_dialled(struct connections *all, uint32_t dial, int fd, int error)
{
	struct connection *c = all->first;

	while (c && !(c->up.dialling && c->up.dial == dial))
		c = c->next;
	if (c) {
		upstreams_dialled(&c->up, fd, error);
		give_turn(c);
	} else if (fd >= 0) {
		link_reset_socket(fd);
	}
}

static struct connection *find(struct connections *all, uint32_t number)
{
	struct connection *c = all->first;

	while (c && c->peer.connection != number)
		c = c->next;
	return c;
}

void connections_may_read(struct connections *all, uint32_t connection, uint64_t octets)
{
	struct connection *c = find(all, connection);

	if (c)
		let_read(c, octets);
}

void connections_cut(struct connections *all, uint32_t connection)
{
	struct connection *c = find(all, connection);

	if (!c)
		return;
	c->gone = true;
	give_turn(c);
}

void connections_reset(struct connections *all)
{
	for (struct connection *c = all->first; c; c = c->next) {
		c->gone = true;
		give_turn(c);
	}
}

void connections_rejudge(struct connections *all)
{
	for (struct connection *c = all->first; c; c = c->next) {
		exchanges_rejudge(&c->exchanges);
		give_turn(c);
	}
}

void connections_advance(struct connections *all)
{
	for (struct connection *c = all->first; c; c = c->next) {
		exchanges_advance(&c->exchanges);
		give_turn(c);
	}
}
