/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/since.h"

static const int64_t now = INT64_C(1764439200000); /* 2025-11-29T18:00:00Z */

static void times_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
		{"90s", now - 90 * 1000},
		{"10m", now - 10 * 60 * 1000},
		{"2h", now - 2 * 3600 * 1000},
		{"1d", now - INT64_C(86400) * 1000},
		{"0s", now},
		{"999999999d", 0},
		{"2025-11-29T18:00:00Z", now},
		{"2025-11-29t18:00:00z", now},
		{"2025-11-29T18:00:00.5Z", now + 500},
		{"2025-11-29T18:00:00.123456Z", now + 123},
		{"2025-11-29T19:00:00+01:00", now},
		{"2025-11-29T12:30:00-05:30", now},
		{"1970-01-01T00:00:00Z", 0},
	};
	struct err e;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		int64_t ms = -1;

		if (since_parse(rows[i].text, now, &ms, &e))
			fail_msg("%s", e.text);
		assert_int_equal(ms, rows[i].ms);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"m",
		"10",
		"10x",
		"10 m",
		"-10m",
		"10mm",
		"1234567890s",
		"yesterday",
		"2025-11-29",
		"2025-11-29T18:00:00",
		"2025-11-29 18:00:00Z",
		"2025-11-29T18:00Z",
		"2025-11-31T18:00:00Z",
		"2025-13-01T18:00:00Z",
		"2025-11-29T24:00:00Z",
		"2025-11-29T18:60:00Z",
		"2025-11-29T18:00:00.Z",
		"2025-11-29T18:00:00+0100",
		"2025-11-29T18:00:00+24:00",
		"2025-11-29T18:00:00Zulu",
		"25-11-29T18:00:00Z",
	};
	struct err e;
	int64_t ms;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		if (since_parse(rows[i], now, &ms, &e) == 0)
			fail_msg("%s was taken", rows[i]);
		assert_non_null(strstr(e.text, "2026-11-29T18:00:00Z"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_read),
		cmocka_unit_test(what_is_no_time_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
