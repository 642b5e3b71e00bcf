/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a process of its own: what comes back of it, and that none outlives its errand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/errand.h"

enum { LONG_MS = 60 * 1000, SHORT_MS = 100 };

static pid_t *worker; /* seen by the test and by the child */

static int map_worker(void **state)
{
	worker = mmap(NULL, sizeof(*worker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return worker == MAP_FAILED ? -1 : 0;
}

static int work_well(void *ctx, void *answer, int *fds, struct err *e)
{
	int *number = answer;

	*worker = getpid();
	*number = *(const int *)ctx;
	fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[1] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return fds[0] < 0 || fds[1] < 0 ? err_set(e, "no descriptors") : 0;
}

static int work_badly(void *ctx, void *answer, int *fds, struct err *e)
{
	int *number = answer;

	*worker = getpid();
	*number = 7;
	return err_set(e, "it is not to be done");
}

static int end_without_a_word(void *ctx, void *answer, int *fds, struct err *e)
{
	*worker = getpid();
	_exit(0);
}

static int hang(void *ctx, void *answer, int *fds, struct err *e)
{
	*worker = getpid();
	pause();
	return err_set(e, "a signal has come");
}

static void expect_gone(void)
{
	assert_int_not_equal(*worker, 0);
	assert_int_not_equal(*worker, getpid());
	assert_int_equal(kill(*worker, 0), -1);
	assert_int_equal(errno, ESRCH);
	*worker = 0;
}

static void what_was_done_comes_back(void **state)
{
	int given = 42, number = 0, fds[2] = {-1, -1};
	const struct errand x = {"that", LONG_MS, work_well, &given, sizeof(number), 2};
	char octet = 1;
	struct err e;

	assert_int_equal(errand_run(&x, &number, fds, &e), 0);
	assert_int_equal(number, 42);
	assert_int_equal(read(fds[0], &octet, 1), 0);
	assert_int_equal(read(fds[1], &octet, 1), 1);
	assert_int_equal(octet, 0);
	assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	close(fds[0]);
	close(fds[1]);
	expect_gone();
}

static void work_that_failed_says_why(void **state)
{
	int number = 0, fds[2] = {-1, -1};
	const struct errand x = {"that", LONG_MS, work_badly, NULL, sizeof(number), 2};
	struct err e;

	assert_int_equal(errand_run(&x, &number, fds, &e), -1);
	assert_string_equal(e.text, "it is not to be done");
	assert_int_equal(number, 7);
	assert_int_equal(fds[0], -1);
	expect_gone();
}

static void a_child_that_ends_is_no_answer(void **state)
{
	int number = 1;
	const struct errand x = {"that", LONG_MS, end_without_a_word, NULL, sizeof(number), 0};
	struct err e;

	assert_int_equal(errand_run(&x, &number, NULL, &e), -1);
	assert_string_equal(e.text, "that: its process has ended without an answer");
	assert_int_equal(number, 0);
	expect_gone();
}

static void a_child_that_hangs_is_ended(void **state)
{
	const struct errand x = {"that", SHORT_MS, hang, NULL, 0, 0};
	struct err e;

	/* On a slow machine the first may end before it has said which process it is. */
	for (int i = 0; i < 100 && *worker == 0; i++) {
		assert_int_equal(errand_run(&x, NULL, NULL, &e), -1);
		assert_string_equal(e.text, "that: no answer within 0 s");
	}
	expect_gone();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_done_comes_back),
		cmocka_unit_test(work_that_failed_says_why),
		cmocka_unit_test(a_child_that_ends_is_no_answer),
		cmocka_unit_test(a_child_that_hangs_is_ended),
	};

	return cmocka_run_group_tests(tests, map_worker, NULL);
}
