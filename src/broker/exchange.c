/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	head came -> JUDGED body needed -> COLLECTING -> WAITING -> SENT -> ANSWERED
 *	           any of the first four -> REFUSED, answered by us
 *
 *	COLLECTING	up to REQUEST_BODY_MAX octets of the body decide; they wait in `up`, none has left
 *	WAITING		admitted; no server can take it now, or its credential has to be fetched
 *	SENT		the server has it, or some of it; no final head of an answer has come
 *	ANSWERED	the server's final head was passed on
 *	REFUSED		the answer is ours; what still comes of the request is thrown away
 *
 * A side of an exchange is `on` while a codec knows it. When neither is, the exchange is over: it is noted, and freed
 * by exchanges_sweep(), since a codec may still be in a function that looks at it.
 *
 * A request is sent again only when the server surely did not work on it and no octet of its body has left `up`.
 */
#include "broker/exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "broker/answer_mask.h"
#include "broker/failure_answer.h"
#include "broker/vault.h"

enum phase { COLLECTING, WAITING, SENT, ANSWERED, REFUSED };

enum { STATUS_SWITCHING = 101, STATUS_FINAL = 200, STATUS_MISDIRECTED = 421 };

struct live_exchange {
	struct exchange x; /* first: codecs know it by that */
	struct exchanges *all;
	struct live_exchange *next, **link;
	enum phase phase;
	struct codec *upstream; /* NULL: that side is not on */
	bool client_on;
	bool is_over;
	bool is_signed; /* the credential is a signature over the body, which is collected for it */
	struct message request; /* as it came */
	struct request_verdict verdict;
	uint8_t *body; /* that decided, when one had to; body_n octets, for the next policy */
	size_t body_n;
	struct answer_mask mask;
	struct record record;
	mono_t begun;
};

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

static void set_phase(struct live_exchange *l, enum phase phase)
{
	l->all->n_waiting += (phase == WAITING) - (l->phase == WAITING);
	l->phase = phase;
}

/* When no side is on any more. */
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

static void cut_upstream(struct live_exchange *l)
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

static void cut(struct live_exchange *l)
{
	cut_upstream(l);
	cut_client(l);
	look_for_end(l);
}

/* ---- Answers of our own ---- */

/* What came of the body, and what still comes, is for nobody. */
static void throw_body_away(struct live_exchange *l)
{
	struct codec *c = l->all->client;

	if (l->x.up.n == 0)
		return;
	body_take(&l->x.up, l->x.up.n);
	if (l->client_on)
		c->ops->resume_receive(c, &l->x);
}

static void answer_ourselves(struct live_exchange *l, const struct message *answer)
{
	struct codec *c = l->all->client;

	set_phase(l, REFUSED);
	l->record.status = answer->status;
	if (!l->client_on)
		return;
	c->ops->send_answer(c, &l->x, answer);
	c->ops->resume_send(c, &l->x);
	throw_body_away(l);
}

static void refuse(struct live_exchange *l, bool misdirected)
{
	struct message answer;

	cut_upstream(l);
	request_log_judge(l->all->rules->log, &l->record, &l->verdict);
	l->all->rules->counters.refused++;
	message_init(&answer);
	if (refusal_answer(&l->request, &l->verdict, &answer, &l->x.down)) {
		if (misdirected && l->all->client_http2)
			answer.status = STATUS_MISDIRECTED;
		answer_ourselves(l, &answer);
	} else {
		cut(l);
	}
	message_free(&answer);
}

static void refuse_for(struct live_exchange *l, enum reason reason, const char *why,
		       bool misdirected)
{
	l->verdict.what = REQUEST_REFUSED;
	l->verdict.reason = reason;
	l->verdict.why = why;
	l->verdict.remedy[0] = 0;
	refuse(l, misdirected);
}

/* It was admitted, and nothing comes of it: the server, or the credential. */
static void answer_failure(struct live_exchange *l, const struct upstream_failure *failure)
{
	struct message answer;

	cut_upstream(l);
	l->record.kind = RECORD_DENY;
	l->record.reason = (uint8_t)failure->reason;
	l->all->rules->counters.failed++;
	message_init(&answer);
	if (failure_answer(&l->all->peer->name, failure, &answer, &l->x.down))
		answer_ourselves(l, &answer);
	else
		cut(l);
	message_free(&answer);
}

/* ---- Sending ---- */

static bool is_body_whole(const struct live_exchange *l)
{
	const struct message *m = &l->request;

	return l->x.up.ended || m->body == MESSAGE_BODY_NONE ||
	       (m->body == MESSAGE_BODY_LENGTH && m->length == 0);
}

/* Nothing was taken out of `up` yet, so what is there lies in one piece, from its begin. */
static struct span collected(const struct live_exchange *l)
{
	return body_peek(&l->x.up);
}

static void answer_missing(struct live_exchange *l)
{
	struct upstream_failure failure = {REASON_CREDENTIAL_MISSING, ""};

	snprintf(failure.why, sizeof(failure.why), "%s; nothing was sent",
		 vault_why(l->all->rules->vault));
	answer_failure(l, &failure);
}

/* Does it go on? Else it was answered, or waits. */
static bool apply_credential(struct live_exchange *l, struct message *m)
{
	struct vault *vault = l->all->rules->vault;
	const char *which = NULL;

	if (!vault)
		return true;
	switch (l->is_signed ? vault_apply_whole(vault, m, collected(l), &which)
			     : vault_apply(vault, m, &which)) {
	case CREDENTIAL_NONE:
	case CREDENTIAL_INJECTED:
	case CREDENTIAL_KEPT:
		return true;
	case CREDENTIAL_STALE:
		return false;
	case CREDENTIAL_MISSING:
		answer_missing(l);
		return false;
	case CREDENTIAL_STRICT:
	case CREDENTIAL_MISPLACED:
		break;
	}
	refuse_for(l, REASON_CREDENTIAL_REFUSED, vault_why(vault), false);
	return false;
}

/* Only what a client that still waits for 100 has not sent may be expected of the server as well. */
static bool still_expects(const struct live_exchange *l)
{
	return l->request.expects_continue && !l->body && l->x.up.n == 0 && !l->x.up.ended;
}

static void give_to_server(struct live_exchange *l, const struct message *m)
{
	struct exchanges *all = l->all;
	struct upstream_failure failure = {REASON_UPSTREAM_FAILED, ""};
	struct codec *to = NULL;

	switch (all->ways->send(all->owner, &l->x, m, &to, &failure)) {
	case EXCHANGE_SENT:
		l->upstream = to;
		set_phase(l, SENT);
		if (l->x.up.n || l->x.up.ended)
			to->ops->resume_send(to, &l->x);
		break;
	case EXCHANGE_WAITS:
		break;
	case EXCHANGE_UNSENT:
		answer_failure(l, &failure);
		break;
	}
}

/* A copy goes out: what was injected must not outlive the sending. */
static void send_on(struct live_exchange *l)
{
	struct message m;

	if (!message_copy(&l->request, &m)) {
		cut(l);
		return;
	}
	message_remove(&m, "proxy-authorization");
	m.expects_continue = still_expects(l);
	if (apply_credential(l, &m))
		give_to_server(l, &m);
	if (m.memory)
		explicit_bzero(m.memory, m.memory_n);
	message_free(&m);
}

/* ---- Judging ---- */

static bool is_for_peer(const struct live_exchange *l)
{
	const struct handover *peer = l->all->peer;
	const struct message *m = &l->request;
	const char *scheme = peer->tls ? "https" : "http";

	if (m->port != peer->dst.port || !span_equal(m->scheme, span_of_string(scheme)))
		return false;
	if (peer->name.n)
		return m->has_host && name_equal(&m->host, &peer->name);
	return !m->has_host && addr_equal(&m->address, &peer->dst.addr);
}

static void judge(struct live_exchange *l, struct span body, bool whole)
{
	struct request_judge j = l->all->rules->judge;

	j.addr = &l->all->peer->dst.addr;
	judge_request(&j, &l->request, body, whole, &l->verdict);
}

static void keep_body(struct live_exchange *l)
{
	struct span body = collected(l);

	l->body = malloc(body.n + 1);
	if (!l->body) {
		cut(l);
		return;
	}
	if (body.n)
		memcpy(l->body, body.p, body.n);
	l->body_n = body.n;
}

static void collect(struct live_exchange *l)
{
	struct codec *c = l->all->client;

	if (l->x.up.n == BODY_ROOM || is_body_whole(l)) {
		refuse_for(l, REASON_OPERATION_NOT_ALLOWED, "its body cannot be judged", false);
		return;
	}
	set_phase(l, COLLECTING);
	c->ops->resume_receive(c, &l->x);
}

/* A signature covers a body that is not whole yet: nothing is sent before. */
static bool wants_more_to_sign(struct live_exchange *l)
{
	struct vault *vault = l->all->rules->vault;

	l->is_signed = vault && vault_wants_body(vault, &l->request);
	return l->is_signed && !is_body_whole(l);
}

static void admit(struct live_exchange *l)
{
	static const struct upstream_failure too_large = {
		REASON_CREDENTIAL_MISSING,
		"its body is larger than 64 KiB, which cannot be signed; nothing was sent"};

	request_log_judge(l->all->rules->log, &l->record, &l->verdict);
	if (wants_more_to_sign(l)) {
		if (l->x.up.n < BODY_ROOM)
			collect(l);
		else
			answer_failure(l, &too_large);
		return;
	}
	if (l->phase == COLLECTING && l->x.up.n)
		keep_body(l);
	set_phase(l, WAITING);
	send_on(l);
}

static void act_on_verdict(struct live_exchange *l)
{
	switch (l->verdict.what) {
	case REQUEST_NEEDS_BODY:
		collect(l);
		break;
	case REQUEST_REFUSED:
		refuse(l, false);
		break;
	case REQUEST_ADMITTED:
		admit(l);
		break;
	}
}

static void judge_collected(struct live_exchange *l)
{
	judge(l, collected(l), is_body_whole(l));
	act_on_verdict(l);
}

/* ---- Events of the client's side ---- */

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
	l->next = xs->live;
	l->link = &xs->live;
	if (l->next)
		l->next->link = &l->next;
	xs->live = l;
	xs->n_live++;
	xs->rules->counters.requests++;
	xs->rules->counters.open++;
	request_log_begin(xs->rules->log, &l->record, xs->peer, request);
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
	if (!is_for_peer(l)) {
		refuse_for(l, REASON_SNI_MISMATCH, "this connection was made for another name",
			   true);
	} else {
		judge(l, span_of(NULL, 0), is_body_whole(l));
		act_on_verdict(l);
	}
	return l->client_on ? &l->x : NULL;
}

static void body_came_up(struct live_exchange *l)
{
	switch (l->phase) {
	case COLLECTING:
		judge_collected(l);
		break;
	case WAITING:
		break;
	case SENT:
	case ANSWERED:
		if (l->upstream)
			l->upstream->ops->resume_send(l->upstream, &l->x);
		else
			throw_body_away(l);
		break;
	case REFUSED:
		throw_body_away(l);
		break;
	}
}

static void client_is_over(struct live_exchange *l)
{
	l->client_on = false;
	cut_upstream(l);
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
	vault_mask_head(vault, answer);
	if (is_final(answer) && answer->status != STATUS_SWITCHING)
		l->mask.mask = mask_new(vault, answer);
}

static void take_answer(struct exchange *x, struct message *answer)
{
	struct live_exchange *l = live_of(x);
	struct codec *c = l->all->client;

	if (l->phase != SENT || !l->client_on)
		return;
	if (is_final(answer)) {
		set_phase(l, ANSWERED);
		l->record.status = answer->status;
	}
	clean_answer(l, answer);
	c->ops->send_answer(c, x, answer);
}

static void body_came_down(struct live_exchange *l)
{
	struct codec *c = l->all->client;

	answer_mask_look(&l->mask, &l->x.down);
	if (l->client_on)
		c->ops->resume_send(c, &l->x);
}

static bool may_be_sent_again(const struct live_exchange *l, enum codec_error why)
{
	return why == CODEC_RETRY && l->x.up.passed == 0 && l->client_on;
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

static void upstream_failed(struct live_exchange *l, enum codec_error why,
			    const struct upstream_failure *failure)
{
	l->upstream = NULL;
	if (l->phase == SENT && may_be_sent_again(l, why)) {
		set_phase(l, WAITING);
	} else if (l->phase == SENT && l->client_on) {
		l->x.down.failed = false;
		answer_failure(l, failure);
	} else {
		cut_client(l);
	}
	look_for_end(l);
}

static void upstream_done(struct live_exchange *l)
{
	l->upstream = NULL;
	if (l->client_on)
		throw_body_away(l);
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
	upstream_failed(live_of(x), why, &failure);
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
		send_on(l);
}

/* Oldest first: they stand with the newest in front. */
void exchanges_advance(struct exchanges *xs)
{
	if (xs->n_waiting)
		each(xs, advance, NULL);
}

static void rejudge(struct live_exchange *l, const void *ctx)
{
	if (l->phase == REFUSED)
		return;
	if (l->phase == COLLECTING) {
		judge_collected(l);
		return;
	}
	judge(l, span_of(l->body, l->body_n), true);
	if (l->verdict.what == REQUEST_ADMITTED)
		return;
	if (l->phase != ANSWERED) {
		refuse(l, false);
		return;
	}
	request_log_judge(l->all->rules->log, &l->record, &l->verdict);
	cut(l);
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
		cut_upstream(l);
		upstream_failed(l, loss->why, loss->failure);
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
		answer_failure(l, ctx);
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
	cut(l);
}

void exchanges_free(struct exchanges *xs)
{
	each(xs, end, NULL);
	exchanges_sweep(xs);
}
