/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "gate/answers.h"

static const mono_t start = {.ns = 1234567890123};

static struct packet datagram(uint16_t from, uint16_t to)
{
	return (struct packet){.proto = IP_UDP, .src_port = from, .dst_port = to, .dst = {{1, 2}}};
}

/* How many of `n` are told, `apart_us` between them. */
static unsigned told(struct answers *a, const struct packet *p, mono_t from, unsigned n,
		     int64_t apart_us)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += answers_take(a, p, (mono_t){from.ns + i * apart_us * 1000});
	return sum;
}

static void the_first_are_all_told(void **state)
{
	struct answers *a = answers_new();
	struct packet p = datagram(1000, 4242);

	assert_int_equal(told(a, &p, start, 1000, 0), ANSWERS_AT_ONCE);
	free(a);
}

static void one_that_is_slow_enough_is_always_told(void **state)
{
	struct answers *a = answers_new();
	struct packet p = datagram(1000, 4242);

	assert_int_equal(told(a, &p, start, 5000, 1000000 / ANSWERS_PER_S), 5000);
	free(a);
}

/* Ten thousand a second, for ten seconds. */
static void a_flood_is_told_at_the_rate(void **state)
{
	struct answers *a = answers_new();
	struct packet p = datagram(1000, 4242);
	unsigned sum = told(a, &p, start, 100000, 100);

	assert_in_range(sum, 10 * ANSWERS_PER_S, 10 * ANSWERS_PER_S + ANSWERS_AT_ONCE);
	free(a);
}

static void a_flood_keeps_no_answer_from_another(void **state)
{
	struct answers *a = answers_new();
	struct packet flood = datagram(1000, 4242), other = flood;

	assert_int_equal(told(a, &flood, start, 1000, 0), ANSWERS_AT_ONCE);
	other.src_port = 1001;
	assert_true(answers_take(a, &other, start));
	other = flood;
	other.dst_port = 4243;
	assert_true(answers_take(a, &other, start));
	other = flood;
	other.proto = IP_ICMP;
	assert_true(answers_take(a, &other, start));
	other = flood;
	other.dst.b[15] = 7;
	assert_true(answers_take(a, &other, start));
	free(a);
}

/* A scan: each exchange is a new one, and more of them than there are places. */
static void each_of_many_is_told(void **state)
{
	struct answers *a = answers_new();

	for (unsigned port = 1; port < 60000; port++) {
		struct packet p = datagram(1000, (uint16_t)port);

		assert_true(answers_take(a, &p, start));
	}
	free(a);
}

static void one_that_paused_is_told_as_before(void **state)
{
	struct answers *a = answers_new();
	struct packet p = datagram(1000, 4242);

	assert_int_equal(told(a, &p, start, 1000, 0), ANSWERS_AT_ONCE);
	assert_false(answers_take(a, &p, mono_add_ms(start, 4)));
	assert_int_equal(told(a, &p, mono_add_ms(start, 1000), 1000, 0), ANSWERS_AT_ONCE);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_are_all_told),
		cmocka_unit_test(one_that_is_slow_enough_is_always_told),
		cmocka_unit_test(a_flood_is_told_at_the_rate),
		cmocka_unit_test(a_flood_keeps_no_answer_from_another),
		cmocka_unit_test(each_of_many_is_told),
		cmocka_unit_test(one_that_paused_is_told_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
