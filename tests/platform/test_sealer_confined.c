/* SPDX-License-Identifier: Apache-2.0 */
/* What the sealer is confined to. */
#include "sealer_rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/sealer_confine.h"

static int status_of(pid_t pid, const char *key, char *out, size_t n)
{
	char path[64], line[256];
	FILE *f;
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && found && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
			snprintf(out, n, "%s", line + strlen(key) + 2);
			out[strcspn(out, "\n")] = 0;
			found = 0;
		}
	if (f)
		fclose(f);
	return found;
}

static void assert_status(pid_t pid, const char *key, const char *wanted)
{
	char text[64];

	assert_int_equal(status_of(pid, key, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
}

/* Neither the person's files nor their sockets: of paths, /dev/null and what lies in the folder. */
static void assert_descriptors(const struct world *w)
{
	char folder[64], target[256];
	const struct dirent *entry;
	DIR *d;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", w->sealer.pid);
	d = opendir(folder);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = 0;
		if (target[0] == '/' && strcmp(target, "/dev/null") != 0)
			assert_memory_equal(target, w->path, strlen(w->path));
	}
	closedir(d);
}

static void it_has_no_privilege_left(void **state)
{
	struct world *w = *state;

	sealer_rig_start(w);
	assert_status(w->sealer.pid, "NoNewPrivs", "1");
	assert_status(w->sealer.pid, "Seccomp", "2");
	assert_status(w->sealer.pid, "CapEff", "0000000000000000");
	assert_status(w->sealer.pid, "CapPrm", "0000000000000000");
	assert_status(w->sealer.pid, "Name", "sandgate-sealer");
	assert_descriptors(w);
}

/* The key is written by the sealer, and readable by nobody else. */
static void its_key_is_its_own(void **state)
{
	struct world *w = *state;
	struct stat st;

	sealer_rig_start(w);
	assert_int_equal(fstatat(w->folder, "audit/key", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

enum attempt {
	OPEN_OUTSIDE,
	OPEN_ABOVE,
	LINK_OUT,
	MAKE_SOCKET,
	MAKE_UNIX_SOCKET,
	EXECUTE,
	FORK,
	TRACE,
	SEND_SIGNAL,
	MOUNT,
	MAP_CODE,
	ATTEMPTS
};

/* How the child ends: by SIGSYS, or with the errno of the attempt as its status. */
static int try(enum attempt what)
{
	static char *const argv[] = {(char *)"true", NULL};

	errno = 0;
	switch (what) {
	case OPEN_OUTSIDE:
		return openat(AT_FDCWD, "/etc/passwd", O_RDONLY) < 0 ? errno : 0;
	case OPEN_ABOVE:
		return openat(SEALER_AUDIT, "../ring", O_RDWR) < 0 ? errno : 0;
	case LINK_OUT:
		return linkat(AT_FDCWD, "/etc/passwd", SEALER_AUDIT, "x", 0) < 0 ? errno : 0;
	case MAKE_SOCKET:
		return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
	case MAKE_UNIX_SOCKET:
		return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0;
	case EXECUTE:
		return execv("/bin/true", argv) < 0 ? errno : 0;
	case FORK:
		return fork() < 0 ? errno : 0;
	case TRACE:
		return (int)syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, getppid(), 0, 0) < 0 ? errno
											     : 0;
	case SEND_SIGNAL:
		return kill(getppid(), 0) < 0 ? errno : 0;
	case MOUNT:
		return mount("x", "/", "tmpfs", 0, NULL) < 0 ? errno : 0;
#ifndef __SANITIZE_ADDRESS__ /* whose runtime maps as it likes */
	case MAP_CODE:
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) == MAP_FAILED
			       ? errno
			       : 0;
#endif
	default:
		return EACCES;
	}
}

static void nothing_else_is_within_its_reach(void **state)
{
	struct world *w = *state;

	for (int what = 0; what < ATTEMPTS; what++) {
		pid_t self = getpid(), pid = fork();
		int status, pair[2];
		struct err e;

		if (pid == 0) {
			if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
			    sealer_confine(w->folder, pair[0], w->wake, self, &e))
				_exit(99);
			_exit(try((enum attempt)what));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status))
			assert_int_equal(WTERMSIG(status), SIGSYS);
		else if (WEXITSTATUS(status) != EACCES)
			fail_msg("attempt %d: status %d", what, WEXITSTATUS(status));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(it_has_no_privilege_left),
		WITH_WORLD(its_key_is_its_own),
		WITH_WORLD(nothing_else_is_within_its_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
