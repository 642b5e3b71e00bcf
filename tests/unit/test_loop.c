/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/loop.h"

enum { TIMERS = 500 };

static struct loop *loop;
static int n_expired;
static mono_t last_due;

static int make(void **state)
{
	loop = loop_new(TIMERS);
	n_expired = 0;
	last_due = (mono_t){0};
	return loop ? 0 : -1;
}

static int drop(void **state)
{
	loop_free(loop);
	return 0;
}

static void expire_in_order(struct timer *t)
{
	assert_false(mono_before(t->due, last_due));
	last_due = t->due;
	if (++n_expired == TIMERS / 2)
		loop_stop(loop);
}

static void timers_expire_in_order_and_cancelled_ones_never(void **state)
{
	static struct timer timer[TIMERS];
	mono_t now = loop_now(loop);

	srand(7);
	for (int i = 0; i < TIMERS; i++) {
		timer[i] = (struct timer){.expired = expire_in_order};
		assert_true(loop_timer_set(loop, &timer[i], mono_add_ms(now, rand() % 50)));
	}
	for (int i = 0; i < TIMERS; i += 3)
		assert_true(loop_timer_set(loop, &timer[i], mono_add_ms(now, rand() % 50)));
	for (int i = 0; i < TIMERS; i += 2)
		loop_timer_cancel(loop, &timer[i]);
	assert_int_equal(loop_run(loop), 0);
	for (int i = 0; i < TIMERS; i++)
		assert_int_equal(timer[i].slot, 0);
}

static void a_timer_too_many_is_refused(void **state)
{
	static struct timer timer[TIMERS + 1];

	for (int i = 0; i < TIMERS; i++)
		assert_true(loop_timer_set(loop, &timer[i], mono_add_ms(loop_now(loop), 1000)));
	assert_false(loop_timer_set(loop, &timer[TIMERS], mono_add_ms(loop_now(loop), 1000)));
	assert_true(loop_timer_set(loop, &timer[0], mono_add_ms(loop_now(loop), 5)));
}

static struct watch first, second;
static int n_called;

/* Whichever is called first takes the other away: a batch must not call what was removed in it. */
static void remove_other(struct watch *w, uint32_t events)
{
	n_called++;
	loop_close(loop, w == &first ? &second : &first);
	loop_stop(loop);
}

static void a_watch_removed_in_the_batch_is_not_called(void **state)
{
	int a[2], b[2];

	assert_int_equal(pipe(a), 0);
	assert_int_equal(pipe(b), 0);
	first = second = (struct watch){.ready = remove_other};
	n_called = 0;
	assert_int_equal(loop_add(loop, &first, a[0], EPOLLIN), 0);
	assert_int_equal(loop_add(loop, &second, b[0], EPOLLIN), 0);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_called, 1);
	loop_close(loop, &first);
	loop_close(loop, &second);
	close(a[1]);
	close(b[1]);
}

static int turns;

static void must_not_be_called(struct watch *w, uint32_t events)
{
	n_called++;
}

static void stop(struct timer *t)
{
	loop_stop(loop);
}

/* As of a socket that another process has passed on and not closed yet. */
static void a_watch_of_a_shared_descriptor_is_not_called(void **state)
{
	struct timer t = {.expired = stop};
	int pipes[2], other;

	assert_int_equal(pipe(pipes), 0);
	other = dup(pipes[0]);
	first = (struct watch){.ready = must_not_be_called};
	assert_int_equal(loop_add(loop, &first, pipes[0], EPOLLIN), 0);
	n_called = 0;
	loop_close(loop, &first);
	assert_int_equal(first.fd, -1);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_true(loop_timer_set(loop, &t, mono_now()));
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_called, 0);
	close(other);
	close(pipes[1]);
}

static void count_turns(void *ctx)
{
	if (++turns < 3)
		loop_poke(loop);
	else
		loop_stop(loop);
}

static void a_poked_loop_does_not_wait(void **state)
{
	mono_t begin = mono_now();
	struct timer far = {.expired = expire_in_order};

	turns = 0;
	loop_set_after_turn(loop, count_turns, NULL);
	assert_true(loop_timer_set(loop, &far, mono_add_ms(begin, 1)));
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(turns, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(timers_expire_in_order_and_cancelled_ones_never,
						make, drop),
		cmocka_unit_test_setup_teardown(a_timer_too_many_is_refused, make, drop),
		cmocka_unit_test_setup_teardown(a_watch_removed_in_the_batch_is_not_called, make,
						drop),
		cmocka_unit_test_setup_teardown(a_watch_of_a_shared_descriptor_is_not_called, make,
						drop),
		cmocka_unit_test_setup_teardown(a_poked_loop_does_not_wait, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
