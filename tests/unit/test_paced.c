/* SPDX-License-Identifier: Apache-2.0 */
/* How often something may be done, and a socket that is read no more often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/paced.h"

static void so_many_at_once_and_then_evenly(void **state)
{
	struct pace p = {.at_once = 3, .per_s = 10};
	mono_t t = {1000000000};

	for (int i = 0; i < 3; i++)
		assert_true(pace_take(&p, t));
	assert_false(pace_take(&p, t));
	assert_int_equal(mono_ms_until(t, pace_due(&p)), 100);
	assert_false(pace_take(&p, mono_add_ms(t, 99)));
	t = mono_add_ms(t, 100);
	assert_true(pace_take(&p, t));
	assert_false(pace_take(&p, t));
	pace_give_back(&p);
	assert_true(pace_take(&p, t));
	/* However long nothing is done, no more may be done at once. */
	t = mono_add_ms(t, 3600 * 1000);
	for (int i = 0; i < 3; i++)
		assert_true(pace_take(&p, t));
	assert_false(pace_take(&p, t));
}

static struct loop *loop;
static unsigned taken;

static bool take(struct paced *p)
{
	char octet;

	if (recv(p->fd, &octet, 1, MSG_DONTWAIT) != 1)
		return false;
	taken++;
	return true;
}

static void stop_after_turn(void *ctx)
{
	loop_stop(loop);
}

static void turn(void)
{
	loop_poke(loop);
	assert_int_equal(loop_run(loop), 0);
}

/* A flood is read at the pace, all of it in the end; meanwhile the socket wakes nobody. */
static void flood(void **state)
{
	enum { MESSAGES = PACED_AT_ONCE + PACED_PER_S / 2 };
	struct paced p = {0};
	int pair[2];

	loop = loop_new(16);
	assert_non_null(loop);
	loop_set_after_turn(loop, stop_after_turn, NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(paced_begin(&p, loop, pair[0], take), 0);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(send(pair[1], "m", 1, 0), 1);
	turn();
	assert_int_equal(taken, PACED_AT_ONCE);
	assert_int_equal(p.watch.fd, -1);
	assert_true(p.rest.slot);
	while (taken < MESSAGES)
		turn();
	/* It waits for the next one as if nothing had been. */
	while (p.watch.fd < 0)
		turn();
	assert_int_equal(send(pair[1], "m", 1, 0), 1);
	while (taken < MESSAGES + 1)
		turn();
	close(pair[0]);
	close(pair[1]);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_at_once_and_then_evenly),
		cmocka_unit_test(flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
