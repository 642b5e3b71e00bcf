/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	head came -> JUDGED body needed -> COLLECTING -> WAITING -> SENT -> ANSWERED
 *	           any of the first four -> REFUSED, answered by us
 *
 *	COLLECTING	up to REQUEST_BODY_MAX octets of the body decide; they wait in `up`, and none
 *			has left
 *	WAITING		admitted; no server can take it now, or its credential has to be fetched
 *	SENT		the server has it, or some of it; no final head of an answer has come
 *	ANSWERED	the server's final head was passed on
 *	REFUSED		the answer is ours; what still comes of the request is thrown away
 *
 * A side of an exchange is `on` while a codec knows it. When neither is, the exchange is over: it
 * is noted, and freed by exchanges_sweep(), since a codec may still be in a function that looks at
 * it.
 *
 * A request is sent again only when no octet of its body has left `up`, and the server surely did
 * not work on it, or probably not and it may be repeated: the connection had been idle.
 */
#include "broker/exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "broker/live_exchange.h"

enum { STATUS_SWITCHING = 101, STATUS_FINAL = 200 };

static struct live_exchange *live_of(struct exchange *x)
{
	return (struct live_exchange *)x;
}

/* ---- The end ---- */

static void unlink_live(struct live_exchange *l)
{
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
}

static void note(struct live_exchange *l)
{
	struct exchange_counters *n = &l->all->rules->counters;

	l->record.bytes_out = l->phase == REFUSED ? 0 : l->x.up.passed;
	l->record.bytes_in = l->phase == REFUSED ? 0 : l->x.down.passed;
	l->record.duration_ms = (uint64_t)((mono_now().ns - l->begun.ns) / 1000000);
	n->open--;
	request_log_put(l->all->rules->log, &l->record);
}

void live_set_phase(struct live_exchange *l, enum phase phase)
{
	l->all->n_waiting += (phase == WAITING) - (l->phase == WAITING);
	l->phase = phase;
}

/* When no side is on any more. */
/* It is over when no side is on any more. */
static void look_for_end(struct live_exchange *l)
{
	struct exchanges *all = l->all;

	if (l->client_on || l->upstream || l->is_over)
		return;
	l->is_over = true;
	note(l);
	all->n_waiting -= l->phase == WAITING;
	unlink_live(l);
	l->next = all->over;
	all->over = l;
	all->n_live--;
}

static void free_live(struct live_exchange *l)
{
	body_free(&l->x.up);
	body_free(&l->x.down);
	message_free(&l->request);
	answer_mask_free(&l->mask);
	free(l->body);
	free(l);
}

void live_cut_upstream(struct live_exchange *l)
{
	struct codec *c = l->upstream;

	l->upstream = NULL;
	if (c)
		c->ops->reset(c, &l->x, CODEC_PEER);
}

static void cut_client(struct live_exchange *l)
{
	struct codec *c = l->all->client;

	if (l->client_on && c)
		c->ops->reset(c, &l->x, CODEC_PEER);
	l->client_on = false;
}

void live_cut(struct live_exchange *l)
{
	live_cut_upstream(l);
	cut_client(l);
	look_for_end(l);
}

/* ---- Events of the client's side ---- */

/* At the end: what waits is tried in the order it came. There are EXCHANGES_MAX at most. */
static void link_live(struct exchanges *xs, struct live_exchange *l)
{
	struct live_exchange **end = &xs->live;

	while (*end)
		end = &(*end)->next;
	*end = l;
	l->link = end;
	xs->n_live++;
}

static struct live_exchange *new_live(struct exchanges *xs, const struct message *request)
{
	struct live_exchange *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (!message_copy(request, &l->request)) {
		free(l);
		return NULL;
	}
	l->all = xs;
	l->client_on = true;
	l->begun = mono_now();
	link_live(xs, l);
	xs->rules->counters.requests++;
	xs->rules->counters.open++;
	request_log_begin(xs->rules->log, &l->record, xs->peer, request, xs->rules->vault);
	return l;
}

static struct exchange *take_request(void *ctx, struct codec *c, struct message *request)
{
	struct exchanges *xs = ctx;
	struct live_exchange *l;

	if (xs->n_live >= EXCHANGES_MAX)
		return NULL;
	l = new_live(xs, request);
	if (!l)
		return NULL;
	l->x.head_request = span_equal(request->method, span_of_string("HEAD"));
	l->x.connect = request->protocol.n > 0;
	live_judge_head(l);
	return l->client_on ? &l->x : NULL;
}

static void body_came_up(struct live_exchange *l)
{
	switch (l->phase) {
	case COLLECTING:
		live_judge_collected(l);
		break;
	case WAITING:
		break;
	case SENT:
	case ANSWERED:
		if (l->upstream)
			l->upstream->ops->resume_send(l->upstream, &l->x);
		else
			live_throw_body_away(l);
		break;
	case REFUSED:
		live_throw_body_away(l);
		break;
	}
}

static void client_is_over(struct live_exchange *l)
{
	l->client_on = false;
	live_cut_upstream(l);
	look_for_end(l);
}

/* ---- Events of the server's side ---- */

static bool is_final(const struct message *m)
{
	return m->status >= STATUS_FINAL || m->status == STATUS_SWITCHING;
}

/* The client is not to learn of HTTP/3 at this name, nor of a credential. */
static void clean_answer(struct live_exchange *l, struct message *answer)
{
	struct vault *vault = l->all->rules->vault;

	message_remove(answer, "alt-svc");
	if (!vault)
		return;
	/*
	 * A session that is given for the secret does what the secret does, at other hosts of its
	 * domain as well; to this one the sandbox may bring none (carrier.h).
	 */
	if (l->credential)
		message_remove(answer, "set-cookie");
	vault_mask_head(vault, &l->request, answer);
	if (is_final(answer) && answer->status != STATUS_SWITCHING)
		l->mask.mask = mask_new(vault, &l->request, answer);
}

static void take_answer(struct exchange *x, struct message *answer)
{
	struct live_exchange *l = live_of(x);
	struct codec *c = l->all->client;

	if (l->phase != SENT || !l->client_on)
		return;
	if (is_final(answer)) {
		live_set_phase(l, ANSWERED);
		l->record.status = answer->status;
	}
	clean_answer(l, answer);
	c->ops->send_answer(c, x, answer);
}

static void body_came_down(struct live_exchange *l)
{
	struct codec *c = l->all->client;

	answer_mask_look(&l->mask, &l->x.down);
	if (l->all->rules->vault && l->x.down.ended && l->x.down.trailers)
		vault_mask_head(l->all->rules->vault, &l->request, l->x.down.trailers);
	if (l->client_on)
		c->ops->resume_send(c, &l->x);
}

/* RFC 9110, 9.2.2. One with a body was not worked on when none of that has left. */
static bool may_be_repeated(const struct message *m)
{
	static const char *const words[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};

	for (size_t i = 0; i < sg_array_len(words); i++)
		if (span_equal(m->method, span_of_string(words[i])))
			return true;
	return m->body == MESSAGE_BODY_STREAM || (m->body == MESSAGE_BODY_LENGTH && m->length > 0);
}

/* `stale`: the connection that it was sent over was (codec.h; RFC 9112, 9.3.1). */
static bool may_be_sent_again(const struct live_exchange *l, enum codec_error why, bool stale)
{
	bool unseen =
		why == CODEC_RETRY || (why == CODEC_PEER && stale && may_be_repeated(&l->request));

	return unseen && l->x.up.passed == 0 && l->client_on;
}

static void describe(struct upstream_failure *f, enum codec_error why, const char *text)
{
	const char *what = why == CODEC_MALFORMED || why == CODEC_TOO_LARGE
				   ? "its answer cannot be passed on"
				   : "it ended the connection before its answer was whole";

	f->reason = REASON_UPSTREAM_FAILED;
	if (text && why != CODEC_PEER)
		snprintf(f->why, sizeof(f->why), "%s: %s", what, text);
	else
		snprintf(f->why, sizeof(f->why), "%s", what);
}

static void upstream_failed(struct live_exchange *l, const struct codec *c, enum codec_error why,
			    const struct upstream_failure *failure)
{
	l->upstream = NULL;
	if (l->phase == SENT && may_be_sent_again(l, why, c->stale)) {
		l->x.down.failed = false;
		live_set_phase(l, WAITING);
	} else if (l->phase == SENT && l->client_on) {
		l->x.down.failed = false;
		live_answer_failure(l, failure);
	} else {
		cut_client(l);
	}
	look_for_end(l);
}

static void upstream_done(struct live_exchange *l)
{
	l->upstream = NULL;
	if (l->client_on)
		live_throw_body_away(l);
	look_for_end(l);
}

/* ---- The table of events ---- */

static void on_filled(struct exchange *x, struct codec *c)
{
	if (c->server)
		body_came_up(live_of(x));
	else
		body_came_down(live_of(x));
}

static void on_drained(struct exchange *x, struct codec *c)
{
	struct live_exchange *l = live_of(x);
	struct codec *other = c->server ? l->upstream : l->all->client;

	if (other && (c->server || l->client_on))
		other->ops->resume_receive(other, x);
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	struct upstream_failure failure;

	if (c->server) {
		client_is_over(live_of(x));
		return;
	}
	describe(&failure, why, c->why);
	upstream_failed(live_of(x), c, why, &failure);
}

static void on_done(struct exchange *x, struct codec *c)
{
	if (c->server)
		client_is_over(live_of(x));
	else
		upstream_done(live_of(x));
}

const struct codec_events exchange_events = {
	.request = take_request,
	.answer = take_answer,
	.body_filled = on_filled,
	.body_drained = on_drained,
	.failed = on_failed,
	.done = on_done,
};

/* ---- What the connection asks for ---- */

/* Calls fn for each that is live; fn may end it, and no other. */
static void each(struct exchanges *xs, void (*fn)(struct live_exchange *l, const void *ctx),
		 const void *ctx)
{
	struct live_exchange *next;

	for (struct live_exchange *l = xs->live; l; l = next) {
		next = l->next;
		fn(l, ctx);
	}
}

static void advance(struct live_exchange *l, const void *ctx)
{
	if (l->phase == WAITING)
		live_send(l);
}

void exchanges_advance(struct exchanges *xs)
{
	if (xs->n_waiting)
		each(xs, advance, NULL);
}

static bool is_held(const struct live_exchange *l)
{
	return l->phase == WAITING && l->held.ns != 0;
}

bool exchanges_deadline(const struct exchanges *xs, int64_t patience, mono_t *at)
{
	const struct live_exchange *first = NULL;

	for (const struct live_exchange *l = xs->n_waiting ? xs->live : NULL; l; l = l->next)
		if (is_held(l) && (!first || mono_before(l->held, first->held)))
			first = l;
	if (first)
		*at = mono_add_ms(first->held, patience);
	return first != NULL;
}

static void give_up(struct live_exchange *l, const void *ctx)
{
	const mono_t *since = ctx;

	if (is_held(l) && !mono_before(*since, l->held))
		live_refuse_for_log(l);
}

void exchanges_give_up(struct exchanges *xs, int64_t patience, mono_t now)
{
	const mono_t since = mono_add_ms(now, -patience);

	if (xs->n_waiting)
		each(xs, give_up, &since);
}

static void rejudge(struct live_exchange *l, const void *ctx)
{
	live_judge_again(l);
}

void exchanges_rejudge(struct exchanges *xs)
{
	each(xs, rejudge, NULL);
}

struct loss {
	const struct codec *codec;
	enum codec_error why;
	const struct upstream_failure *failure;
};

static void lose(struct live_exchange *l, const void *ctx)
{
	const struct loss *loss = ctx;

	if (loss->codec->server) {
		client_is_over(l);
	} else if (l->upstream == loss->codec) {
		live_cut_upstream(l);
		upstream_failed(l, loss->codec, loss->why, loss->failure);
	}
}

void exchanges_lose(struct exchanges *xs, struct codec *c, enum codec_error why,
		    const struct upstream_failure *failure)
{
	const struct loss loss = {c, why, failure};

	each(xs, lose, &loss);
}

static void fail_waiting(struct live_exchange *l, const void *ctx)
{
	if (l->phase == WAITING)
		live_answer_failure(l, ctx);
}

void exchanges_fail_waiting(struct exchanges *xs, const struct upstream_failure *failure)
{
	each(xs, fail_waiting, failure);
}

void exchanges_sweep(struct exchanges *xs)
{
	while (xs->over) {
		struct live_exchange *l = xs->over;

		xs->over = l->next;
		free_live(l);
	}
}

static void end(struct live_exchange *l, const void *ctx)
{
	live_cut(l);
}

void exchanges_free(struct exchanges *xs)
{
	each(xs, end, NULL);
	exchanges_sweep(xs);
}
