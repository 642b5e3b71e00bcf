/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the kernel that `start`, the program that serves commands inside, relies on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 54321 };

#define CHECK(c)                                                                             \
	do {                                                                                 \
		if (!(c)) {                                                                  \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #c, strerror(errno)); \
			_exit(1);                                                            \
		}                                                                            \
	} while (0)

/* In a child, which may give up its user or its namespaces. */
static void in_child(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- a process that is not dumpable is shut to its own user --- */

static void try_to_look(pid_t server)
{
	char path[64], target[64];
	int pidfd;

	snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)server);
	CHECK(open(path, O_RDONLY) < 0 && errno == EACCES);
	CHECK(readlink(path, target, sizeof(target)) < 0 && errno == EACCES);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)server);
	CHECK(open(path, O_RDONLY) < 0 && errno == EACCES);
	CHECK(ptrace(PTRACE_SEIZE, server, 0, 0) < 0 && errno == EPERM);
	pidfd = (int)syscall(SYS_pidfd_open, server, 0);
	CHECK(pidfd >= 0);
	CHECK(syscall(SYS_pidfd_getfd, pidfd, 0, 0) < 0 && errno == EPERM);
}

static void look_at_one_of_the_same_user(void)
{
	int ready[2];
	char octet;
	pid_t server;

	CHECK(geteuid() != 0 ||
	      (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0));
	CHECK(pipe(ready) == 0);
	server = fork();
	if (server == 0) {
		CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
		CHECK(write(ready[1], "R", 1) == 1);
		pause();
	}
	CHECK(read(ready[0], &octet, 1) == 1);
	try_to_look(server);
	CHECK(kill(server, SIGKILL) == 0);
}

static void not_dumpable_shuts_memory_and_descriptors_to_its_own_user(void **state)
{
	in_child(look_at_one_of_the_same_user);
}

/* --- whoever is alone in a PID namespace learns so --- */

static void first_of_two(void)
{
	pid_t other, self = fork();
	int status;

	if (self != 0) { /* process 1: does not count */
		CHECK(waitpid(self, &status, 0) == self && status == 0);
		_exit(0);
	}
	other = fork();
	if (other == 0) {
		pause();
		_exit(0);
	}
	CHECK(kill(-1, 0) == 0);
	CHECK(kill(-1, SIGKILL) == 0);
	CHECK(waitpid(other, &status, 0) == other && WIFSIGNALED(status));
	CHECK(kill(-1, 0) < 0 && errno == ESRCH);
	_exit(0);
}

static void be_alone(void)
{
	pid_t init;
	int status;

	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0);
	init = fork();
	if (init == 0)
		first_of_two();
	CHECK(waitpid(init, &status, 0) == init && status == 0);
}

static void a_signal_to_all_says_when_there_is_nobody(void **state)
{
	in_child(be_alone);
}

/* --- a terminal without a path --- */

static void the_other_end_of_a_terminal_opens_without_a_path(void **state)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), slave, unlocked = 0;
	struct stat st;

	assert_true(master >= 0);
	assert_int_equal(fstat(master, &st), 0);
	assert_int_equal(major(st.st_rdev), 5);
	assert_int_equal(minor(st.st_rdev), 2);
	assert_int_equal(ioctl(master, TIOCSPTLCK, &unlocked), 0);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_true(isatty(slave));
	close(slave);
	close(master);
}

/*
 * What the leader of a session printed before its end is there afterwards, although that hangs the
 * terminal up.
 */
static void what_was_printed_outlives_the_session(void **state)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), slave, unlocked = 0;
	char text[64] = "";
	pid_t leader;

	assert_true(master >= 0);
	assert_int_equal(ioctl(master, TIOCSPTLCK, &unlocked), 0);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	leader = fork();
	if (leader == 0) {
		CHECK(setsid() > 0 && ioctl(slave, TIOCSCTTY, 0) == 0);
		CHECK(write(slave, "last words", 10) == 10);
		_exit(0);
	}
	close(slave);
	assert_int_equal(waitpid(leader, NULL, 0), leader);
	assert_int_equal(read(master, text, sizeof(text)), 10);
	assert_string_equal(text, "last words");
	assert_int_equal(read(master, text, sizeof(text)), -1);
	assert_int_equal(errno, EIO);
	close(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_dumpable_shuts_memory_and_descriptors_to_its_own_user),
		cmocka_unit_test(a_signal_to_all_says_when_there_is_nobody),
		cmocka_unit_test(the_other_end_of_a_terminal_opens_without_a_path),
		cmocka_unit_test(what_was_printed_outlives_the_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
