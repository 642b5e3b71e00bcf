/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "broker/authorities.h"
#include "tls_rig.h"

enum { DAY = 24 * 3600, DAYS = 80 };

/* The clock of this program: in the place of libc's. */
static time_t ahead;

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec + ahead;
	return t.tv_sec + ahead;
}

static int cover(struct authorities *all, const char *a, const char *b)
{
	char *const names[] = {(char *)a, (char *)b, NULL};
	struct err e;

	return authorities_cover(all, names, &e);
}

static struct authority *find(const struct authorities *all, const char *s)
{
	struct name name = name_of(s);

	return authorities_find(all, &name);
}

static bool may_sign(const struct authorities *all, const char *s)
{
	struct name name = name_of(s);
	struct leaf leaf;
	struct err e;

	if (authority_find_leaf(authorities_find(all, &name), &name, &leaf, &e))
		return false;
	X509_free(leaf.certificate);
	return true;
}

static size_t count(const struct authorities *all)
{
	char *text = authorities_certificates(all), *at = text;
	size_t n = 0;

	while ((at = strstr(at, "BEGIN CERTIFICATE")) != NULL) {
		n++;
		at++;
	}
	free(text);
	return n;
}

static struct authorities *make(void)
{
	ahead = 0;
	return authorities_new("box", DAYS);
}

static void one_more_is_made_for_what_none_covers(void **state)
{
	struct authorities *all = make();

	assert_null(find(all, "a.example"));
	assert_int_equal(count(all), 0);
	assert_int_equal(cover(all, "a.example", "*.b.example"), 1);
	assert_int_equal(cover(all, "below.a.example", "x.b.example"), 0);
	assert_int_equal(cover(all, "a.example", "c.example"), 1);
	assert_int_equal(count(all), 2);
	assert_ptr_not_equal(find(all, "a.example"), find(all, "c.example"));
	assert_true(may_sign(all, "c.example") && may_sign(all, "a.b.example"));
	assert_false(may_sign(all, "d.example"));
	authorities_free(all);
}

static void any_name_needs_one_and_no_more(void **state)
{
	struct authorities *all = make();
	struct err e;

	assert_int_equal(cover(all, "a.example", NULL), 1);
	assert_int_equal(authorities_cover(all, NULL, &e), 1);
	assert_int_equal(authorities_cover(all, NULL, &e), 0);
	assert_int_equal(cover(all, "z.example", NULL), 0);
	assert_true(may_sign(all, "z.example"));
	authorities_free(all);
}

static void a_name_that_is_none_changes_nothing(void **state)
{
	struct authorities *all = make();

	assert_int_equal(cover(all, "a.example", NULL), 1);
	assert_int_equal(cover(all, "not a host", NULL), -1);
	assert_int_equal(count(all), 1);
	authorities_free(all);
}

/* The old one signs as long as it may: it is what clients that run know. */
static void it_is_followed_before_it_ends(void **state)
{
	struct authorities *all = make();
	struct authority *first;

	assert_int_equal(cover(all, "a.example", NULL), 1);
	first = find(all, "a.example");
	ahead = 69L * DAY;
	assert_int_equal(cover(all, "a.example", NULL), 0);
	ahead = 71L * DAY;
	assert_int_equal(cover(all, "a.example", NULL), 1);
	assert_int_equal(cover(all, "a.example", NULL), 0);
	assert_int_equal(count(all), 2);
	assert_ptr_equal(find(all, "a.example"), first);
	ahead = 81L * DAY;
	assert_ptr_not_equal(find(all, "a.example"), first);
	assert_true(may_sign(all, "a.example"));
	assert_int_equal(cover(all, "b.example", NULL), 1);
	assert_int_equal(count(all), 2);
	authorities_free(all);
	ahead = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_more_is_made_for_what_none_covers),
		cmocka_unit_test(any_name_needs_one_and_no_more),
		cmocka_unit_test(a_name_that_is_none_changes_nothing),
		cmocka_unit_test(it_is_followed_before_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
