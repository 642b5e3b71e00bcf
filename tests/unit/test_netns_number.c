/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be told about a namespace is refused; what can is in tests/escape/test_by_number.py. */
#include "sandbox/engine/netns_number.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* Nothing is asked of the kernel by a socket when it is not known whose the namespace is. */
static void refused(int netns)
{
	struct err e = {0};

	assert_int_equal(netns_number_check(NULL, netns, -1, &e), -1);
	assert_non_null(strstr(e.text, "cannot be told"));
}

static void what_is_no_namespace(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	refused(fd);
	close(fd);
	refused(-1);
}

static void without_a_descriptor_left(void **state)
{
	int netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct rlimit usual, none;

	assert_true(netns >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){0, usual.rlim_max};
	/* One for the host's, none for whose it is; then not even that. */
	none.rlim_cur = (rlim_t)netns + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	refused(netns);
	none.rlim_cur = (rlim_t)netns + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	refused(netns);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	close(netns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_namespace),
		cmocka_unit_test(without_a_descriptor_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
