/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "broker/http2_limit.h"

static unsigned noise_until_full(struct http2_limit *l)
{
	unsigned n = 0;

	while (http2_limit_count_noise(l, 1))
		n++;
	return n;
}

static void test_a_burst_and_then_a_rate(void **state)
{
	struct http2_limit l = {.at = {0}};

	assert_int_equal(noise_until_full(&l), HTTP2_NOISE_BURST);
	http2_limit_tick(&l, mono_add_ms(l.at, 1000));
	/* The frame that was over the limit was counted as well. */
	assert_int_equal(noise_until_full(&l), HTTP2_NOISE_PER_S - 1);
	http2_limit_tick(&l, mono_add_ms(l.at, 3600 * 1000));
	assert_int_equal(noise_until_full(&l), HTTP2_NOISE_BURST);
}

static void test_parts_of_a_millisecond_are_not_lost(void **state)
{
	struct http2_limit l = {.at = {0}};

	assert_int_equal(noise_until_full(&l), HTTP2_NOISE_BURST);
	for (int64_t us = 0; us <= 1000 * 1000; us += 300)
		http2_limit_tick(&l, (mono_t){us * 1000});
	assert_int_equal(l.at.ns / 1000000, 999);
	assert_int_equal(noise_until_full(&l), HTTP2_NOISE_PER_S - 2);
}

static void test_work_pays_for_noise_and_never_for_resets(void **state)
{
	struct http2_limit l = {.at = {0}};
	unsigned n = 0;

	for (int i = 0; i < 100000; i++) {
		assert_true(http2_limit_count_noise(&l, 4));
		http2_limit_pay(&l, 4);
	}
	while (http2_limit_count_reset(&l)) {
		http2_limit_pay(&l, 1000);
		n++;
	}
	assert_int_equal(n, HTTP2_RESET_BURST);
	http2_limit_tick(&l, mono_add_ms(l.at, 1000));
	assert_true(http2_limit_count_reset(&l));
}

static void test_time_that_goes_back_gives_nothing(void **state)
{
	struct http2_limit l = {.at = {5000000000}};

	assert_int_equal(noise_until_full(&l), HTTP2_NOISE_BURST);
	http2_limit_tick(&l, (mono_t){0});
	assert_false(http2_limit_count_noise(&l, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_burst_and_then_a_rate),
		cmocka_unit_test(test_parts_of_a_millisecond_are_not_lost),
		cmocka_unit_test(test_work_pays_for_noise_and_never_for_resets),
		cmocka_unit_test(test_time_that_goes_back_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
