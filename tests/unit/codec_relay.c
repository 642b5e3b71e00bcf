/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange is there until both codecs have let go of it: each tells done or failed, or was
 * reset.
 */
#include "codec_relay.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

struct relay_exchange {
	struct exchange x; /* first */
	struct codec_relay *relay;
	struct relay_exchange *next, **link;
	struct message request;	       /* while it waits for a stream */
	bool with_server, with_client; /* the codecs that know it */
	bool waits, answered;
	uint64_t seen; /* octets of the request's body that were told */
};

static struct relay_exchange *exchange_of(struct exchange *x)
{
	return sg_container_of(x, struct relay_exchange, x);
}

static void free_exchange(struct relay_exchange *e)
{
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	message_free(&e->request);
	body_free(&e->x.up);
	body_free(&e->x.down);
	free(e);
}

static void send_waiting(struct codec_relay *r)
{
	struct codec *c = r->client;

	for (struct relay_exchange *e = r->exchanges; e; e = e->next)
		if (e->waits && c->ops->send_request(c, &e->x, &e->request)) {
			e->waits = false;
			e->with_client = true;
		}
}

static void let_go(struct relay_exchange *e, const struct codec *c)
{
	struct codec_relay *r = e->relay;

	if (c->server) {
		e->with_server = e->waits = false;
	} else {
		e->with_client = false;
		send_waiting(r);
	}
	if (!e->with_server && !e->with_client)
		free_exchange(e);
}

static void answer_without_server(struct relay_exchange *e, uint16_t status)
{
	struct codec *c = e->relay->server;
	struct message m;

	if (!e->with_server)
		return;
	message_init(&m);
	m.status = status;
	e->answered = e->x.up.failed = e->x.down.ended = true;
	c->ops->send_answer(c, &e->x, &m);
	c->ops->resume_receive(c, &e->x);
	message_free(&m);
}

static void pass_on(struct relay_exchange *e, struct message *m)
{
	struct codec_relay *r = e->relay;

	if (r->judge && !r->judge(r->ctx, m))
		answer_without_server(e, 403);
	else if (r->client->ops->send_request(r->client, &e->x, m))
		e->with_client = true;
	else if (r->client->persistent && message_copy(m, &e->request))
		e->waits = true;
	else
		answer_without_server(e, 503);
	if (!e->answered && m->expects_continue && !r->server_continues)
		r->server->ops->resume_receive(r->server, &e->x);
}

static struct exchange *on_request(void *ctx, struct codec *c, struct message *m)
{
	struct codec_relay *r = ctx;
	struct relay_exchange *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->relay = r;
	e->with_server = true;
	e->next = r->exchanges;
	e->link = &r->exchanges;
	if (e->next)
		e->next->link = &e->next;
	r->exchanges = e;
	r->requests++;
	pass_on(e, m);
	return &e->x;
}

static void on_answer(struct exchange *x, struct message *m)
{
	struct relay_exchange *e = exchange_of(x);
	struct codec *c = e->relay->server;

	if (m->status >= 200 || m->status == 101)
		e->answered = true;
	if (e->with_server)
		c->ops->send_answer(c, x, m);
}

/* What lies in the ring and was not told yet, which may be in two pieces. */
static void tell_body(struct relay_exchange *e)
{
	struct codec_relay *r = e->relay;
	struct body view = e->x.up;

	if (!r->body || e->x.opaque)
		return;
	while (view.n) {
		struct span piece = body_peek(&view);
		size_t old = (size_t)(e->seen - view.passed);

		old = old < piece.n ? old : piece.n;
		r->body(r->ctx, span_of(piece.p + old, piece.n - old), false);
		e->seen += piece.n - old;
		view.at = (view.at + piece.n) % BODY_ROOM;
		view.n -= piece.n;
		view.passed += piece.n;
	}
	if (e->x.up.ended)
		r->body(r->ctx, span_of(NULL, 0), true);
}

/* Octets move on from the codec c to the other one. */
static void on_filled(struct exchange *x, struct codec *c)
{
	struct relay_exchange *e = exchange_of(x);
	struct codec_relay *r = e->relay;

	if (c->server)
		tell_body(e);
	if (c->server && e->with_client)
		r->client->ops->resume_send(r->client, x);
	else if (!c->server && e->with_server)
		r->server->ops->resume_send(r->server, x);
}

static void on_drained(struct exchange *x, struct codec *c)
{
	struct relay_exchange *e = exchange_of(x);
	struct codec_relay *r = e->relay;

	if (c->server && e->with_client)
		r->client->ops->resume_receive(r->client, x);
	else if (!c->server && e->with_server)
		r->server->ops->resume_receive(r->server, x);
}

static void client_failed(struct relay_exchange *e, enum codec_error why)
{
	struct codec_relay *r = e->relay;

	if (!e->with_server)
		return;
	if (!e->answered) {
		answer_without_server(e, why == CODEC_RETRY ? 503 : 502);
		return;
	}
	r->server->ops->reset(r->server, &e->x, why);
	e->with_server = false;
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	struct relay_exchange *e = exchange_of(x);
	struct codec_relay *r = e->relay;

	r->failures++;
	r->retries += why == CODEC_RETRY;
	if (!c->server)
		client_failed(e, why);
	else if (e->with_client)
		r->client->ops->reset(r->client, x, why);
	if (c->server)
		e->with_client = false;
	let_go(e, c);
}

/* A whole answer without a server that takes the rest: the request's is not wanted. */
static void on_done(struct exchange *x, struct codec *c)
{
	struct relay_exchange *e = exchange_of(x);
	struct codec_relay *r = e->relay;

	r->done += c->server;
	if (!c->server && e->with_server && !body_is_done(&x->up)) {
		x->up.failed = true;
		r->server->ops->resume_receive(r->server, x);
	}
	let_go(e, c);
}

static const struct codec_events *relay_events(void)
{
	static const struct codec_events events = {
		.request = on_request,
		.answer = on_answer,
		.body_filled = on_filled,
		.body_drained = on_drained,
		.failed = on_failed,
		.done = on_done,
	};

	return &events;
}

void relay_open(struct codec_relay *r, codec_new_fn *server, codec_new_fn *client)
{
	*r = (struct codec_relay){0};
	r->server = server(relay_events(), r);
	r->client = client(relay_events(), r);
	if (!r->server || !r->client)
		abort();
}

void relay_close(struct codec_relay *r)
{
	r->server->ops->free(r->server);
	r->client->ops->free(r->client);
	while (r->exchanges)
		free_exchange(r->exchanges);
}

size_t relay_held(const struct codec_relay *r)
{
	size_t n = 0;

	for (const struct relay_exchange *e = r->exchanges; e; e = e->next)
		n += e->x.up.n + e->x.down.n;
	return n;
}
