/* SPDX-License-Identifier: Apache-2.0 */
/* Who is root: by the text of a map, and in user namespaces that are made for it. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/person.h"

static void assert_maps(const char *map, id_t inside, id_t above)
{
	id_t got = 4711;

	assert_true(person_map_id(span_of_string(map), inside, &got));
	assert_int_equal(got, above);
}

static void assert_maps_nothing(const char *map, id_t inside)
{
	id_t got;

	assert_false(person_map_id(span_of_string(map), inside, &got));
}

static void a_map_is_read_line_by_line(void **state)
{
	static const char initial[] = "         0          0 4294967295\n";
	static const char podman[] = "         0       1000          1\n"
				     "         1     100000      65536\n";

	assert_maps(initial, 0, 0);
	assert_maps(initial, 4294967294U, 4294967294U);
	assert_maps(podman, 0, 1000);
	assert_maps(podman, 1, 100000);
	assert_maps(podman, 65536, 165535);
	assert_maps_nothing(podman, 65537);
	assert_maps_nothing(initial, 4294967295U);
}

static void what_is_no_map_maps_nothing(void **state)
{
	static const char *const texts[] = {
		"",	   "0",		 "0 1000", "0 1000\n", "x 1000 1\n",
		"0 x 1\n", "0 1000 0\n", "\n\n",   "-1 0 1",   "12345678901 0 1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_maps_nothing(texts[i], 0);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* In a child that is `uid` outside and root of a user namespace: 1 root, 0 a person, else -1. */
static int is_root_inside(uid_t uid)
{
	char map[64];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* A change of the user takes /proc/self away from it. */
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
		    prctl(PR_SET_DUMPABLE, 1) || unshare(CLONE_NEWUSER))
			_exit(2);
		snprintf(map, sizeof(map), "0 %u 1\n", (unsigned)uid);
		if (write_text("/proc/self/uid_map", map))
			_exit(3);
		if (geteuid() != 0 || person_uid() != uid || person_uid_of(0) != uid)
			_exit(4);
		/* Its own files are no root's, and those of the root outside are. */
		if (uid != 0 && (person_sees_root(0) || !person_sees_root(65534)))
			_exit(5);
		_exit(person_is_root());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) <= 1 ? WEXITSTATUS(status) : -WEXITSTATUS(status);
}

static void root_of_a_namespace_of_a_person_is_that_person(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(is_root_inside(1000), 0);
	assert_int_equal(is_root_inside(0), 1);
}

static void outside_of_namespaces_root_is_root(void **state)
{
	assert_int_equal(person_is_root(), geteuid() == 0);
	assert_true(person_sees_root(0));
	assert_false(person_sees_root(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_is_read_line_by_line),
		cmocka_unit_test(what_is_no_map_maps_nothing),
		cmocka_unit_test(root_of_a_namespace_of_a_person_is_that_person),
		cmocka_unit_test(outside_of_namespaces_root_is_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
