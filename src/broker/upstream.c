/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	NONE -> TLS -> OPEN -> NONE
 *
 * TLS nothing was sent but the handshake; it fails: NONE, and what waits is answered with the
 * reason OPEN its codec takes requests
 *
 * The broker makes no socket. One that is busy with HTTP/1.1, or whose server has closed it, is no
 * end: the gate is asked for another one to the same server, one at a time, UPSTREAMS_MAX in all.
 * Only when the very first one fails, before any request, is it the end of all.
 */
#include "broker/upstream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/context.h"
#include "broker/gate_door.h"

static bool offers_http2(const struct handover *peer)
{
	return peer->tls && (peer->alpn & HANDOVER_HTTP2);
}

/* ---- One of them ---- */

static void set_failure(struct upstreams *all, enum reason reason, const char *why)
{
	all->failure.reason = reason;
	snprintf(all->failure.why, sizeof(all->failure.why), "%s", why);
}

/* The link is still there, and not sound. */
static void lose(struct upstream *u, enum codec_error why)
{
	static const struct upstream_failure ended = {
		REASON_UPSTREAM_FAILED, "it ended the connection before its answer was whole"};

	if (u->link.codec)
		exchanges_lose(u->all->exchanges, u->link.codec, why, &ended);
	link_close(&u->link, u->all->broker->loop);
	u->state = UPSTREAM_NONE;
}

/* Before it was open: nothing was sent. The first time it is the end of all. */
static void fail(struct upstream *u)
{
	struct upstreams *all = u->all;

	lose(u, CODEC_PEER);
	all->failed = all->failed || !all->settled;
	all->settled = true;
	exchanges_fail_waiting(all->exchanges, &all->failure);
}

static void fail_handshake(struct upstream *u)
{
	char why[sizeof(u->all->failure.why)];

	snprintf(why, sizeof(why), "%s; nothing was sent", tls_why(u->link.tls));
	set_failure(u->all,
		    tls_is_distrusted(u->link.tls) ? REASON_UPSTREAM_CERTIFICATE
						   : REASON_UPSTREAM_FAILED,
		    why);
	fail(u);
}

static void begin_http(struct upstream *u)
{
	struct link *l = &u->link;

	u->http2 = l->tls && tls_alpn(l->tls) == TLS_ALPN_HTTP2;
	l->codec = u->http2 ? http2_client_new(&exchange_events, NULL)
			    : http1_client_new(&exchange_events, NULL);
	if (!l->codec) {
		set_failure(u->all, REASON_UPSTREAM_FAILED, "there is no memory for it");
		fail(u);
		return;
	}
	l->codec->tls = l->tls != NULL;
	u->state = UPSTREAM_OPEN;
	u->all->settled = true;
}

static bool shake_hands(struct upstream *u)
{
	enum tls_result r = link_handshake(&u->link);

	switch (r) {
	case TLS_DONE:
		begin_http(u);
		return true;
	case TLS_WANT_READ:
		u->link.readable = false;
		return false;
	case TLS_WANT_WRITE:
		u->link.writable = false;
		return false;
	case TLS_CLOSED:
	case TLS_FAILED:
		break;
	}
	fail_handshake(u);
	return true;
}

static void ready(struct watch *w, uint32_t events)
{
	struct upstream *u = sg_container_of(w, struct upstream, link.watch);

	link_note(&u->link, events);
	u->all->wake(u->all);
}

static bool begin(struct upstream *u, int fd)
{
	struct upstreams *all = u->all;
	struct err e = {""};

	u->begun = mono_now();
	u->state = UPSTREAM_TLS;
	if (link_open(&u->link, all->broker->loop, fd, ready) != 0) {
		u->state = UPSTREAM_NONE;
		set_failure(all, REASON_UPSTREAM_FAILED, "its socket cannot be watched");
		return false;
	}
	if (!all->peer->tls)
		return true;
	u->link.tls = tls_connect_new(all->broker->store, fd, &all->peer->name,
				      offers_http2(all->peer), &e);
	if (u->link.tls)
		return true;
	set_failure(all, REASON_UPSTREAM_FAILED, e.text);
	lose(u, CODEC_PEER);
	return false;
}

static bool work(struct upstream *u)
{
	bool moved = false;

	if (u->state == UPSTREAM_TLS)
		moved = shake_hands(u);
	if (u->state != UPSTREAM_OPEN)
		return moved;
	moved = link_receive(&u->link) || moved;
	moved = link_send(&u->link) || moved;
	if (!link_is_over(&u->link) &&
	    !(u->link.write_over && u->link.codec->ops->idle(u->link.codec)))
		return moved;
	lose(u, CODEC_PEER);
	return true;
}

/* ---- All of them ---- */

static struct upstream *unused(struct upstreams *all)
{
	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (all->v[i].state == UPSTREAM_NONE)
			return &all->v[i];
	return NULL;
}

bool upstreams_begin(struct upstreams *all)
{
	for (size_t i = 0; i < UPSTREAMS_MAX; i++) {
		all->v[i].all = all;
		all->v[i].link.watch.fd = -1;
	}
	all->failed = !begin(&all->v[0], all->peer->server);
	all->settled = all->failed;
	return !all->failed;
}

void upstreams_close(struct upstreams *all)
{
	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (all->v[i].state != UPSTREAM_NONE)
			lose(&all->v[i], CODEC_PEER);
}

bool upstreams_work(struct upstreams *all)
{
	bool moved = false;

	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (all->v[i].state != UPSTREAM_NONE)
			moved = work(&all->v[i]) || moved;
	return moved;
}

/* Of HTTP/1.1 only one that has nothing under way; of HTTP/2 the codec knows. */
static bool may_take(const struct upstream *u)
{
	const struct codec *c = u->link.codec;

	return u->state == UPSTREAM_OPEN && c->persistent && !c->finished && !u->link.write_over &&
	       !u->link.read_over && (u->http2 || c->ops->idle(c));
}

static bool is_one_coming(const struct upstreams *all)
{
	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (all->v[i].state == UPSTREAM_TLS)
			return true;
	return all->dialling;
}

/* Another one helps where those that are there take one request at a time, or none any more. */
static bool may_dial(struct upstreams *all)
{
	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (all->v[i].http2 && may_take(&all->v[i]))
			return false;
	return !is_one_coming(all) && unused(all);
}

bool upstreams_may_take(const struct upstreams *all)
{
	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (may_take(&all->v[i]))
			return true;
	return all->failed || may_dial((struct upstreams *)all);
}

static enum exchange_sent ask_for_one(struct upstreams *all, struct upstream_failure *failure)
{
	if (!may_dial(all))
		return EXCHANGE_WAITS;
	if (gate_door_dial(all->broker->door, all->peer, &all->dial) == 0) {
		all->dialling = true;
		all->dialled_at = mono_now();
		return EXCHANGE_WAITS;
	}
	failure->reason = REASON_UPSTREAM_FAILED;
	snprintf(failure->why, sizeof(failure->why), "the gate cannot be asked for a connection");
	return EXCHANGE_UNSENT;
}

enum exchange_sent upstreams_send(struct upstreams *all, struct exchange *x,
				  const struct message *request, struct codec **to,
				  struct upstream_failure *failure)
{
	if (all->failed) {
		*failure = all->failure;
		return EXCHANGE_UNSENT;
	}
	for (size_t i = 0; i < UPSTREAMS_MAX; i++) {
		struct codec *c = all->v[i].link.codec;

		if (!may_take(&all->v[i]))
			continue;
		if (c->ops->send_request(c, x, request)) {
			*to = c;
			return EXCHANGE_SENT;
		}
		/* It would fail on the next one as well. */
		if (c->why && !all->v[i].http2) {
			failure->reason = REASON_UPSTREAM_FAILED;
			snprintf(failure->why, sizeof(failure->why), "%s", c->why);
			return EXCHANGE_UNSENT;
		}
	}
	return ask_for_one(all, failure);
}

void upstreams_dialled(struct upstreams *all, int fd, int error)
{
	struct upstream *u = unused(all);

	all->dialling = false;
	if (fd >= 0 && u && begin(u, fd))
		return;
	if (fd < 0) {
		char why[sizeof(all->failure.why)];

		snprintf(why, sizeof(why), "%s; nothing was sent", strerror(error));
		set_failure(all,
			    error == ETIMEDOUT ? REASON_UPSTREAM_TIMEOUT : REASON_UPSTREAM_FAILED,
			    why);
	}
	exchanges_fail_waiting(all->exchanges, &all->failure);
}

bool upstreams_speak_http2(const struct upstreams *all)
{
	return all->v[0].state == UPSTREAM_OPEN && all->v[0].http2;
}

uint64_t upstreams_octets(const struct upstreams *all)
{
	uint64_t n = 0;

	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		n += all->v[i].link.octets;
	return n;
}

/* ---- Time ---- */

static void earlier(mono_t *when, bool *any, mono_t other)
{
	if (!*any || mono_before(other, *when))
		*when = other;
	*any = true;
}

bool upstreams_deadline(const struct upstreams *all, mono_t *when)
{
	const struct patience *p = &all->broker->patience;
	bool any = false;

	for (size_t i = 0; i < UPSTREAMS_MAX; i++)
		if (all->v[i].state == UPSTREAM_TLS)
			earlier(when, &any, mono_add_ms(all->v[i].begun, p->handshake));
	if (all->dialling)
		earlier(when, &any, mono_add_ms(all->dialled_at, p->dial));
	return any;
}

static bool is_due(mono_t begun, int64_t ms, mono_t now)
{
	return !mono_before(now, mono_add_ms(begun, ms));
}

void upstreams_give_up(struct upstreams *all, mono_t now)
{
	const struct patience *p = &all->broker->patience;

	for (size_t i = 0; i < UPSTREAMS_MAX; i++) {
		struct upstream *u = &all->v[i];

		if (u->state != UPSTREAM_TLS || !is_due(u->begun, p->handshake, now))
			continue;
		set_failure(all, REASON_UPSTREAM_TIMEOUT,
			    "it did not finish the TLS handshake in time; nothing was sent");
		fail(u);
	}
	if (all->dialling && is_due(all->dialled_at, p->dial, now))
		upstreams_dialled(all, -1, ETIMEDOUT);
}
