/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/engine/environment.h"
#include "sandbox/files/file_plan.h"
#include "sandbox/engine/inside.h"
#include "sandbox/files/kept_home.h"
#include "sandbox/files/own_folders.h"
#include "sandbox/person.h"
#include "sandbox/supervisor.h"

extern char **environ;

/* --- files --- */

static bool is_of_the_system(const struct mount *m, const void *ctx)
{
	return m->rank == RANK_BASE || m->rank == RANK_MASK;
}

static int plan_files(struct inside *in, const struct supervisor *s, const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;
	_cleanup_fd_ int home = -1;
	char kept_home[PATH_MAX];
	struct own_folders own;
	struct file_request r = {
		.host = &host_tree,
		.cwd = cwd,
		.home = getenv("HOME"),
		.as_root = o->as_root,
		.host_root = person_is_root(),
		.rw = o->rw,
		.ro = o->ro,
		.hide = o->hide,
		.own = own.list,
		.own_ways = own.ways,
	};

	own_folders_find(s->dir.registry.path, &own);
	if (o->lasting) {
		home = kept_home_open(s->dir.name, kept_home, e);
		if (home < 0)
			return -1;
		r.kept_home = kept_home;
	}
	if (inside_plan_files(in, &r, e))
		return -1;
	file_plan_drop(&in->plan, is_of_the_system, NULL);
	if (o->lasting && kept_home_prepare(home, &in->plan, &host_tree, e))
		return -1;
	in->check = mount_check_begin(&in->plan, e);
	return in->check ? 0 : -1;
}

/* --- variables --- */

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
	struct environment_request r = {
		.person = person,
		.sandbox = s->dir.name,
		.home = in->plan.home,
		.authority = s->networked,
		.credentials = policy_credentials(&s->live.policy),
		.placeholder_seed = s->placeholder_seed,
		.by_proxy = s->options->policy->network == NET_BROKERED,
		.added = s->options->env,
	};

	in->env = person ? environment_build(&r) : NULL;
	if (!in->env)
		return err_set(e, "out of memory");
	drop_path(in->env, s->options->env);
	return 0;
}

int inside_plan_image(struct inside *in, struct supervisor *s, const char *cwd, struct err *e)
{
	const char *command = s->options->argv[0];

	if (plan_files(in, s, cwd, e) || make_environment(in, s, e))
		return EXIT_SANDGATE;
	planted_begin(&in->planted, in->plan.workdir);
	if (!command || *command)
		return 0;
	err_set(e, "the command is empty; write it after --");
	return EXIT_NOT_FOUND;
}
