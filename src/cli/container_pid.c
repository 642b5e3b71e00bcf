/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/container_pid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/engine/exposure.h"
#include "sandbox/secret/secret_command.h"

enum { NAME_MAX_OCTETS = 255, SAID_MAX = 4096, ASK_MS = 20000 };

static const struct {
	const char *name;
	const char *elsewhere; /* a variable that may name another machine */
} engines[] = {{"podman", "CONTAINER_HOST"}, {"docker", "DOCKER_HOST"}};

enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

/* What one engine says of it. */
struct answer {
	int rc; /* 0; -ENOENT: there is no such engine; -1 with why */
	pid_t pid;
	struct err why;
};

bool container_pid_is_name(const char *container)
{
	size_t n = strlen(container);

	if (n == 0 || n > NAME_MAX_OCTETS)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = container[i];
		bool plain =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!plain && (i == 0 || !strchr("_.-", c)))
			return false;
	}
	return true;
}

pid_t container_pid_parse(struct span said)
{
	int64_t n = 0;
	size_t i = 0;

	for (; i < said.n && said.p[i] >= '0' && said.p[i] <= '9' && n <= INT32_MAX; i++)
		n = n * 10 + (said.p[i] - '0');
	if (i == 0 || n > INT32_MAX || (i < said.n && said.p[i] != '\n') || said.n - i > 1)
		return -1;
	return (pid_t)n;
}

/* The number of a process on another machine is some other's here. */
static bool is_elsewhere(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value && strncmp(value, "unix:", 5) != 0 && *value != '/';
}

static void ask(size_t which, const char *container, const struct exposure *x, struct answer *a)
{
	const char *argv[] = {engines[which].name, "container", "inspect", "--format",
			      "{{.State.Pid}}",	   container,	NULL};
	struct secret_command c = {.argv = argv, .exposure = x, .timeout_ms = ASK_MS};
	uint8_t room[SAID_MAX];
	struct buf said = buf_of(room, sizeof(room));

	if (is_elsewhere(engines[which].elsewhere)) {
		a->rc = err_set(&a->why, "%s names another machine; unset it",
				engines[which].elsewhere);
		return;
	}
	a->rc = secret_command_run(&c, &said, &a->why);
	if (a->rc)
		return;
	a->pid = container_pid_parse(span_of(said.p, said.n));
	if (a->pid < 0)
		a->rc = err_set(&a->why, "it names no process");
}

static int refuse(const char *container, const struct answer a[ENGINES], struct err *e)
{
	char text[ERR_MAX] = "";
	size_t used = 0;

	for (size_t i = 0; i < ENGINES && used < sizeof(text); i++)
		if (a[i].rc == -1)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s",
						 used ? "; " : "", engines[i].name, a[i].why.text);
	return err_set(e, "--container %s: %s", container,
		       *text ? text
			     : "neither podman nor docker is installed; name the container's first "
			       "process with --pid");
}

pid_t container_pid_find(const char *container, const char **engine, struct err *e)
{
	struct answer a[ENGINES] = {{0}};
	struct exposure x;
	size_t found = ENGINES;

	if (exposure_read(&x, e))
		return -1;
	for (size_t i = 0; i < ENGINES; i++)
		ask(i, container, &x, &a[i]);
	exposure_free(&x);
	for (size_t i = 0; i < ENGINES; i++) {
		if (a[i].rc)
			continue;
		if (found < ENGINES)
			return err_set(e,
				       "--container %s: podman and docker both have one of that "
				       "name; give its id",
				       container);
		found = i;
	}
	if (found == ENGINES)
		return refuse(container, a, e);
	*engine = engines[found].name;
	if (a[found].pid > 0)
		return a[found].pid;
	return err_set(e, "--container %s: it does not run; start it first: %s start %s", container,
		       *engine, container);
}
