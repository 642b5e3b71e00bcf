/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One turn: wait, read the clock once, call the watches that are ready, then the
 * timers that are due, then the after-turn hook. The kernel hands back the
 * address of a watch; a watch removed in the middle of a turn is struck out of
 * the rest of the batch, so its memory may be reused at once.
 *
 * Timers stand in a binary heap of pointers, each knowing its slot, so that
 * cancelling one costs no search. The heap's size is fixed at the start.
 */
#include "io/loop.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>

const int loop_syscalls[] = {
	SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_ctl), SCMP_SYS(close), -1,
};

enum { BATCH = 256 };

struct loop {
	int epoll;
	bool stopped;
	bool poked; /* the next wait must not block */
	mono_t now;
	struct epoll_event batch[BATCH];
	int n_batch, at_batch;
	void (*after_turn)(void *ctx);
	void *after_turn_ctx;
	uint32_t n_timers, max_timers;
	struct timer **heap; /* 1-based */
};

struct loop *loop_new(uint32_t max_timers)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->max_timers = max_timers;
	l->heap = calloc((size_t)max_timers + 1, sizeof(struct timer *));
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!l->heap || l->epoll < 0) {
		loop_free(l);
		return NULL;
	}
	l->now = mono_now();
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	if (l->epoll >= 0)
		close(l->epoll);
	free(l->heap);
	free(l);
}

int loop_add(struct loop *l, struct watch *w, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	w->fd = fd;
	w->events = events;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) == 0)
		return 0;
	w->fd = -1;
	return -errno;
}

int loop_modify(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (w->events == events)
		return 0;
	if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &ev) != 0)
		return -errno;
	w->events = events;
	return 0;
}

static void strike_from_batch(struct loop *l, const struct watch *w)
{
	for (int i = l->at_batch; i < l->n_batch; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].data.ptr = NULL;
}

void loop_remove(struct loop *l, struct watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	strike_from_batch(l, w);
	w->fd = -1;
}

void loop_close(struct loop *l, struct watch *w)
{
	int fd = w->fd;

	if (fd < 0)
		return;
	loop_remove(l, w);
	close(fd);
}

static void heap_place(struct loop *l, struct timer *t, uint32_t slot)
{
	l->heap[slot] = t;
	t->slot = slot;
}

static void heap_rise(struct loop *l, struct timer *t, uint32_t slot)
{
	while (slot > 1 && mono_before(t->due, l->heap[slot / 2]->due)) {
		heap_place(l, l->heap[slot / 2], slot);
		slot /= 2;
	}
	heap_place(l, t, slot);
}

static void heap_sink(struct loop *l, struct timer *t, uint32_t slot)
{
	for (;;) {
		uint32_t child = slot * 2;

		if (child > l->n_timers)
			break;
		if (child < l->n_timers &&
		    mono_before(l->heap[child + 1]->due, l->heap[child]->due))
			child++;
		if (!mono_before(l->heap[child]->due, t->due))
			break;
		heap_place(l, l->heap[child], slot);
		slot = child;
	}
	heap_place(l, t, slot);
}

bool loop_timer_set(struct loop *l, struct timer *t, mono_t due)
{
	if (t->slot) {
		bool earlier = mono_before(due, t->due);

		t->due = due;
		if (earlier)
			heap_rise(l, t, t->slot);
		else
			heap_sink(l, t, t->slot);
		return true;
	}
	if (l->n_timers == l->max_timers)
		return false;
	t->due = due;
	l->n_timers++;
	heap_rise(l, t, l->n_timers);
	return true;
}

void loop_timer_cancel(struct loop *l, struct timer *t)
{
	struct timer *last;
	uint32_t slot = t->slot;

	if (!slot)
		return;
	t->slot = 0;
	last = l->heap[l->n_timers--];
	if (last == t)
		return;
	if (slot > 1 && mono_before(last->due, l->heap[slot / 2]->due))
		heap_rise(l, last, slot);
	else
		heap_sink(l, last, slot);
}

mono_t loop_now(const struct loop *l)
{
	return l->now;
}

void loop_poke(struct loop *l)
{
	l->poked = true;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}

void loop_set_after_turn(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	l->after_turn = fn;
	l->after_turn_ctx = ctx;
}

static int wait_ms(const struct loop *l)
{
	int64_t ms;

	if (l->poked)
		return 0;
	if (!l->n_timers)
		return -1;
	ms = mono_ms_until(mono_now(), l->heap[1]->due);
	if (ms < 0)
		return 0;
	return ms > 60000 ? 60000 : (int)ms;
}

static void call_watches(struct loop *l)
{
	for (l->at_batch = 0; l->at_batch < l->n_batch;) {
		const struct epoll_event *ev = &l->batch[l->at_batch++];
		struct watch *w = ev->data.ptr;

		if (w)
			w->ready(w, ev->events);
	}
}

/* A timer that sets itself again for a due time does not starve the watches: one round a turn. */
static void call_timers(struct loop *l)
{
	uint32_t most = l->n_timers;

	while (most-- && l->n_timers && !mono_before(l->now, l->heap[1]->due)) {
		struct timer *t = l->heap[1];

		loop_timer_cancel(l, t);
		t->expired(t);
	}
}

int loop_run(struct loop *l)
{
	l->stopped = false;
	while (!l->stopped) {
		int n = epoll_wait(l->epoll, l->batch, BATCH, wait_ms(l));

		if (n < 0 && errno != EINTR)
			return -errno;
		l->n_batch = n < 0 ? 0 : n;
		l->poked = false;
		l->now = mono_now();
		call_watches(l);
		call_timers(l);
		if (l->after_turn)
			l->after_turn(l->after_turn_ctx);
	}
	return 0;
}
