/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/file_tables.h"
#include "sandbox/planted.h"

static char folder[] = "/tmp/sandgate-planted-XXXXXX";

static int make_folder(void **state)
{
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
	unlink("sandgate.yaml");
	unlink(".bashrc");
	unlink("harmless");
	rmdir(".git/hooks");
	rmdir(".git");
	return rmdir(folder);
}

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void what_was_there_or_is_harmless_is_not_told(void **state)
{
	struct planted p;

	touch(".bashrc");
	planted_begin(&p, folder);
	touch("harmless");
	assert_null(planted_end(&p));
}

static void what_runs_by_itself_and_is_new_is_told(void **state)
{
	struct planted p;
	char *line;

	planted_begin(&p, folder);
	touch("sandgate.yaml");
	assert_int_equal(mkdir(".git", 0755), 0);
	assert_int_equal(mkdir(".git/hooks", 0755), 0);
	line = planted_end(&p);
	assert_non_null(line);
	assert_non_null(strstr(line, "made .git, sandgate.yaml;"));
	free(line);
}

static void every_protected_part_has_a_place(void **state)
{
	assert_true(file_n_protected_parts <= PLANTED_PARTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_there_or_is_harmless_is_not_told),
		cmocka_unit_test(what_runs_by_itself_and_is_new_is_told),
		cmocka_unit_test(every_protected_part_has_a_place),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
