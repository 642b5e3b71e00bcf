/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/run_policy.h"
#include "sandbox/run.h"
#include "sandbox/sandbox_name.h"

/* The engines of later versions: known words, so that the refusal is not a guess at spelling. */
static const char *const later_engines[] = {"podman", "docker", "containerd", "qemu", "netns"};

static int check_name(const char *name, struct err *e)
{
	if (!name || sandbox_name_valid(name))
		return 0;
	if (command_is_word(name))
		return err_set(e, "--name: \"%s\" is a command's word; take another", name);
	return err_set(e,
		       "--name: \"%s\" is no name; small letters, digits and hyphens, the first no "
		       "hyphen, %d at most",
		       name, SANDBOX_NAME_MAX);
}

static int check_engine(const char *engine, struct err *e)
{
	struct nearest near;

	if (!engine || strcmp(engine, "bwrap") == 0)
		return 0;
	for (size_t i = 0; i < sg_array_len(later_engines); i++)
		if (strcmp(engine, later_engines[i]) == 0)
			return err_set(e,
				       "--engine %s: not in this version; leave it out for bwrap",
				       engine);
	near = nearest_to(engine);
	nearest_offer(&near, "bwrap");
	return err_set(e, "--engine: \"%s\" is unknown; %s", engine,
		       near.word ? "did you mean bwrap?" : "this version has bwrap");
}

static int check_env(const char *const *env, struct err *e)
{
	for (; env && *env; env++)
		if (**env == '=' || !strchr(*env, '='))
			return err_set(e, "--env: \"%s\" is not KEY=VALUE; write --env %s=VALUE",
				       *env, **env == '=' ? "KEY" : *env);
	return 0;
}

static int check_options(const struct args *a, struct err *e)
{
	if (check_name(args_value(a, RUN_NAME), e) || check_engine(args_value(a, RUN_ENGINE), e))
		return -1;
	return check_env(args_values(a, RUN_ENV), e);
}

static struct policy_words words_of(const struct args *a)
{
	return (struct policy_words){
		.net = args_value(a, RUN_NET),
		.policy_file = args_value(a, RUN_POLICY),
		.agent = args_value(a, RUN_AGENT),
		.command = a->rest[0],
		.allow = args_values(a, RUN_ALLOW),
		.deny = args_values(a, RUN_DENY),
		.only = args_values(a, RUN_ONLY),
		.publish = args_values(a, RUN_PUBLISH),
		.host_port = args_values(a, RUN_HOST_PORT),
		.rw = args_values(a, RUN_RW),
		.yes = args_has(a, RUN_YES),
		.unattended = args_has(a, RUN_UNATTENDED),
		.no_project = args_has(a, RUN_NO_PROJECT),
	};
}

static int run_with(const struct args *a, const struct sources *s)
{
	struct policy_words words = words_of(a);
	struct run_policy built;
	struct run_options o = {
		.name = args_value(a, RUN_NAME),
		.policy = &built.policy,
		.sources = s,
		.policy_file = args_value(a, RUN_POLICY),
		.rw = args_values(a, RUN_RW),
		.ro = args_values(a, RUN_RO),
		.hide = args_values(a, RUN_HIDE),
		.env = args_values(a, RUN_ENV),
		.as_root = args_has(a, RUN_AS_ROOT),
		.quiet = args_has(a, RUN_QUIET),
		.argv = a->rest,
		.written = a->written,
		.n_written = a->n_written,
	};
	struct err e;
	int status = run_policy_build(&words, s, &built, &e);

	if (status)
		return cli_fail(status, &e);
	o.agent = built.agent;
	o.languages = built.languages;
	if (o.policy_file && strcmp(o.policy_file, "-") == 0)
		o.policy_file = NULL;
	status = sandbox_run(&o);
	run_policy_free(&built);
	return status;
}

int cmd_run(const struct args *a)
{
	struct sources s;
	struct err e;
	int status;

	if (check_options(a, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = run_with(a, &s);
	sources_free(&s);
	return status;
}
