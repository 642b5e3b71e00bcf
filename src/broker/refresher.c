/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	FREE -> DIALLING -> TLS -> ASKED -> FREE
 *
 * DIALLING	the gate was asked for a connection to the token endpoint. It looks up the name, and
 *		dials only what is one of a credential in its policy
 * TLS		nothing was sent but the handshake; the server is verified
 * ASKED	the request is on its way, or its answer
 *
 * Each state has its time. Whatever ends one, the vault has a new token or a failure afterwards,
 * and requests that wait are looked at again. How long a failure is waited for is the vault's.
 *
 * A codec's events come from within link_receive() and link_send(), which go on looking at the
 * codec: they only note what happened, and work() acts on it.
 */
#include "broker/refresher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "broker/credential_control.h"
#include "broker/gate_door.h"
#include "broker/link.h"
#include "broker/locked.h"
#include "broker/refresh.h"

enum { ASK_MAX = BODY_ROOM, STATUS_FINAL = 200 };

enum refresh_state { REFRESH_FREE, REFRESH_DIALLING, REFRESH_TLS, REFRESH_ASKED };

struct refresh_run {
	struct exchange x; /* first: the codec knows it by that */
	struct refresher *all;
	enum refresh_state state;
	size_t credential;
	struct name server;
	uint32_t dial;
	int error; /* the gate cannot be asked: a positive errno */
	struct link link;
	struct timer timer;
	unsigned status;      /* of the final answer; 0: none yet */
	struct record record; /* of the request, once it was made */
	mono_t asked;
	bool done, failed;
};

struct refresher {
	struct broker *broker;
	struct timer ahead;
	struct refresh_run run[REFRESHES_MAX];
};

static struct vault *vault_of(const struct refresh_run *t)
{
	return t->all->broker->rules.vault;
}

/* ---- Ends ---- */

static void close_run(struct refresh_run *t)
{
	struct loop *l = t->all->broker->loop;

	loop_timer_cancel(l, &t->timer);
	if (t->state == REFRESH_TLS || t->state == REFRESH_ASKED)
		link_close(&t->link, l);
	body_free(&t->x.up);
	body_free(&t->x.down);
	t->state = REFRESH_FREE;
}

/* A secret was sent there, whatever came of it. */
static void note(struct refresh_run *t)
{
	t->record.status = (uint16_t)t->status;
	t->record.bytes_out = t->x.up.passed;
	t->record.bytes_in = t->x.down.passed;
	t->record.duration_ms = (uint64_t)((mono_now().ns - t->asked.ns) / 1000000);
	request_log_put(&t->all->broker->log, &t->record);
}

static void settle(struct refresh_run *t, const char *failure)
{
	struct refresher *all = t->all;

	if (t->state == REFRESH_ASKED)
		note(t);
	close_run(t);
	if (failure)
		vault_fail_refresh(vault_of(t), t->credential, failure, SECRET_PARTS);
	credential_control_refreshed(all->broker, t->credential);
	refresher_look_ahead(all);
}

static void fail(struct refresh_run *t, const char *what, const char *why)
{
	char text[NAME_MAX_OCTETS + 512];

	snprintf(text, sizeof(text), "the token endpoint %s: %s%s", t->server.s, what, why);
	settle(t, text);
}

static void take_answer(struct refresh_run *t)
{
	struct err e;
	int rc = refresh_take(vault_of(t), t->credential, t->status, body_peek(&t->x.down),
			      time(NULL), &e);

	(void)rc; /* the vault knows as well */
	settle(t, NULL);
}

/* ---- Events of the codec ---- */

static void on_answer(struct exchange *x, struct message *answer)
{
	struct refresh_run *t = (struct refresh_run *)x;

	if (answer->status >= STATUS_FINAL)
		t->status = answer->status;
}

static void on_filled(struct exchange *x, struct codec *c)
{
	struct refresh_run *t = (struct refresh_run *)x;

	t->failed = t->failed || (body_room(&x->down) == 0 && !x->down.ended);
}

static void on_drained(struct exchange *x, struct codec *c)
{
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	((struct refresh_run *)x)->failed = true;
}

static void on_done(struct exchange *x, struct codec *c)
{
	((struct refresh_run *)x)->done = true;
}

static const struct codec_events events = {
	.answer = on_answer,
	.body_filled = on_filled,
	.body_drained = on_drained,
	.failed = on_failed,
	.done = on_done,
};

/* ---- The request ---- */

static bool send_request(struct refresh_run *t, const struct message *m, struct span body)
{
	struct codec *c = t->link.codec;

	t->x.up.secret = t->x.down.secret = true;
	t->x.up.ended = body_put(&t->x.up, body);
	if (!t->x.up.ended || !c->ops->send_request(c, &t->x, m))
		return false;
	c->ops->resume_send(c, &t->x);
	return true;
}

static void begin_record(struct refresh_run *t, const struct message *m)
{
	const struct handover server = {.name = t->server, .dst.port = CREDENTIAL_PORT};
	const struct request_log *log = &t->all->broker->log;
	char place[CREDENTIAL_TEXT_MAX], text[CREDENTIAL_TEXT_MAX + 16];

	credential_describe(vault_credential(vault_of(t), t->credential), place);
	snprintf(text, sizeof(text), "refresh of %s", place);
	request_log_begin(log, &t->record, &server, m, vault_of(t));
	t->record.has_addr = false; /* the gate's to know */
	t->record.generation = log->generation;
	request_log_use(&t->record, text);
	t->asked = mono_now();
}

static bool make_and_send(struct refresh_run *t, uint8_t *room, struct err *e)
{
	struct buf body = buf_of(room, ASK_MAX);
	struct message m;
	bool sent;

	if (refresh_ask(vault_of(t), t->credential, &m, &body, e))
		return false;
	begin_record(t, &m);
	sent = send_request(t, &m, buf_span(&body));
	message_free(&m);
	if (!sent)
		err_set(e, "the request cannot be sent");
	return sent;
}

static void ask(struct refresh_run *t)
{
	struct err e = {""};
	uint8_t *room = locked_new(ASK_MAX, &e);
	bool asked;

	t->link.codec = http1_client_new(&events, NULL);
	if (t->link.codec)
		t->link.codec->tls = true;
	asked = room && t->link.codec && make_and_send(t, room, &e);
	locked_free(room, ASK_MAX);
	if (!asked) {
		fail(t, "is not asked: ", e.text[0] ? e.text : "out of memory");
		return;
	}
	t->state = REFRESH_ASKED;
	loop_timer_set(t->all->broker->loop, &t->timer,
		       mono_add_ms(mono_now(), t->all->broker->patience.head));
}

/* ---- Work ---- */

static void shake_hands(struct refresh_run *t)
{
	switch (link_handshake(&t->link)) {
	case TLS_DONE:
		ask(t);
		return;
	case TLS_WANT_READ:
		t->link.readable = false;
		return;
	case TLS_WANT_WRITE:
		t->link.writable = false;
		return;
	case TLS_CLOSED:
	case TLS_FAILED:
		break;
	}
	fail(t, tls_why(t->link.tls), "");
}

static bool is_over(const struct refresh_run *t)
{
	return t->done || t->failed || link_is_over(&t->link);
}

static void work(struct refresh_run *t)
{
	bool moved = true;

	if (t->state == REFRESH_TLS)
		shake_hands(t);
	if (t->state != REFRESH_ASKED)
		return;
	while (moved && !is_over(t)) {
		moved = link_receive(&t->link);
		moved = (!is_over(t) && link_send(&t->link)) || moved;
	}
	if (t->done && !t->failed && t->status)
		take_answer(t);
	else if (is_over(t))
		fail(t, "its answer is not whole, ", "or too large");
}

static void ready(struct watch *w, uint32_t what)
{
	struct refresh_run *t = sg_container_of(w, struct refresh_run, link.watch);

	link_note(&t->link, what);
	work(t);
}

static void expired(struct timer *timer)
{
	struct refresh_run *t = sg_container_of(timer, struct refresh_run, timer);

	if (t->error)
		fail(t, "the gate cannot be asked for a connection: ", strerror(t->error));
	else
		fail(t, "it took too long", "");
}

/* ---- Begin ---- */

static struct refresh_run *run_of(struct refresher *r, size_t credential)
{
	struct refresh_run *unused = NULL;

	for (size_t i = 0; i < REFRESHES_MAX; i++) {
		struct refresh_run *t = &r->run[i];

		if (t->state == REFRESH_FREE)
			unused = unused ? unused : t;
		else if (t->credential == credential)
			return NULL;
	}
	return unused;
}

/*
 * A failure waits for the timer: an exchange is asking, and would be looked at again within that.
 */
static void begin(struct refresh_run *t, struct refresher *r, size_t credential)
{
	struct broker *b = r->broker;

	*t = (struct refresh_run){.all = r,
				  .state = REFRESH_DIALLING,
				  .credential = credential,
				  .link.watch.fd = -1,
				  .timer.expired = expired};
	if (!credential_refresh_server(vault_credential(b->rules.vault, credential)->refresh,
				       &t->server))
		t->error = EINVAL;
	else
		t->error = -gate_door_dial_token(b->door, &t->server, CREDENTIAL_PORT, &t->dial);
	loop_timer_set(b->loop, &t->timer,
		       mono_add_ms(mono_now(), t->error ? 0 : b->patience.dial));
}

/* A use of a secret that could not be noted does not happen; the next request asks again. */
void refresher_start(struct refresher *r)
{
	struct vault *v = r->broker->log.closed ? NULL : r->broker->rules.vault;
	size_t n = v ? vault_count(v) : 0;

	for (size_t i = v ? vault_next_refresh(v, 0) : 0; i < n; i = vault_next_refresh(v, i + 1)) {
		struct refresh_run *t = run_of(r, i);

		if (t)
			begin(t, r, i);
	}
}

static bool begin_tls(struct refresh_run *t, int fd, struct err *e)
{
	struct broker *b = t->all->broker;

	t->state = REFRESH_TLS;
	t->link.tls = tls_connect_new(b->store, fd, &t->server, false, e);
	if (!t->link.tls)
		return false;
	loop_timer_set(b->loop, &t->timer, mono_add_ms(mono_now(), b->patience.handshake));
	return true;
}

/* What the gate says when it did not dial: gate/token_dials.c. */
static const char *why_undialled(int error)
{
	if (error == EACCES)
		return "the gate does not dial it";
	return error == ENXIO ? "its name cannot be looked up" : strerror(error);
}

static void take_socket(struct refresh_run *t, int fd, int error)
{
	struct err e = {""};

	if (fd < 0) {
		fail(t, why_undialled(error), "");
	} else if (link_open(&t->link, t->all->broker->loop, fd, ready) != 0) {
		fail(t, "its socket cannot be watched", "");
	} else if (!begin_tls(t, fd, &e)) {
		fail(t, e.text, "");
	} else {
		work(t);
	}
}

bool refresher_dialled(struct refresher *r, uint32_t dial, int fd, int error)
{
	for (size_t i = 0; i < REFRESHES_MAX; i++) {
		struct refresh_run *t = &r->run[i];

		if (t->state != REFRESH_DIALLING || t->error || t->dial != dial)
			continue;
		take_socket(t, fd, error);
		return true;
	}
	return false;
}

void refresher_cut(struct refresher *r)
{
	for (size_t i = 0; i < REFRESHES_MAX; i++)
		if (r->run[i].state == REFRESH_DIALLING)
			close_run(&r->run[i]);
}

/* ---- Time ---- */

static void look(struct timer *timer)
{
	struct refresher *r = sg_container_of(timer, struct refresher, ahead);

	credential_control_renew(r->broker);
	refresher_look_ahead(r);
}

void refresher_look_ahead(struct refresher *r)
{
	const struct vault *v = r->broker->rules.vault;
	int64_t due = v ? vault_next_due(v, time(NULL)) : 0, seconds = due - time(NULL);

	loop_timer_cancel(r->broker->loop, &r->ahead);
	if (due)
		loop_timer_set(r->broker->loop, &r->ahead,
			       mono_add_ms(mono_now(), (seconds > 1 ? seconds : 1) * 1000));
}

struct refresher *refresher_new(struct broker *b)
{
	struct refresher *r = calloc(1, sizeof(*r));

	if (r) {
		r->broker = b;
		r->ahead.expired = look;
	}
	return r;
}

void refresher_free(struct refresher *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < REFRESHES_MAX; i++)
		if (r->run[i].state != REFRESH_FREE)
			close_run(&r->run[i]);
	loop_timer_cancel(r->broker->loop, &r->ahead);
	free(r);
}
