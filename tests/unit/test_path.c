/* SPDX-License-Identifier: Apache-2.0 */
/* demands.md 46: path rules hold for the raw and for every decoded form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/path.h"

static bool every(const char *pattern, const char *path)
{
	char *patterns[] = {(char *)pattern, NULL};

	return path_matches_every_reading(patterns, path);
}

static bool some(const char *pattern, const char *path)
{
	char *patterns[] = {(char *)pattern, NULL};

	return path_matches_some_reading(patterns, path);
}

static void test_plain_patterns(void **state)
{
	assert_true(every("/", "/"));
	assert_true(every("*", "/anything/at/all"));
	assert_true(every("/a/*", "/a/"));
	assert_true(every("/a/*", "/a/b/c"));
	assert_false(every("/a/*", "/a"));
	assert_false(every("/a", "/a/"));
	assert_false(every("/a", "/ab"));
	assert_true(every("/a*c", "/abcabc"));
	assert_false(every("/a*c", "/abcab"));
	assert_true(every("*/info/refs", "/x/y/info/refs"));
	assert_true(every("/a/**/b", "/a/x/b"));
	assert_true(every("/A", "/A"));
	assert_false(every("/A", "/a"));
}

static void test_queries(void **state)
{
	assert_true(every("/a", "/a?x=/b"));
	assert_true(every("/a?x=*", "/a?x=1"));
	assert_false(every("/a?x=*", "/a"));
	assert_false(every("/a?x=1", "/a?x=1&y=2"));
	/* an encoded question mark is part of the path */
	assert_false(every("/a?x=1", "/a%3fx=1"));
	assert_false(every("/a", "/a%3fx=1"));
	/* dots in a query mean nothing */
	assert_true(every("/a/*", "/a/b?u=/../c"));
}

static void test_readings_that_leave(void **state)
{
	static const char *const leaving[] = {
		"/a/..",     "/a/../b",	     "/a/%2e%2e/b", "/a/.%2e/b",       "/a/%2E./b",
		"/a%2f../b", "/a/..%2fb",    "/a/..%252fb", "/a/%252e%252e/b", "/a/%25252e./b",
		"/a/..\\b",  "/a/..%5cb",    "/a/..;/b",    "/a/..;x=1/b",     "/a/;/../../b",
		"/a//../b",  "/a/b/../../c", "/a/./../b",   "/a/%2e/../b",     "/a/b%2f..%2f..%2fc",
		"/a/%00",    "/a/b%00/../c", "/a/..%3b/b",  "/a\\..\\b",       "/a/%2525252525252e",
	};

	for (size_t i = 0; i < sizeof(leaving) / sizeof(leaving[0]); i++) {
		if (every("/a/*", leaving[i]))
			fail_msg("%s was taken to lie below /a", leaving[i]);
	}
}

static void test_readings_that_stay(void **state)
{
	assert_true(every("/a/*", "/a/b/../c"));
	assert_true(every("/a/*", "/a/./b"));
	assert_true(every("/a/*", "/a/@scope%2fname"));
	assert_true(every("/a/*", "/a/b%20c"));
	assert_true(every("/a/*", "/a/100%"));
	assert_true(every("/a/*", "/a/%zz%2"));
	assert_true(every("/a/*", "/a/...;v=1/b"));
	assert_true(every("/a/*", "/a/..b"));
}

static void test_a_deny_holds_for_some_reading(void **state)
{
	assert_true(some("/admin*", "/admin"));
	assert_true(some("/admin*", "/%61dmin"));
	assert_true(some("/admin*", "/%2561dmin"));
	assert_true(some("/admin*", "//admin"));
	assert_true(some("/admin*", "/x/../admin"));
	assert_true(some("/admin*", "/x/..;/admin"));
	assert_true(some("/admin*", "/x\\..\\admin"));
	assert_true(some("/admin*", "/admin;x"));
	assert_false(some("/admin*", "/x/admin"));
	assert_false(some("/admin*", "/"));
}

/* What cannot be read is never allowed and always denied. */
static void test_the_unreadable(void **state)
{
	char longest[PATH_MAX_OCTETS + 2];

	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[PATH_MAX_OCTETS + 1] = 0;
	assert_false(every("*", longest));
	assert_true(some("/nothing", longest));
	longest[PATH_MAX_OCTETS] = 0;
	assert_true(every("*", longest));
	assert_false(every("*", ""));
	assert_false(every("*", "http://x/"));
	assert_false(every("*", "*"));
	assert_true(some("/nothing", "*"));
	assert_false(every("*", "/%00"));
	assert_true(some("/nothing", "/%2525252541"));
}

/* Each reading may match another pattern: all of them are what the rule allows. */
static void test_several_patterns(void **state)
{
	char *patterns[] = {"/a/*", "/b/*", NULL};

	assert_true(path_matches_every_reading(patterns, "/a/../b/c"));
	assert_false(path_matches_every_reading(patterns, "/a/../c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_patterns),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_readings_that_leave),
		cmocka_unit_test(test_readings_that_stay),
		cmocka_unit_test(test_a_deny_holds_for_some_reading),
		cmocka_unit_test(test_the_unreadable),
		cmocka_unit_test(test_several_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
