/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_program.h"

#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

bool doctor_find_program(const char *name, char out[PROGRAM_PATH_MAX])
{
	static const char *const folders[] = {"/usr/bin", "/bin",	    "/usr/sbin",
					      "/sbin",	  "/usr/local/bin", "/usr/local/sbin"};

	for (size_t i = 0; i < sg_array_len(folders); i++) {
		int n = snprintf(out, PROGRAM_PATH_MAX, "%s/%s", folders[i], name);

		if (n > 0 && n < PROGRAM_PATH_MAX && access(out, X_OK) == 0)
			return true;
	}
	return false;
}

/* What a program prints is shown on a terminal. */
static void keep_first_line(char *line, size_t n)
{
	line[n] = 0;
	line[strcspn(line, "\r\n")] = 0;
	for (char *c = line; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

static bool read_version(struct program_version *v)
{
	for (const char *at = v->line; *at; at++)
		if (isdigit((unsigned char)*at))
			return sscanf(at, "%d.%d", &v->major, &v->minor) == 2;
	return false;
}

static bool start(const char *path, const char *argument, int out, pid_t *pid)
{
	char *argv[] = {(char *)path, (char *)argument, NULL}, *no_environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawn(pid, path, &actions, NULL, argv, no_environment);
	posix_spawn_file_actions_destroy(&actions);
	return r == 0;
}

/* What does not fit is read as well, so that nobody is stopped by a full pipe. */
static void read_line(int from, char line[PROGRAM_LINE_MAX])
{
	char rest[512];
	size_t n = 0;
	ssize_t got;

	while ((got = read(from, rest, sizeof(rest))) > 0) {
		size_t room = PROGRAM_LINE_MAX - 1 - n;
		size_t kept = (size_t)got < room ? (size_t)got : room;

		memcpy(line + n, rest, kept);
		n += kept;
	}
	keep_first_line(line, n);
}

bool doctor_program_version(const char *path, const char *argument, struct program_version *out)
{
	int pipes[2], status = -1;
	bool started;
	pid_t pid;

	*out = (struct program_version){0};
	if (pipe2(pipes, O_CLOEXEC))
		return false;
	started = start(path, argument, pipes[1], &pid);
	close(pipes[1]);
	if (started) {
		read_line(pipes[0], out->line);
		waitpid(pid, &status, 0);
	}
	close(pipes[0]);
	return status == 0 && read_version(out);
}
