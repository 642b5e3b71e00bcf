/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/ipam.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { RUN_MS = 60000, ANSWER_MAX = 1 << 20 };

static const char *const words[] = {
	[CNI_ADD] = "ADD", [CNI_CHECK] = "CHECK", [CNI_DEL] = "DEL", [CNI_VERSION] = "VERSION"};

static enum cni_code find(const struct cni_call *call, const char *type, char out[PATH_MAX],
			  struct err *e)
{
	const char *folder = call->path ? call->path : "";

	while (*folder) {
		int n = (int)strcspn(folder, ":");

		if (n && *folder == '/' &&
		    snprintf(out, PATH_MAX, "%.*s/%s", n, folder, type) < PATH_MAX &&
		    access(out, X_OK) == 0)
			return CNI_OK;
		folder += n + (folder[n] == ':');
	}
	err_set(e, "ipam: there is no plugin %s in CNI_PATH (%s)", type,
		call->path ? call->path : "not set");
	return CNI_BAD_ENVIRONMENT;
}

struct child {
	const char *path;
	enum cni_command command;
	pid_t parent;
};

/* It ends with the plugin: an ADD of it that went on would give addresses after the DEL. */
static void run_child(const struct child *c, int in, int out) sg_noreturn;
static void run_child(const struct child *c, int in, int out)
{
	char *const argv[] = {(char *)c->path, NULL};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != c->parent)
		_exit(127);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || setenv("CNI_COMMAND", words[c->command], 1) < 0)
		_exit(127);
	execv(c->path, argv);
	_exit(127);
}

/* A file for its standard input: nothing can wait for who does not read. */
static int make_input(struct span config)
{
	int fd = memfd_create("ipam", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, config.p, config.n) == (ssize_t)config.n &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* All that it prints; NULL with errno when that takes too long or is too much. */
static char *read_answer(int fd, size_t *n)
{
	mono_t until = mono_add_ms(mono_now(), RUN_MS);
	char *text = malloc(ANSWER_MAX);
	ssize_t got = 1;

	*n = 0;
	while (text && got > 0 && *n < ANSWER_MAX) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = mono_ms_until(mono_now(), until);

		errno = ETIMEDOUT;
		got = left > 0 && poll(&p, 1, (int)left) == 1 ? read(fd, text + *n, ANSWER_MAX - *n)
							      : -1;
		*n += got > 0 ? (size_t)got : 0;
	}
	if (text && got == 0)
		return text;
	if (text && got > 0)
		errno = E2BIG;
	free(text);
	return NULL;
}

/* Its own error when it says one. */
static enum cni_code failed(const char *type, const json_t *answer, struct err *e)
{
	const char *why = json_string_value(json_object_get(answer, "msg"));
	json_int_t code = json_integer_value(json_object_get(answer, "code"));

	err_set(e, "ipam: %s: %s", type, why ? why : "it failed without a word");
	return code > 0 && code < INT_MAX ? (enum cni_code)code : CNI_IO;
}

static enum cni_code collect(const char *type, enum cni_command command, pid_t pid, int out,
			     json_t **result, struct err *e)
{
	size_t n = 0;
	char *text = read_answer(out, &n);
	int error = errno, status = -1;
	json_t *answer = text ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	enum cni_code code = CNI_OK;

	if (!text)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!text) {
		err_set(e, "ipam: %s: no answer: %s", type, strerror(error));
		code = CNI_IO;
	} else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		code = failed(type, answer, e);
	} else if (command == CNI_ADD && !json_is_object(answer)) {
		err_set(e, "ipam: %s: its answer is not a JSON object", type);
		code = CNI_BAD_JSON;
	}
	free(text);
	if (!code && command == CNI_ADD)
		*result = answer;
	else
		json_decref(answer);
	return code;
}

enum cni_code cni_ipam_run(const struct cni_call *call, enum cni_command command, const char *type,
			   struct span config, json_t **result, struct err *e)
{
	_cleanup_fd_ int in = make_input(config);
	char path[PATH_MAX];
	const struct child c = {path, command, getpid()};
	enum cni_code code = find(call, type, path, e);
	int out[2];
	pid_t pid;

	*result = NULL;
	if (code)
		return code;
	if (in < 0 || pipe2(out, O_CLOEXEC) < 0) {
		err_set(e, "ipam: %s", err_why(errno));
		return CNI_IO;
	}
	pid = fork();
	if (pid == 0)
		run_child(&c, in, out[1]);
	close(out[1]);
	if (pid < 0) {
		err_set(e, "ipam: cannot fork: %s", err_why(errno));
		code = CNI_IO;
	} else {
		code = collect(type, command, pid, out[0], result, e);
	}
	close(out[0]);
	return code;
}
