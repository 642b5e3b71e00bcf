/* SPDX-License-Identifier: Apache-2.0 */
/* A message is for a terminal: what it quotes never moves the cursor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void no_control_is_left(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{"plain", "plain"},
		{"\x1b[2J\r\n\t\x7f", "?[2J????"},
		{"a\xc2\x9b"
		 "31m",
		 "a??31m"},				      /* CSI of C1, as UTF-8 */
		{"\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0"}, /* the ends of C1, and what follows */
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"cut\xc2", "cut\xc2"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct err e;

		assert_int_equal(err_set(&e, "%s", rows[i].text), -1);
		assert_string_equal(e.text, rows[i].shown);
	}
}

static void a_prefix_stands_before_it(void **state)
{
	struct err e;

	err_set(&e, "why");
	err_prefix(&e, "what\x1b %d", 7);
	assert_string_equal(e.text, "what? 7: why");
}

static void a_long_one_is_cut(void **state)
{
	char text[2 * ERR_MAX];
	struct err e;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	err_set(&e, "%s", text);
	err_prefix(&e, "%s", text);
	assert_int_equal(strlen(e.text), ERR_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_control_is_left),
		cmocka_unit_test(a_prefix_stands_before_it),
		cmocka_unit_test(a_long_one_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
