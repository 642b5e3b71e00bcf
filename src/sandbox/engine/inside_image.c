/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "sandbox/engine/inside_base.h"
#include "sandbox/supervisor.h"

extern char **environ;

static int plan_files(struct inside *in, const struct supervisor *s, const char *cwd, struct err *e)
{
	struct file_request r = {.cwd = cwd, .rw = s->options->rw, .ro = s->options->ro};

	return inside_base_plan(in, s, &r, INSIDE_SYSTEM_IMAGE, e);
}

/* How things look; where they lie the image says. */
static const char *const of_the_person[] = {"TERM",    "COLORTERM", "NO_COLOR",	   "CLICOLOR",
					    "COLUMNS", "LINES",	    "FORCE_COLOR", NULL};

static bool is_named(const char *pair, const char *name)
{
	size_t n = strlen(name);

	return strncmp(pair, name, n) == 0 && pair[n] == '=';
}

static bool has_name(const char *const *list, const char *pair)
{
	char name[64];
	size_t n = strcspn(pair, "=");

	if (n >= sizeof(name))
		return false;
	memcpy(name, pair, n);
	name[n] = 0;
	for (; list && *list; list++)
		if (strcmp(*list, name) == 0 || is_named(*list, name))
			return true;
	return false;
}

/* environment_build() always sets a PATH, which is the image's here. */
static void drop_path(char **env, const char *const *added)
{
	size_t n = 0;

	for (size_t i = 0; env[i]; i++) {
		if (is_named(env[i], "PATH") && !has_name(added, "PATH"))
			free(env[i]);
		else
			env[n++] = env[i];
	}
	env[n] = NULL;
}

/* What of the person's environment counts; borrowed. */
static char **choose_variables(void)
{
	size_t n = 0, count = 0;
	char **v;

	while (environ && environ[n])
		n++;
	v = calloc(n + 1, sizeof(*v));
	for (size_t i = 0; v && i < n; i++)
		if (has_name(of_the_person, environ[i]))
			v[count++] = environ[i];
	return v;
}

static int make_environment(struct inside *in, const struct supervisor *s, struct err *e)
{
	_cleanup_free_ char **person = choose_variables();
	struct environment_request r = inside_base_environment(in, s);

	r.person = person;
	r.added = s->options->env;
	in->env = person ? environment_build(&r) : NULL;
	if (!in->env)
		return err_set(e, "out of memory");
	drop_path(in->env, s->options->env);
	return 0;
}

int inside_plan_image(struct inside *in, struct supervisor *s, const char *cwd, struct err *e)
{
	if (plan_files(in, s, cwd, e) || make_environment(in, s, e))
		return EXIT_SANDGATE;
	planted_begin(&in->planted, in->plan.workdir);
	return inside_base_check_command(s->options->argv[0], e);
}
