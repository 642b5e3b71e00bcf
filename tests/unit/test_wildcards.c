/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "gate/wildcards.h"

static struct wildcards *w;
static mono_t now;

static int setup(void **state)
{
	w = wildcards_new();
	now = (mono_t){1};
	return w ? 0 : -1;
}

static int teardown(void **state)
{
	wildcards_free(w);
	return 0;
}

static bool admit(const char *wildcard, const char *name, uint32_t per_minute)
{
	struct name n;

	assert_int_equal(name_parse_ascii(name, strlen(name), &n), NAME_OK);
	return wildcards_admit(w, span_of_string(wildcard), &n, per_minute, now);
}

static bool admit_nth(const char *wildcard, int i, uint32_t per_minute)
{
	char name[300];

	snprintf(name, sizeof(name), "n%d.%s", i, wildcard);
	return admit(wildcard, name, per_minute);
}

static void distinct_names_a_minute_are_limited(void **state)
{
	for (int i = 0; i < 64; i++)
		assert_true(admit_nth("example.com", i, 64));
	assert_false(admit_nth("example.com", 64, 64));
	assert_true(admit_nth("example.com", 7, 64)); /* known in this minute */
	assert_true(admit_nth("example.org", 64, 64));
	now = mono_add_ms(now, 59999);
	assert_false(admit_nth("example.com", 64, 64));
	now = mono_add_ms(now, 1);
	assert_true(admit_nth("example.com", 64, 64));
}

static void a_new_minute_starts_from_nothing(void **state)
{
	for (int i = 0; i < 64; i++)
		assert_true(admit_nth("example.com", i, 64));
	now = mono_add_ms(now, 60000);
	for (int i = 0; i < 63; i++)
		assert_true(admit_nth("example.com", i + 1, 64));
	assert_true(admit_nth("example.com", 100, 64));
	assert_false(admit_nth("example.com", 0, 64));
}

/* However many names are tried: never more than the limit, with limits beyond a bucket too. */
static void the_limit_holds_against_many_names(void **state)
{
	unsigned admitted = 0;

	for (int i = 0; i < 100000; i++)
		admitted += admit_nth("example.com", i, 1000);
	assert_int_equal(admitted, 1000);
}

static void more_wildcards_than_slots_do_not_lift_the_limit(void **state)
{
	char wildcard[64];
	unsigned admitted = 0;

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < WILDCARDS_MAX + 10; i++) {
			snprintf(wildcard, sizeof(wildcard), "w%d.example", i);
			admitted += admit_nth(wildcard, round, 2);
		}
	assert_int_equal(admitted, 2 * WILDCARDS_MAX);
	now = mono_add_ms(now, 60000);
	assert_true(admit("new.example", "a.new.example", 2));
}

static struct dns_wildcard seen;
static char first[NAME_MAX_OCTETS + 1];

static void keep(void *ctx, const struct dns_wildcard *s)
{
	if (strcmp(s->wildcard->s, ctx) != 0)
		return;
	seen = *s;
	strcpy(first, s->names[0].s);
}

static void the_first_names_are_shown(void **state)
{
	for (int i = 0; i < 70; i++) {
		admit_nth("example.com", i, 100);
		admit_nth("example.com", 0, 100);
	}
	admit_nth("example.org", 0, 100);
	wildcards_each(w, keep, "example.com");
	assert_string_equal(first, "n0.example.com");
	assert_int_equal(seen.n_names, WILDCARD_NAMES_SHOWN);
	assert_int_equal(seen.seen, 70);
	now = mono_add_ms(now, 60000);
	admit_nth("example.com", 0, 100); /* not a new one */
	wildcards_each(w, keep, "example.com");
	assert_int_equal(seen.seen, 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(distinct_names_a_minute_are_limited, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_new_minute_starts_from_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(the_limit_holds_against_many_names, setup,
						teardown),
		cmocka_unit_test_setup_teardown(more_wildcards_than_slots_do_not_lift_the_limit,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_names_are_shown, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
