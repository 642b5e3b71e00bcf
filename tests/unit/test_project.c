/* SPDX-License-Identifier: Apache-2.0 */
/* What a working directory says of its project, also when whoever wrote it means harm. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/rule.h"
#include "sandbox/settings/project.h"

static char base[] = "/tmp/sandgate-test-project-XXXXXX";
static char path[PATH_MAX];

static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int make_base(void **state)
{
	umask(022);
	return mkdtemp(base) && mkdir(at("home"), 0700) == 0 && mkdir(at("home/p"), 0755) == 0 &&
			       mkdir(at("home/p/a"), 0755) == 0 &&
			       mkdir(at("home/p/a/b"), 0755) == 0
		       ? 0
		       : -1;
}

static int remove_base(void **state)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

/* What is found from home/p/a/b: 0, -ENOENT, or -1 with the message. */
static int find(struct project_file *out, struct err *e)
{
	char home[PATH_MAX], cwd[PATH_MAX];

	strcpy(home, at("home"));
	strcpy(cwd, at("home/p/a/b"));
	return project_find(cwd, home, out, e);
}

static void assert_found(const char *name, const char *text)
{
	struct project_file f;
	struct err e;
	int rc = find(&f, &e);

	if (rc)
		fail_msg("%s: not found (%d)", name, rc);
	assert_string_equal(f.path, at(name));
	assert_string_equal(f.text.p, text);
	project_free(&f);
}

static void assert_refused(const char *says)
{
	struct project_file f;
	struct err e;

	assert_int_equal(find(&f, &e), -1);
	if (!strstr(e.text, says) || !strstr(e.text, "--no-project"))
		fail_msg("%s", e.text);
	project_free(&f);
}

static void assert_none(void)
{
	struct project_file f;
	struct err e;

	assert_int_equal(find(&f, &e), -ENOENT);
}

static void the_nearest_file_is_found(void **state)
{
	assert_none();
	put("home/p/sandgate.yaml", "network: deny\n");
	assert_found("home/p/sandgate.yaml", "network: deny\n");
	put("home/p/a/b/sandgate.yaml", "dns: off\n");
	assert_found("home/p/a/b/sandgate.yaml", "dns: off\n");
	unlink(at("home/p/a/b/sandgate.yaml"));
	unlink(at("home/p/sandgate.yaml"));
}

static void the_home_itself_is_no_project(void **state)
{
	put("home/sandgate.yaml", "network: any\n");
	assert_none();
	unlink(at("home/sandgate.yaml"));
	put("sandgate.yaml", "network: any\n");
	assert_none();
	unlink(at("sandgate.yaml"));
}

static void a_folder_of_another_s_ends_the_search(void **state)
{
	if (geteuid() != 0)
		skip();
	put("home/p/sandgate.yaml", "network: any\n");
	assert_int_equal(chown(at("home/p/a"), 1234, 1234), 0);
	assert_none();
	assert_int_equal(chown(at("home/p/a"), 0, 0), 0);
	unlink(at("home/p/sandgate.yaml"));
}

static void a_file_that_others_have_a_hand_in_is_refused(void **state)
{
	put("real.yaml", "network: any\n");
	assert_int_equal(symlink("../../../real.yaml", at("home/p/a/sandgate.yaml")), 0);
	assert_refused("it is a link");
	unlink(at("home/p/a/sandgate.yaml"));
	assert_int_equal(symlink("nowhere", at("home/p/a/sandgate.yaml")), 0);
	assert_refused("it is a link");
	unlink(at("home/p/a/sandgate.yaml"));
	unlink(at("real.yaml"));
	put("home/p/a/sandgate.yaml", "network: any\n");
	chmod(at("home/p/a/sandgate.yaml"), 0646);
	assert_refused("everyone may write it");
	unlink(at("home/p/a/sandgate.yaml"));
	assert_int_equal(mkfifo(at("home/p/a/sandgate.yaml"), 0600), 0);
	assert_refused("no regular file");
	unlink(at("home/p/a/sandgate.yaml"));
	assert_int_equal(mkdir(at("home/p/a/sandgate.yaml"), 0700), 0);
	assert_refused("no regular file");
	rmdir(at("home/p/a/sandgate.yaml"));
}

static void a_file_of_another_s_is_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	put("home/p/a/sandgate.yaml", "network: any\n");
	assert_int_equal(chown(at("home/p/a/sandgate.yaml"), 1234, 0), 0);
	assert_refused("it is not yours");
	assert_int_equal(chown(at("home/p/a/sandgate.yaml"), 0, 1234), 0);
	chmod(at("home/p/a/sandgate.yaml"), 0660);
	assert_refused("a group may write it");
	unlink(at("home/p/a/sandgate.yaml"));
}

static void a_file_beyond_all_measure_is_refused(void **state)
{
	put("home/p/a/sandgate.yaml", "");
	assert_int_equal(truncate(at("home/p/a/sandgate.yaml"), PROJECT_FILE_MAX + 1), 0);
	assert_refused("larger than 1024 KiB");
	unlink(at("home/p/a/sandgate.yaml"));
}

static void what_the_file_names_is_known(void **state)
{
	static const struct {
		const char *text;
		bool network;
	} rows[] = {
		{"network: deny\n", true},
		{"allow: [network.example]\n", false},
		{"allow:\n  - network\n", false},
		{"dns: off\nnetwork: any\n", true},
		{"{\"network\": \"any\"}", true},
		{"", false},
		{"[network]", false},
		{"network: [", false},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct project_file f;
		struct err e;

		put("home/p/sandgate.yaml", rows[i].text);
		assert_int_equal(find(&f, &e), 0);
		assert_int_equal(f.names_network, rows[i].network);
		project_free(&f);
	}
	unlink(at("home/p/sandgate.yaml"));
}

/* ---- languages ---- */

static void assert_languages(const char *folder, const char *wanted)
{
	char **got = project_languages(catalogue_builtin(), at(folder)), list[256] = "";

	assert_non_null(got);
	for (char **id = got; *id; id++) {
		strcat(list, *list ? " " : "");
		strcat(list, *id);
	}
	assert_string_equal(list, wanted);
	string_list_free(got);
}

static void languages_are_told_by_names_of_files(void **state)
{
	assert_languages("home/p", "");
	put("home/p/Cargo.toml", "");
	assert_languages("home/p", "install:rust");
	put("home/p/package.json", "");
	put("home/p/App.csproj", "");
	put("home/p/mycargo.toml", "");
	assert_languages("home/p", "install:dotnet install:node install:rust");
	unlink(at("home/p/Cargo.toml"));
	unlink(at("home/p/package.json"));
	unlink(at("home/p/App.csproj"));
	unlink(at("home/p/mycargo.toml"));
	assert_languages("home/p/not-there", "");
}

static void only_regular_files_tell(void **state)
{
	put("home/real", "");
	assert_int_equal(symlink("../real", at("home/p/Cargo.toml")), 0);
	assert_int_equal(mkfifo(at("home/p/go.mod"), 0600), 0);
	assert_int_equal(mkdir(at("home/p/package.json"), 0700), 0);
	assert_int_equal(symlink("../real", at("home/p/App.csproj")), 0);
	assert_languages("home/p", "");
	unlink(at("home/p/Cargo.toml"));
	unlink(at("home/p/go.mod"));
	rmdir(at("home/p/package.json"));
	unlink(at("home/p/App.csproj"));
	unlink(at("home/real"));
}

/* A folder without end costs what PROJECT_NAMES_MAX names cost, and hides no plain name. */
static void a_huge_folder_is_read_in_part(void **state)
{
	char name[64];

	assert_int_equal(mkdir(at("home/huge"), 0700), 0);
	for (int i = 0; i < 2 * PROJECT_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "home/huge/%d", i);
		put(name, "");
	}
	put("home/huge/Cargo.toml", "");
	assert_languages("home/huge", "install:rust");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_file_is_found),
		cmocka_unit_test(the_home_itself_is_no_project),
		cmocka_unit_test(a_folder_of_another_s_ends_the_search),
		cmocka_unit_test(a_file_that_others_have_a_hand_in_is_refused),
		cmocka_unit_test(a_file_of_another_s_is_refused),
		cmocka_unit_test(a_file_beyond_all_measure_is_refused),
		cmocka_unit_test(what_the_file_names_is_known),
		cmocka_unit_test(languages_are_told_by_names_of_files),
		cmocka_unit_test(only_regular_files_tell),
		cmocka_unit_test(a_huge_folder_is_read_in_part),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
