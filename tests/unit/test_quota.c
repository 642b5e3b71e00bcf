/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "gate/quota.h"

static uint64_t host(unsigned i)
{
	struct addr a = {{(uint8_t)(i >> 8), (uint8_t)i}};

	return quota_host(NULL, &a);
}

static void without_a_limit_all_may_pass(void **state)
{
	struct quota *q = quota_new();
	struct limits l = {0};
	enum reason why;

	quota_spend(q, &l, host(1), 1u << 30);
	assert_true(quota_left(q, &l, host(1), &why) == UINT64_MAX);
	quota_free(q);
}

static void the_limit_in_all_is_exact(void **state)
{
	struct quota *q = quota_new();
	struct limits l = {.bytes_out = 1000};
	enum reason why;

	quota_spend(q, &l, host(1), 400);
	quota_spend(q, &l, host(2), 599);
	assert_int_equal(quota_left(q, &l, host(3), &why), 1);
	quota_spend(q, &l, host(3), 1);
	assert_int_equal(quota_left(q, &l, host(3), &why), 0);
	assert_int_equal(why, REASON_LIMIT_BYTES);
	quota_free(q);
}

static void the_limit_per_host_is_its_own(void **state)
{
	struct quota *q = quota_new();
	struct limits l = {.bytes_out_per_host = 100};
	enum reason why;

	quota_spend(q, &l, host(1), 100);
	assert_int_equal(quota_left(q, &l, host(1), &why), 0);
	assert_int_equal(why, REASON_LIMIT_BYTES_PER_HOST);
	assert_int_equal(quota_left(q, &l, host(2), &why), 100);
	quota_free(q);
}

/* More hosts than places: some share a count, so none may send more than its limit. */
static void no_host_gets_more_however_many_there_are(void **state)
{
	struct quota *q = quota_new();
	struct limits l = {.bytes_out_per_host = 10};
	enum reason why;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 20000; i++)
			if (quota_left(q, &l, host(i), &why) >= 10)
				quota_spend(q, &l, host(i), 10);
	for (unsigned i = 0; i < 20000; i++)
		assert_int_equal(quota_left(q, &l, host(i), &why), 0);
	quota_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_all_may_pass),
		cmocka_unit_test(the_limit_in_all_is_exact),
		cmocka_unit_test(the_limit_per_host_is_its_own),
		cmocka_unit_test(no_host_gets_more_however_many_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
