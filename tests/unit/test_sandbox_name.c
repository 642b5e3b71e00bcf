/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "sandbox/sandbox_name.h"

static void names_come_from_the_last_part_of_a_path(void **state)
{
	static const struct {
		const char *path, *name;
	} rows[] = {
		{"/home/u/project", "project"},
		{"/home/u/My Project!", "my-project"},
		{"/srv/a..b__c/", "a-b-c"},
		{"/srv/-x-", "x"},
		{"/srv/\xc3\xa9t\xc3\xa9", "t"},
		{"/srv/___", "sandbox"},
		{"/", "sandbox"},
		{"", "sandbox"},
		{"/srv/2026", "2026"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char out[SANDBOX_NAME_SIZE];

		assert_string_equal(sandbox_name_from_path(rows[i].path, out), rows[i].name);
		assert_true(sandbox_name_valid(out));
	}
}

static void a_long_name_is_cut_and_still_valid(void **state)
{
	char path[200] = "/srv/", out[SANDBOX_NAME_SIZE], numbered[SANDBOX_NAME_SIZE];

	memset(path + 5, 'a', 100);
	path[5 + SANDBOX_NAME_MAX - 1] = '.';
	sandbox_name_from_path(path, out);
	assert_int_equal(strlen(out), SANDBOX_NAME_MAX - 1);
	assert_true(sandbox_name_valid(out));

	path[5 + SANDBOX_NAME_MAX - 1] = 'a';
	sandbox_name_from_path(path, out);
	assert_int_equal(strlen(out), SANDBOX_NAME_MAX);
	sandbox_name_numbered(out, 1234, numbered);
	assert_int_equal(strlen(numbered), SANDBOX_NAME_MAX);
	assert_string_equal(numbered + SANDBOX_NAME_MAX - 5, "-1234");
	assert_true(sandbox_name_valid(numbered));
}

static void a_number_follows_a_hyphen(void **state)
{
	char out[SANDBOX_NAME_SIZE];

	assert_string_equal(sandbox_name_numbered("net", 2, out), "net-2");
	assert_true(sandbox_name_valid(out));
}

static void other_forms_and_words_of_commands_are_refused(void **state)
{
	static const char *const bad[] = {
		"",    "-a",	"A",	"a_b", "a.b",	 "a/b", "a b",	       "..",	     "ls",
		"net", "allow", "help", "run", "policy", "a\n", "caf\xc3\xa9", "permissions"};
	char long_name[SANDBOX_NAME_MAX + 2];

	for (size_t i = 0; i < sg_array_len(bad); i++)
		if (sandbox_name_valid(bad[i]))
			fail_msg("accepted: %s", bad[i]);
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[SANDBOX_NAME_MAX + 1] = 0;
	assert_false(sandbox_name_valid(long_name));
	long_name[SANDBOX_NAME_MAX] = 0;
	assert_true(sandbox_name_valid(long_name));
	assert_true(sandbox_name_valid("a"));
	assert_true(sandbox_name_valid("0-9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_from_the_last_part_of_a_path),
		cmocka_unit_test(a_long_name_is_cut_and_still_valid),
		cmocka_unit_test(a_number_follows_a_hyphen),
		cmocka_unit_test(other_forms_and_words_of_commands_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
