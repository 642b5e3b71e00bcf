/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose words count: whose hands they may be in, and how one is replaced. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/settings/trusted_file.h"

static void owner_and_mode_decide(void **state)
{
	const uid_t self = geteuid(), other = self + 1;
	const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		enum trusted_owner owner;
		const char *why;
	} rows[] = {
		{0, 0, 0644, OWNER_ROOT, NULL},
		{0, 0, 0664, OWNER_ROOT, NULL}, /* the group is root's */
		{0, 50, 0664, OWNER_ROOT, "a group may write it"},
		{0, 0, 0646, OWNER_ROOT, "everyone may write it"},
		{other, 0, 0600, OWNER_ROOT, "it does not belong to root"},
		{0, 0, 0644, OWNER_SYSTEM, NULL},
		{self, 0, 0644, OWNER_SYSTEM, NULL},
		{other, 0, 0644, OWNER_SYSTEM, "it is not yours"},
		{0, 0, 0646, OWNER_SYSTEM, "everyone may write it"},
		{self, 0, 0644, OWNER_PERSON, NULL},
		{self, 0, 0600, OWNER_ROOT_OR_PERSON, NULL},
		{0, 0, 0644, OWNER_ROOT_OR_PERSON, NULL},
		{other, 0, 0600, OWNER_PERSON, "it is not yours"},
		{other, 0, 0600, OWNER_ROOT_OR_PERSON, "it is not yours"},
		{self, 50, 0660, OWNER_PERSON, "a group may write it"},
		{self, 0, 0602, OWNER_PERSON, "everyone may write it"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct stat st = {.st_uid = rows[i].uid,
				  .st_gid = rows[i].gid,
				  .st_mode = S_IFREG | rows[i].mode};
		const char *why = trusted_why_not(&st, rows[i].owner);

		if (rows[i].why)
			assert_string_equal(why, rows[i].why);
		else
			assert_null(why);
	}
}

static char base[] = "/tmp/sandgate-test-trusted-XXXXXX";

static int read_it(int folder, const char *name, bool follow, struct trusted_text *out,
		   struct err *e)
{
	struct trusted_request r = {.folder = folder,
				    .name = name,
				    .shown = name,
				    .owner = OWNER_PERSON,
				    .follow = follow,
				    .max = 100};

	return trusted_file_read(&r, out, e);
}

static void a_file_is_replaced_whole(void **state)
{
	_cleanup_fd_ int folder = open(base, O_RDONLY | O_DIRECTORY);
	struct trusted_text text;
	struct err e;
	struct stat st;

	assert_int_equal(read_it(folder, "f", false, &text, &e), -ENOENT);
	assert_int_equal(trusted_file_replace(folder, "f", span_of_string("one"), 0600), 0);
	assert_int_equal(trusted_file_replace(folder, "f", span_of_string("second"), 0644), 0);
	assert_int_equal(read_it(folder, "f", false, &text, &e), 0);
	assert_int_equal(text.n, 6);
	assert_string_equal(text.p, "second");
	free(text.p);
	assert_int_equal(fstatat(folder, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	/* A link in its place is replaced, and what it leads to is not touched. */
	assert_int_equal(symlinkat("f", folder, "link"), 0);
	assert_int_equal(trusted_file_replace(folder, "link", span_of_string("new"), 0600), 0);
	assert_int_equal(read_it(folder, "f", false, &text, &e), 0);
	assert_string_equal(text.p, "second");
	free(text.p);
	unlinkat(folder, "link", 0);
	unlinkat(folder, "f", 0);
}

static void links_and_large_files_are_not_read(void **state)
{
	char large[102] = {0};
	_cleanup_fd_ int folder = open(base, O_RDONLY | O_DIRECTORY);
	struct trusted_text text;
	struct err e;

	memset(large, 'x', 101);
	assert_int_equal(trusted_file_replace(folder, "f", span_of(large, 100), 0600), 0);
	assert_int_equal(symlinkat("f", folder, "link"), 0);
	assert_int_equal(read_it(folder, "link", false, &text, &e), -1);
	assert_non_null(strstr(e.text, "it is a link"));
	assert_int_equal(read_it(folder, "link", true, &text, &e), 0);
	assert_int_equal(text.n, 100);
	free(text.p);
	assert_int_equal(trusted_file_replace(folder, "f", span_of(large, 101), 0600), 0);
	assert_int_equal(read_it(folder, "f", false, &text, &e), -1);
	assert_null(text.p);
	unlinkat(folder, "link", 0);
	unlinkat(folder, "f", 0);
}

static void a_folder_for_everyone_is_not_trusted(void **state)
{
	struct err e;
	int fd = trusted_folder_open(base, OWNER_PERSON, &e);

	assert_true(fd >= 0);
	close(fd);
	chmod(base, 0777);
	assert_int_equal(trusted_folder_open(base, OWNER_PERSON, &e), -1);
	assert_non_null(strstr(e.text, "everyone may write it"));
	chmod(base, 0700);
	assert_int_equal(trusted_folder_open("/tmp/no-such-folder-of-sandgate", OWNER_PERSON, &e),
			 -ENOENT);
}

static int make_base(void **state)
{
	return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
	return rmdir(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_and_mode_decide),
		cmocka_unit_test(a_file_is_replaced_whole),
		cmocka_unit_test(links_and_large_files_are_not_read),
		cmocka_unit_test(a_folder_for_everyone_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
