/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/files/command_path.h"
#include "sandbox/engine/environment.h"
#include "sandbox/files/kept_home.h"
#include "sandbox/files/masked_files.h"
#include "sandbox/files/own_folders.h"
#include "sandbox/person.h"
#include "sandbox/supervisor.h"
#include "sandbox/settings/trust.h"

extern char **environ;

const char *inside_hosts(const struct supervisor *s, char out[INSIDE_HOSTS_MAX])
{
	snprintf(out, INSIDE_HOSTS_MAX,
		 "127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n"
		 "%s",
		 s->dir.name,
		 s->networked ? AIRLOCK_GATE_V4
			 " host.sandgate.internal gateway.sandgate.internal\n" AIRLOCK_GATE_V6
			 " host.sandgate.internal gateway.sandgate.internal\n"
			      : "");
	return out;
}

int inside_plan_files(struct inside *in, struct file_request *r, struct err *e)
{
	struct trust trust;
	int rc;

	if (trust_read_if_kept(&trust, e) < 0)
		return -1;
	r->was_shared = trust_says_shared;
	r->was_shared_ctx = &trust;
	rc = file_plan_build(r, &in->plan, e);
	trust_free(&trust);
	return rc;
}

static int plan_files(struct inside *in, const struct supervisor *s, const struct inside_request *w,
		      const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;
	_cleanup_free_ char *masked = NULL;
	const char **list = masked_files_list(&masked);
	_cleanup_fd_ int home = -1;
	struct file_over over[CA_BUNDLE_PLACES];
	char hosts[INSIDE_HOSTS_MAX], kept_home[PATH_MAX];
	struct own_folders own;
	struct file_request r = {
		.host = &host_tree,
		.cwd = cwd,
		.home = getenv("HOME"),
		.as_root = o->as_root,
		.host_root = person_is_root(),
		.rw = w->rw,
		.ro = w->ro,
		.hide = o->hide,
		.devices = w->devices,
		.no_workdir = w->alone,
		.masked = list,
		.own = own.list,
		.own_ways = own.ways,
		.resolv_conf = s->networked ? INSIDE_RESOLV_CONF : "",
		.hosts = inside_hosts(s, hosts),
		.over = s->networked ? over : NULL,
	};
	bool keep_home = o->lasting && !w->alone;
	int rc;

	own_folders_find(s->dir.registry.path, &own);
	ca_bundle_places(&s->ca, over);
	if (!list)
		return err_set(e, "the files in /etc that are not for everyone: %s",
			       strerror(errno));
	if (keep_home) {
		home = kept_home_open(s->dir.name, kept_home, e);
		r.kept_home = kept_home;
	}
	rc = keep_home && home < 0 ? -1 : inside_plan_files(in, &r, e);
	free(list);
	if (rc || (keep_home && kept_home_prepare(home, &in->plan, &host_tree, e)))
		return -1;
	in->check = mount_check_begin(&in->plan, e);
	return in->check ? 0 : -1;
}

static int make_environment(struct inside *in, const struct supervisor *s,
			    const struct inside_request *w, struct err *e)
{
	struct environment_request r = {
		.person = environ,
		.sandbox = s->dir.name,
		.home = in->plan.home,
		.user = s->options->as_root ? "root" : NULL,
		.workdir = in->plan.workdir,
		.apt_config = s->options->as_root ? SANDBOX_APT_CONFIG : NULL,
		.authority = s->networked,
		.credentials = policy_credentials(&s->live.policy),
		.placeholder_seed = s->placeholder_seed,
		.by_proxy = s->options->policy->network == NET_BROKERED,
		.added = w->env,
	};

	in->env = environment_build(&r);
	return in->env ? 0 : err_set(e, "out of memory");
}

static int find_command(const struct inside *in, const char *command, const char *cwd,
			struct err *e)
{
	if (!command)
		return 0;
	if (!*command) {
		err_set(e, "the command is empty; write it after --");
		return EXIT_NOT_FOUND;
	}
	if (command_path_check(&in->plan, &host_tree, command, environment_get(in->env, "PATH"),
			       cwd, e))
		return 0;
	return EXIT_NOT_FOUND;
}

int inside_plan(struct inside *in, struct supervisor *s, const struct inside_request *r,
		const char *cwd, struct err *e)
{
	if (plan_files(in, s, r, cwd, e) || make_environment(in, s, r, e))
		return EXIT_SANDGATE;
	planted_begin(&in->planted, in->plan.workdir);
	return find_command(in, r->command, cwd, e);
}

void inside_say_start(const struct inside *in)
{
	struct err e;

	if (!in->plan.warning)
		return;
	err_set(&e, "%s", in->plan.warning);
	supervisor_say(&e);
}

void inside_say_end(struct inside *in)
{
	char *line = planted_end(&in->planted);
	struct err e;

	if (line) {
		err_set(&e, "%s", line);
		supervisor_say(&e);
	}
	free(line);
}

void inside_free(struct inside *in)
{
	if (in->planted.folder >= 0)
		close(in->planted.folder);
	mount_check_free(in->check);
	file_plan_free(&in->plan);
	environment_free(in->env);
	*in = INSIDE_NONE;
}
