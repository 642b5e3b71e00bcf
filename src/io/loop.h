/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: the one event loop of a process: epoll watches and timers.
 *
 * A watch or a timer is embedded in the object it serves; the loop never
 * allocates per event. A callback may remove any watch or timer, its own and
 * others of the same batch included.
 */
#ifndef SG_IO_LOOP_H
#define SG_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/compiler.h"

struct loop;
struct watch;
struct timer;

typedef void watch_fn(struct watch *w, uint32_t events);
typedef void timer_fn(struct timer *t);

struct watch {
	watch_fn *ready;
	int fd; /* -1 when not in the loop */
	uint32_t events;
};

struct timer {
	timer_fn *expired;
	mono_t due;
	uint32_t slot; /* 1-based place in the heap; 0 when not set */
};

struct loop *loop_new(uint32_t max_timers);
void loop_free(struct loop *l);

/* 0 or -errno. `events` are EPOLL*; EPOLLET is the caller's choice. */
int loop_add(struct loop *l, struct watch *w, int fd, uint32_t events) sg_must_check;
int loop_modify(struct loop *l, struct watch *w, uint32_t events) sg_must_check;
void loop_remove(struct loop *l, struct watch *w);
/*
 * Removes and closes the descriptor. Closing alone would take it out only where no other process has
 * it (epoll(7)): one that passed it on a moment ago may not have closed its own, and what comes then
 * would be told to memory that was given back.
 */
void loop_close(struct loop *l, struct watch *w);

/* Sets or moves. False when max_timers are set already. */
bool loop_timer_set(struct loop *l, struct timer *t, mono_t due);
void loop_timer_cancel(struct loop *l, struct timer *t);

/* The time at the start of this turn: one clock read a turn. */
mono_t loop_now(const struct loop *l);

/* Runs until loop_stop. Returns 0, or -errno when epoll itself fails. */
int loop_run(struct loop *l) sg_must_check;
void loop_stop(struct loop *l);

/* The next turn does not wait: there is work left over from this one. */
void loop_poke(struct loop *l);

/* Called once at the end of every turn, after all events; for work batched over a turn. */
void loop_set_after_turn(struct loop *l, void (*fn)(void *ctx), void *ctx);

extern const int loop_syscalls[];

#endif
