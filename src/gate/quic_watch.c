/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/quic_watch.h"

#include <stdlib.h>

enum { ATTEMPTS = 8, KEPT_OCTETS = 8192, KEPT_MAX = 6, ATTEMPT_MS = 3000 };

struct attempt {
	bool used;
	struct endpoint src, dst;
	mono_t begun;
	struct quic_initial initial;
	uint8_t n_kept, at_kept;
	uint16_t kept_end[KEPT_MAX]; /* offsets in `kept` */
	uint8_t kept[KEPT_OCTETS];
};

struct quic_watch {
	struct loop *loop;
	enum { NOT_YET, READY, CANNOT } algorithms;
	struct attempt *answered;
	struct attempt attempt[ATTEMPTS];
};

struct quic_watch *quic_watch_new(struct loop *l)
{
	struct quic_watch *w = calloc(1, sizeof(*w));

	if (w)
		w->loop = l;
	return w;
}

/*
 * libcrypto's tables take most of a MiB, so a gate that sees no QUIC does without. Setting them up
 * needs memory and a random seed, no file: it works when the gate is isolated.
 */
static bool have_algorithms(struct quic_watch *w)
{
	struct err e;

	if (w->algorithms == NOT_YET)
		w->algorithms = quic_initial_init(&e) == 0 ? READY : CANNOT;
	return w->algorithms == READY;
}

static bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && addr_equal(&a->addr, &b->addr);
}

static struct attempt *find(struct quic_watch *w, const struct endpoint *src,
			    const struct endpoint *dst)
{
	for (size_t i = 0; i < ATTEMPTS; i++) {
		struct attempt *a = &w->attempt[i];

		if (a->used && endpoint_equal(&a->src, src) && endpoint_equal(&a->dst, dst))
			return a;
	}
	return NULL;
}

/* A free place, or that of an attempt that was given up by its client. */
static struct attempt *begin(struct quic_watch *w, const struct endpoint *src,
			     const struct endpoint *dst)
{
	mono_t now = loop_now(w->loop);

	for (size_t i = 0; i < ATTEMPTS; i++) {
		struct attempt *a = &w->attempt[i];

		if (a->used && mono_before(now, mono_add_ms(a->begun, ATTEMPT_MS)))
			continue;
		a->used = true;
		a->src = *src;
		a->dst = *dst;
		a->begun = now;
		a->n_kept = a->at_kept = 0;
		quic_initial_begin(&a->initial);
		return a;
	}
	return NULL;
}

static bool keep(struct attempt *a, struct span d)
{
	size_t at = a->n_kept ? a->kept_end[a->n_kept - 1] : 0;

	if (a->n_kept == KEPT_MAX || d.n > KEPT_OCTETS - at)
		return false;
	memcpy(a->kept + at, d.p, d.n);
	a->kept_end[a->n_kept++] = (uint16_t)(at + d.n);
	return true;
}

enum quic_seen quic_watch_feed(struct quic_watch *w, const struct endpoint *src,
			       const struct endpoint *dst, struct span datagram, struct name *name)
{
	struct attempt *a = find(w, src, dst);
	struct tls_hello hello;
	enum quic_state s;

	w->answered = NULL;
	if (!a && have_algorithms(w))
		a = begin(w, src, dst);
	if (!a)
		return QUIC_SEEN_NO_NAME;
	s = quic_initial_feed(&a->initial, datagram, &hello);
	if (s == QUIC_NEED_MORE && keep(a, datagram))
		return QUIC_SEEN_WAIT;
	a->used = false;
	if (s == QUIC_NOT_INITIAL)
		return QUIC_SEEN_OTHER;
	if (s != QUIC_HELLO || !hello.has_server_name)
		return QUIC_SEEN_NO_NAME;
	*name = hello.server_name;
	w->answered = a;
	return QUIC_SEEN_NAME;
}

bool quic_watch_next_kept(struct quic_watch *w, struct span *datagram)
{
	struct attempt *a = w->answered;
	size_t begin_at;

	if (!a || a->at_kept == a->n_kept)
		return false;
	begin_at = a->at_kept ? a->kept_end[a->at_kept - 1] : 0;
	*datagram = span_of(a->kept + begin_at, a->kept_end[a->at_kept] - begin_at);
	a->at_kept++;
	return true;
}
