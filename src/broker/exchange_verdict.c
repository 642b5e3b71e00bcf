/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_verdict: what of an exchange is judged, what is sent with which credential, and what is
 * answered by us.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker/failure_answer.h"
#include "broker/live_exchange.h"
#include "broker/refresh.h"
#include "broker/vault.h"

enum { STATUS_MISDIRECTED = 421 };

/* ---- Answers of our own ---- */

void live_throw_body_away(struct live_exchange *l)
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

	live_set_phase(l, REFUSED);
	l->record.status = answer->status;
	if (!l->client_on)
		return;
	c->ops->send_answer(c, &l->x, answer);
	c->ops->resume_send(c, &l->x);
	live_throw_body_away(l);
}

static void refuse(struct live_exchange *l, bool misdirected)
{
	struct message answer;

	live_cut_upstream(l);
	request_log_judge(l->all->rules->log, &l->record, &l->verdict);
	l->all->rules->counters.refused++;
	message_init(&answer);
	if (refusal_answer(&l->request, &l->verdict, &answer, &l->x.down)) {
		if (misdirected && l->all->client_http2)
			answer.status = STATUS_MISDIRECTED;
		answer_ourselves(l, &answer);
	} else {
		live_cut(l);
	}
	message_free(&answer);
}

static void set_refused(struct live_exchange *l, enum reason reason, const char *why)
{
	l->verdict.what = REQUEST_REFUSED;
	l->verdict.reason = reason;
	l->verdict.why = why;
	l->verdict.remedy[0] = 0;
}

static void refuse_for(struct live_exchange *l, enum reason reason, const char *why,
		       bool misdirected)
{
	set_refused(l, reason, why);
	refuse(l, misdirected);
}

/* It was admitted, and nothing comes of it: the server, or the credential. */
void live_answer_failure(struct live_exchange *l, const struct upstream_failure *failure)
{
	struct message answer;

	live_cut_upstream(l);
	l->record.kind = RECORD_DENY;
	l->record.reason = (uint8_t)failure->reason;
	l->all->rules->counters.failed++;
	message_init(&answer);
	if (failure_answer(&l->all->peer->name, failure, &answer, &l->x.down))
		answer_ourselves(l, &answer);
	else
		live_cut(l);
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
	live_answer_failure(l, &failure);
}

/* Does it go on? Else it was answered, or waits. */
static bool apply_credential(struct live_exchange *l, struct message *m)
{
	struct vault *vault = l->all->rules->vault;
	const char *which = NULL;

	l->credential = NULL;
	l->uses = (struct vault_set){0};
	if (!vault)
		return true;
	switch (l->is_signed ? vault_apply_whole(vault, m, collected(l), &which)
			     : vault_apply(vault, m, &which)) {
	case CREDENTIAL_INJECTED:
		l->credential = which;
		l->uses = vault_uses(vault);
		return true;
	case CREDENTIAL_NONE:
	case CREDENTIAL_KEPT:
		return true;
	case CREDENTIAL_STALE:
		if (l->all->rules->log->closed) {
			live_refuse_for_log(l);
			return false;
		}
		l->all->rules->stale(l->all->rules->stale_ctx);
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

void live_refuse_for_log(struct live_exchange *l)
{
	refuse_for(l, REASON_LOG_FULL, "whoever runs the sandbox has to make room for it", false);
}

/*
 * Does the audit log let it go on? With a credential it is refused when the log cannot be written, and
 * without one it waits.
 */
static bool pass_log(struct live_exchange *l)
{
	bool closed = l->all->rules->log->closed;

	if (!closed)
		l->held = (mono_t){0};
	else if (l->credential)
		live_refuse_for_log(l);
	else if (l->held.ns == 0)
		l->held = mono_now();
	return !closed;
}

/*
 * Only what a client that still waits for 100 has not sent may be expected of the server as well.
 */
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
		if (l->credential)
			request_log_use(&l->record, l->credential);
		l->upstream = to;
		live_set_phase(l, SENT);
		if (l->x.up.n || l->x.up.ended)
			to->ops->resume_send(to, &l->x);
		break;
	case EXCHANGE_WAITS:
		break;
	case EXCHANGE_UNSENT:
		live_answer_failure(l, &failure);
		break;
	}
}

/* A copy goes out: what was injected must not outlive the sending. */
void live_send(struct live_exchange *l)
{
	struct message m;

	if (!message_copy(&l->request, &m)) {
		live_cut(l);
		return;
	}
	message_remove(&m, "proxy-authorization");
	m.expects_continue = still_expects(l);
	if (apply_credential(l, &m) && pass_log(l))
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
	j.by_proxy = l->all->peer->by_proxy;
	judge_request(&j, &l->request, body, whole, &l->verdict);
}

static bool keep_body(struct live_exchange *l)
{
	struct span body = collected(l);

	if (body.n == 0)
		return true;
	l->body = malloc(body.n);
	if (!l->body)
		return false;
	memcpy(l->body, body.p, body.n);
	l->body_n = body.n;
	return true;
}

static void collect(struct live_exchange *l)
{
	struct codec *c = l->all->client;

	if (l->x.up.n == BODY_ROOM || is_body_whole(l)) {
		refuse_for(l, REASON_OPERATION_NOT_ALLOWED, "its body cannot be judged", false);
		return;
	}
	live_set_phase(l, COLLECTING);
	c->ops->resume_receive(c, &l->x);
}

/* A signature covers a body that is not whole yet: nothing is sent before. */
static bool wants_more_to_sign(struct live_exchange *l)
{
	struct vault *vault = l->all->rules->vault;

	l->is_signed = vault && vault_wants_body(vault, &l->request);
	return l->is_signed && !is_body_whole(l);
}

/* ---- A client that refreshes by itself ---- */

/* A request to a token endpoint: only the body tells whether a placeholder is in it. */
static bool wants_refresh_body(const struct live_exchange *l)
{
	const struct vault *v = l->all->rules->vault;

	return v && l->x.up.n < BODY_ROOM && !is_body_whole(l) &&
	       refresh_find(v, &l->request) < vault_count(v);
}

static bool make_refresh_answer(const struct live_exchange *l, struct message *answer,
				struct body *body)
{
	const struct vault *v = l->all->rules->vault;
	size_t i = v ? refresh_find(v, &l->request) : 0;
	uint8_t room[512];
	struct buf b = buf_of(room, sizeof(room));

	if (!v || i == vault_count(v) || !is_body_whole(l) ||
	    !refresh_answer_client(v, i, collected(l), answer, &b))
		return false;
	body->ended = body_put(body, buf_span(&b));
	return body->ended;
}

/* It has a placeholder, and gets one: nothing leaves. */
static bool answer_refresh(struct live_exchange *l)
{
	struct message answer;
	bool is_ours;

	message_init(&answer);
	is_ours = make_refresh_answer(l, &answer, &l->x.down);
	if (is_ours)
		answer_ourselves(l, &answer);
	message_free(&answer);
	return is_ours;
}

static void admit(struct live_exchange *l)
{
	static const struct upstream_failure too_large = {
		REASON_CREDENTIAL_MISSING,
		"its body is larger than 64 KiB, which cannot be signed; nothing was sent"};

	request_log_judge(l->all->rules->log, &l->record, &l->verdict);
	if (wants_refresh_body(l)) {
		collect(l);
		return;
	}
	if (answer_refresh(l))
		return;
	if (wants_more_to_sign(l)) {
		if (l->x.up.n < BODY_ROOM)
			collect(l);
		else
			live_answer_failure(l, &too_large);
		return;
	}
	if (l->phase == COLLECTING && !keep_body(l)) {
		live_cut(l);
		return;
	}
	live_set_phase(l, WAITING);
	live_send(l);
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

void live_judge_collected(struct live_exchange *l)
{
	judge(l, collected(l), is_body_whole(l));
	act_on_verdict(l);
}

void live_judge_head(struct live_exchange *l)
{
	if (!is_for_peer(l)) {
		refuse_for(l, REASON_SNI_MISMATCH, "this connection was made for another name",
			   true);
		return;
	}
	judge(l, span_of(NULL, 0), is_body_whole(l));
	act_on_verdict(l);
}

/* With a secret that is wiped by now, which the answer may repeat. */
static bool has_lost_credential(const struct live_exchange *l)
{
	const struct vault *vault = l->all->rules->vault;

	return vault && (l->phase == SENT || l->phase == ANSWERED) &&
	       !vault_has_all(vault, &l->uses);
}

void live_judge_again(struct live_exchange *l)
{
	if (l->phase == REFUSED)
		return;
	if (l->phase == COLLECTING) {
		live_judge_collected(l);
		return;
	}
	judge(l, span_of(l->body, l->body_n), true);
	if (l->verdict.what == REQUEST_ADMITTED && has_lost_credential(l))
		set_refused(l, REASON_CREDENTIAL_REFUSED,
			    "its credential was taken away while it ran");
	if (l->verdict.what == REQUEST_ADMITTED)
		return;
	if (l->phase != ANSWERED) {
		refuse(l, false);
		return;
	}
	request_log_judge(l->all->rules->log, &l->record, &l->verdict);
	live_cut(l);
}
