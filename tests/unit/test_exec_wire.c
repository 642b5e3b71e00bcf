/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sandbox/control/exec_wire.h"

/* The texts as octets, their NULs written out, and how many of them are arguments. */
static bool parse(const char *octets, size_t n, uint32_t n_args, uint32_t n_env,
		  struct exec_request *out)
{
	static char text[4096];
	struct exec_hello h = {
		.magic = EXEC_MAGIC, .size = (uint32_t)n, .n_args = n_args, .n_env = n_env};

	memcpy(text, octets, n);
	return exec_request_parse(&h, text, n, out);
}

#define PARSE(octets, n_args, n_env, out) parse(octets, sizeof(octets), n_args, n_env, out)

static void a_request_is_taken_apart(void **state)
{
	struct exec_request r;

	assert_true(PARSE("/tmp\0ls\0-l\0\0A=b\0C=", 3, 2, &r));
	assert_string_equal(r.cwd, "/tmp");
	assert_string_equal(r.argv[0], "ls");
	assert_string_equal(r.argv[1], "-l");
	assert_string_equal(r.argv[2], "");
	assert_null(r.argv[3]);
	assert_string_equal(r.env[0], "A=b");
	assert_string_equal(r.env[1], "C=");
	assert_null(r.env[2]);
	exec_request_free(&r);
	assert_true(PARSE("\0true", 1, 0, &r));
	assert_string_equal(r.cwd, "");
	exec_request_free(&r);
}

static void what_is_not_as_announced_is_refused(void **state)
{
	struct exec_request r;

	assert_false(PARSE("", 1, 0, &r));
	assert_false(PARSE("\0ls", 2, 0, &r));
	assert_false(PARSE("\0ls", 0, 0, &r));
	assert_false(PARSE("\0ls\0more", 1, 0, &r));
	assert_false(PARSE("\0\0", 1, 0, &r));
	assert_false(PARSE("\0ls\0A", 1, 1, &r));
	assert_false(PARSE("\0ls\0=b", 1, 1, &r));
	assert_false(PARSE("\0ls", UINT32_MAX, 0, &r));
	assert_false(PARSE("\0ls", 1, UINT32_MAX, &r));
	/* The last text has no end. */
	assert_false(parse("\0ls", 3, 1, 0, &r));
	assert_false(parse("", 0, 1, 0, &r));
}

static void another_version_is_refused(void **state)
{
	struct exec_hello h = {.magic = EXEC_MAGIC + 1, .size = 4, .n_args = 1};
	char text[] = "\0ls";
	struct exec_request r;

	assert_false(exec_request_parse(&h, text, sizeof(text), &r));
	h.magic = EXEC_MAGIC;
	assert_true(exec_request_parse(&h, text, sizeof(text), &r));
	exec_request_free(&r);
	h.passed = 8;
	assert_false(exec_request_parse(&h, text, sizeof(text), &r));
	h.passed = 0;
	h.size = 5;
	assert_false(exec_request_parse(&h, text, sizeof(text), &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_taken_apart),
		cmocka_unit_test(what_is_not_as_announced_is_refused),
		cmocka_unit_test(another_version_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
