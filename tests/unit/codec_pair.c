/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange is there until both codecs have let go of it: each tells done or failed, or was reset.
 */
#include "codec_pair.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

struct pair_exchange {
	struct exchange x;
	struct codec_pair *pair;
	bool with_server, with_client; /* the codecs that know it */
	bool answered;		       /* the final head was passed on */
	uint64_t seen;		       /* octets of the request's body that were told */
};

static struct pair_exchange *exchange_of(struct exchange *x)
{
	return sg_container_of(x, struct pair_exchange, x);
}

static void free_exchange(struct pair_exchange *e)
{
	body_free(&e->x.up);
	body_free(&e->x.down);
	free(e);
}

static void let_go(struct pair_exchange *e, const struct codec *c)
{
	if (c->server)
		e->with_server = false;
	else
		e->with_client = false;
	if (e->with_server || e->with_client)
		return;
	e->pair->exchange = NULL;
	free_exchange(e);
}

static void answer_without_server(struct pair_exchange *e, uint16_t status)
{
	struct message m;

	message_init(&m);
	m.status = status;
	e->answered = true;
	e->pair->server->ops->send_answer(e->pair->server, &e->x, &m);
	message_free(&m);
}

static struct exchange *on_request(void *ctx, struct codec *c, struct message *m)
{
	struct codec_pair *p = ctx;
	struct pair_exchange *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->pair = p;
	e->with_server = true;
	p->exchange = e;
	if (!p->judge(p->ctx, m))
		answer_without_server(e, 403);
	else if (!p->client->ops->send_request(p->client, &e->x, m))
		answer_without_server(e, 502);
	else
		e->with_client = true;
	return &e->x;
}

static void on_answer(struct exchange *x, struct message *m)
{
	struct pair_exchange *e = exchange_of(x);

	if (m->status >= 200 || m->status == 101)
		e->answered = true;
	if (e->with_server)
		e->pair->server->ops->send_answer(e->pair->server, x, m);
}

/* What lies in the ring and was not told yet, which may be in two pieces. */
static void tell_body(struct pair_exchange *e)
{
	struct body view = e->x.up;

	if (!e->pair->body || e->x.opaque)
		return;
	while (view.n) {
		struct span piece = body_peek(&view);
		size_t old = (size_t)(e->seen - view.passed);

		old = old < piece.n ? old : piece.n;
		e->pair->body(e->pair->ctx, span_of(piece.p + old, piece.n - old), false);
		e->seen += piece.n - old;
		view.at = (view.at + piece.n) % BODY_ROOM;
		view.n -= piece.n;
		view.passed += piece.n;
	}
	if (e->x.up.ended)
		e->pair->body(e->pair->ctx, span_of(NULL, 0), true);
}

static void on_filled(struct exchange *x, struct codec *c)
{
	struct pair_exchange *e = exchange_of(x);

	if (c->server)
		tell_body(e);
	if (c->server && e->with_client)
		e->pair->client->ops->resume_send(e->pair->client, x);
	else if (!c->server && e->with_server)
		e->pair->server->ops->resume_send(e->pair->server, x);
}

static void on_drained(struct exchange *x, struct codec *c)
{
	struct pair_exchange *e = exchange_of(x);

	if (c->server && e->with_client)
		e->pair->client->ops->resume_receive(e->pair->client, x);
	else if (!c->server && e->with_server)
		e->pair->server->ops->resume_receive(e->pair->server, x);
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	struct pair_exchange *e = exchange_of(x);
	struct codec_pair *p = e->pair;

	p->failures++;
	if (c->server && e->with_client) {
		p->client->ops->reset(p->client, x, why);
		e->with_client = false;
	} else if (!c->server && e->with_server && !e->answered) {
		answer_without_server(e, 502);
	} else if (!c->server && e->with_server) {
		p->server->ops->reset(p->server, x, why);
		e->with_server = false;
	}
	let_go(e, c);
}

static void on_done(struct exchange *x, struct codec *c)
{
	let_go(exchange_of(x), c);
}

bool pair_open(struct codec_pair *p, bool (*judge)(void *ctx, struct message *request), void *ctx)
{
	static const struct codec_events events = {
		.request = on_request,
		.answer = on_answer,
		.body_filled = on_filled,
		.body_drained = on_drained,
		.failed = on_failed,
		.done = on_done,
	};

	*p = (struct codec_pair){.judge = judge, .ctx = ctx};
	p->server = http1_server_new(&events, p);
	p->client = http1_client_new(&events, p);
	if (p->server && p->client)
		return true;
	pair_close(p);
	return false;
}

void pair_close(struct codec_pair *p)
{
	if (p->server)
		p->server->ops->free(p->server);
	if (p->client)
		p->client->ops->free(p->client);
	if (p->exchange)
		free_exchange(p->exchange);
	*p = (struct codec_pair){0};
}
