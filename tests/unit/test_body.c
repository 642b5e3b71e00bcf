/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "broker/body.h"

static void what_goes_in_comes_out(void **state)
{
	struct body b = {0};
	uint8_t octets[BODY_ROOM], in = 0, out = 0;
	uint64_t passed = 0;

	srandom(1);
	for (unsigned i = 0; i < 2000; i++) {
		size_t n = (size_t)random() % (body_room(&b) + 1);
		struct span piece;

		for (size_t k = 0; k < n; k++)
			octets[k] = in++;
		assert_true(body_put(&b, span_of(octets, n)));
		piece = body_peek(&b);
		n = piece.n ? (size_t)random() % (piece.n + 1) : 0;
		for (size_t k = 0; k < n; k++)
			assert_int_equal(piece.p[k], out++);
		body_take(&b, n);
		passed += n;
	}
	assert_true(b.passed == passed && passed > 100 * BODY_ROOM);
	body_free(&b);
}

static void a_body_is_bounded(void **state)
{
	static uint8_t octets[BODY_ROOM + 1];
	struct body b = {0};

	assert_false(body_put(&b, span_of(octets, BODY_ROOM + 1)));
	assert_int_equal(b.n, 0);
	assert_true(body_put(&b, span_of(octets, BODY_ROOM)));
	assert_int_equal(body_room(&b), 0);
	assert_false(body_put(&b, span_of(octets, 1)));
	body_take(&b, 10);
	assert_int_equal(body_room(&b), 10);
	assert_true(body_put(&b, span_of(octets, 10)));
	assert_int_equal(body_peek(&b).n, BODY_ROOM - 10);
	body_take(&b, BODY_ROOM - 10);
	assert_int_equal(body_peek(&b).n, 10);
	body_free(&b);
}

static void an_empty_body_holds_no_memory(void **state)
{
	struct body b = {0};

	assert_true(body_put(&b, span_of("abc", 3)));
	assert_non_null(b.ring);
	body_take(&b, 3);
	assert_null(b.ring);
	assert_int_equal(body_peek(&b).n, 0);
	assert_false(body_is_done(&b));
	b.ended = true;
	assert_true(body_is_done(&b));
	body_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(a_body_is_bounded),
		cmocka_unit_test(an_empty_body_holds_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
