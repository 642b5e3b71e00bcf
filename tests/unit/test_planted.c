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

#include "sandbox/files/file_tables.h"
#include "sandbox/files/planted.h"

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

/* Where git reads another configuration and other hooks than those that are read-only. */
static void what_leads_git_elsewhere_is_told(void **state)
{
	struct planted p;
	char *line;

	planted_begin(&p, folder);
	touch(".git/commondir");
	touch(".git/config.worktree");
	line = planted_end(&p);
	assert_non_null(line);
	assert_non_null(strstr(line, "made .git/config.worktree, .git/commondir;"));
	free(line);
	unlink(".git/commondir");
	unlink(".git/config.worktree");
}

static void a_link_that_another_has_taken_the_place_of_is_told(void **state)
{
	struct planted p;
	char *line;

	assert_int_equal(symlink("harmless", "Jenkinsfile"), 0);
	planted_begin(&p, folder);
	assert_null(planted_end(&p));
	planted_begin(&p, folder);
	unlink("Jenkinsfile");
	assert_int_equal(symlink("other", "Jenkinsfile"), 0);
	line = planted_end(&p);
	assert_non_null(line);
	assert_non_null(strstr(line, "made Jenkinsfile;"));
	free(line);
	unlink("Jenkinsfile");
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
		cmocka_unit_test(what_leads_git_elsewhere_is_told),
		cmocka_unit_test(a_link_that_another_has_taken_the_place_of_is_told),
		cmocka_unit_test(every_protected_part_has_a_place),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
