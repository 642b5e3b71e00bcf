/* SPDX-License-Identifier: Apache-2.0 */
/* secret_keep: variables that are secrets leave the environment, and come back by a pipe alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/secret/secret_keep.h"
#include "sandbox/secret/secret_source.h"

extern char **environ;

#define SECRET "the-s3cret-value"
#define CLIENT "the-client-s3cret"

static struct credential_refresh refresh = {.client_secret = (char *)"env:SG_TEST_CLIENT"};
static struct credential credentials[] = {
	{.from = (char *)"env:SG_TEST_SECRET", .refresh = &refresh},
	{.from = (char *)"env:SG_TEST_SECRET"},
	{.from = (char *)"env:SG_TEST_UNSET"},
	{.from = (char *)"env:SG_TEST_EMPTY"},
	{.from = (char *)"env:SG_TEST_LARGE"},
	{.from = (char *)"file:/etc/hostname"},
};
static const struct credential_list list = {credentials, sg_array_len(credentials)};
static struct secret_keep keep;

static int begin(void **state)
{
	char large[SECRET_SOURCE_MAX + 2];
	struct err e;

	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = 0;
	setenv("SG_TEST_SECRET", SECRET, 1);
	setenv("SG_TEST_CLIENT", CLIENT, 1);
	setenv("SG_TEST_EMPTY", "", 1);
	setenv("SG_TEST_LARGE", large, 1);
	setenv("SG_TEST_OTHER", "stays", 1);
	return secret_keep_take(&keep, &list, NULL, &e);
}

static int end(void **state)
{
	secret_keep_free(&keep);
	return 0;
}

static void assert_gives(const char *from, const char *value)
{
	char text[64] = "";
	struct err e;
	int fd = secret_keep_open(&keep, from, &e);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), (ssize_t)strlen(value));
	assert_string_equal(text, value);
	/* Its other end is closed: there is nothing more to wait for. */
	assert_int_equal(read(fd, text, sizeof(text)), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void a_value_comes_by_a_pipe_as_often_as_it_is_wanted(void **state)
{
	assert_gives("env:SG_TEST_SECRET", SECRET);
	assert_gives("env:SG_TEST_SECRET", SECRET);
	assert_gives("env:SG_TEST_CLIENT", CLIENT);
}

static void what_is_not_there_is_told_with_what_to_do(void **state)
{
	static const struct {
		const char *from, *says;
	} rows[] = {
		{"env:SG_TEST_UNSET", "env:SG_TEST_UNSET: the variable is not set; set it where "
				      "sandgate is started"},
		{"env:SG_TEST_EMPTY", "env:SG_TEST_EMPTY: the variable is empty"},
		{"env:SG_TEST_LARGE",
		 "env:SG_TEST_LARGE: the variable holds more than a secret may"},
	};
	struct err e;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		assert_int_equal(secret_keep_open(&keep, rows[i].from, &e), -1);
		assert_string_equal(e.text, rows[i].says);
	}
}

static void the_environment_has_it_no_more(void **state)
{
	assert_null(getenv("SG_TEST_SECRET"));
	assert_null(getenv("SG_TEST_CLIENT"));
	assert_string_equal(getenv("SG_TEST_OTHER"), "stays");
	for (char **v = environ; *v; v++)
		assert_null(strstr(*v, SECRET));
}

/* As the kernel shows it: the octets themselves, of a program that was started with them. */
static void proc_shows_zeros(void **state)
{
	char *argv[] = {(char *)"/proc/self/exe", (char *)"--show", NULL};
	char *with[] = {(char *)"SG_TEST_SECRET=" SECRET, (char *)"SG_TEST_OTHER=stays", NULL};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execve("/proc/self/exe", argv, with);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int show_itself(void)
{
	static char shown[1 << 16];
	int fd = open("/proc/self/environ", O_RDONLY);
	struct err e;
	ssize_t n;

	if (secret_keep_take(&keep, &list, NULL, &e))
		return 2;
	n = read(fd, shown, sizeof(shown));
	if (n <= 0 || !memmem(shown, (size_t)n, "stays", 5))
		return 3;
	return memmem(shown, (size_t)n, SECRET, strlen(SECRET)) ? 4 : 0;
}

static void a_child_has_nothing_of_it(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		bool any = false;

		for (size_t i = 0; i < keep.n; i++)
			any = any || keep.text[i];
		_exit(any);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void it_says_what_is_its_own(void **state)
{
	assert_true(secret_keep_has_kind("env:A"));
	assert_false(secret_keep_has_kind("git"));
	assert_false(secret_keep_has_kind("command:/bin/env A"));
	assert_false(secret_keep_has_kind(NULL));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_comes_by_a_pipe_as_often_as_it_is_wanted),
		cmocka_unit_test(what_is_not_there_is_told_with_what_to_do),
		cmocka_unit_test(the_environment_has_it_no_more),
		cmocka_unit_test(proc_shows_zeros),
		cmocka_unit_test(a_child_has_nothing_of_it),
		cmocka_unit_test(it_says_what_is_its_own),
	};

	if (argc == 2 && strcmp(argv[1], "--show") == 0)
		return show_itself();
	return cmocka_run_group_tests(tests, begin, end);
}
