/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_words.h"

#include <string.h>

#include "cli/cli.h"
#include "sandbox/engine/engine.h"
#include "sandbox/sandbox_name.h"

int run_words_check_name(const char *option, const char *name, struct err *e)
{
	if (!name || sandbox_name_valid(name))
		return 0;
	if (command_is_word(name))
		return err_set(e, "%s: \"%s\" is a command's word; take another", option, name);
	return err_set(e,
		       "%s: \"%s\" is no name; small letters, digits and hyphens, the first no "
		       "hyphen, %d at most",
		       option, name, SANDBOX_NAME_MAX);
}

int run_words_check_env(const char *const *env, struct err *e)
{
	for (; env && *env; env++)
		if (**env == '=' || !strchr(*env, '='))
			return err_set(e, "--env: \"%s\" is not KEY=VALUE; write --env %s=VALUE",
				       *env, **env == '=' ? "KEY" : *env);
	return 0;
}

static const char *value(const struct args *a, const char *option)
{
	const struct args_values *v = args_named(a, option);

	return v->n ? v->values[0] : NULL;
}

static bool has(const struct args *a, const char *option)
{
	return args_named(a, option)->n > 0;
}

static const char *const *values(const struct args *a, const char *option)
{
	return (const char *const *)args_named(a, option)->values;
}

int run_words_check(const struct args *a, struct err *e)
{
	struct run_options o = {0};

	if (!engine_find(value(a, "engine"), e) || run_words_check_env(values(a, "env"), e))
		return -1;
	run_words_options(a, &o);
	return o.engine->words ? o.engine->words(&o, e) : 0;
}

char *const *run_words_command(const struct args *a)
{
	static char *const none[] = {NULL};

	return a->rest ? a->rest : none;
}

int run_words_check_command(const struct args *a, struct err *e)
{
	const struct engine_class *engine = engine_find(value(a, "engine"), e);

	if (!engine)
		return -1;
	return engine->alone || *run_words_command(a) ? 0 : args_no_command(a->command, e);
}

struct policy_words run_words_policy(const struct args *a)
{
	return (struct policy_words){
		.net = value(a, "net"),
		.policy_file = value(a, "policy"),
		.agent = value(a, "agent"),
		.command = a->rest ? a->rest[0] : NULL,
		.allow = values(a, "allow"),
		.deny = values(a, "deny"),
		.only = values(a, "only"),
		.publish = values(a, "publish"),
		.host_port = values(a, "host-port"),
		.inspect = values(a, "inspect"),
		.splice = values(a, "splice"),
		.rw = values(a, "rw"),
		.yes = has(a, "yes"),
		.unattended = has(a, "unattended"),
		.no_project = has(a, "no-project"),
	};
}

void run_words_options(const struct args *a, struct run_options *o)
{
	struct err ignored;

	o->engine = engine_find(value(a, "engine"), &ignored);
	o->image = value(a, "image");
	o->rw = values(a, "rw");
	o->ro = values(a, "ro");
	o->hide = values(a, "hide");
	o->env = values(a, "env");
	o->as_root = has(a, "as-root");
	o->quiet = has(a, "quiet");
}
