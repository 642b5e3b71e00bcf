/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/exec_elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/control/client.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/supervisor.h"

enum { ASK_MS = 5000 };

bool exec_elsewhere_is_inside(const char *name)
{
	struct registry r;
	struct err ignored;
	_cleanup_fd_ int dir = -1;

	if (registry_open(&r, false, &ignored))
		return true;
	dir = registry_open_sandbox(&r, name);
	registry_close(&r);
	return dir < 0 || faccessat(dir, EXEC_SOCKET_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- the client --- */

static json_t *strings(const char *const *v)
{
	json_t *list = json_array();

	for (; v && *v; v++)
		json_array_append_new(list, json_string(*v));
	return list;
}

static json_t *make_request(const struct exec_options *o)
{
	return json_pack("{s:s, s:b, s:s?, s:o}", "op", "exec", "tty",
			 isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), "cwd", o->cwd, "env",
			 strings(o->env));
}

/* The engine's words, then the command's; both borrowed. */
static const char **join(const json_t *words, char *const *argv)
{
	size_t n = json_array_size(words), m = 0, i;
	const char **v;

	while (argv[m])
		m++;
	v = calloc(n + m + 1, sizeof(*v));
	for (i = 0; v && i < n; i++)
		v[i] = json_string_value(json_array_get(words, i));
	if (v)
		memcpy(v + n, argv, m * sizeof(*v));
	return v;
}

static int become(const json_t *words, const struct exec_options *o, struct err *e)
{
	const char **v = json_array_size(words) ? join(words, o->argv) : NULL;

	if (!v || !v[0] || *v[0] != '/') {
		free(v);
		return err_set(e, "%s: its supervisor gave no program for commands", o->name);
	}
	execv(v[0], (char **)v);
	err_set(e, "%s: %s", v[0], err_why(errno));
	free(v);
	return -1;
}

int exec_elsewhere_run(const struct exec_options *o, struct err *e)
{
	json_t *request = make_request(o);
	json_t *answer = request ? client_request(o->name, request, ASK_MS, e) : NULL;
	int rc;

	if (!request)
		err_set(e, "out of memory, or a variable that is not UTF-8");
	json_decref(request);
	if (!answer)
		return -1;
	rc = json_is_true(json_object_get(answer, "inside"))
		     ? 1
		     : become(json_object_get(answer, "argv"), o, e);
	json_decref(answer);
	return rc;
}

/* --- the supervisor --- */

json_t *exec_elsewhere_answer(struct supervisor *s, const json_t *request)
{
	const struct engine_class *engine = s->engine.class;
	struct err e;
	json_t *argv;

	if (engine->take_client)
		return json_pack("{s:b}", "inside", 1);
	if (!engine->exec)
		return json_pack("{s:s}", "error",
				 engine->no_exec ? engine->no_exec
						 : "its engine runs no further commands");
	argv = s->let_go ? engine->exec(s, request, &e) : NULL;
	if (!s->let_go)
		err_set(&e, "it is still being made");
	return argv ? json_pack("{s:o}", "argv", argv) : json_pack("{s:s}", "error", e.text);
}
