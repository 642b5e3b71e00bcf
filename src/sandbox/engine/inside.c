/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/files/command_path.h"
#include "sandbox/engine/inside_base.h"
#include "sandbox/files/masked_files.h"
#include "sandbox/supervisor.h"

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

static int plan_files(struct inside *in, const struct supervisor *s, const struct inside_request *w,
		      const char *cwd, struct err *e)
{
	_cleanup_free_ char *masked = NULL;
	const char **list = masked_files_list(&masked);
	struct file_over over[CA_BUNDLE_PLACES];
	char hosts[INSIDE_HOSTS_MAX];
	struct file_request r = {
		.cwd = cwd,
		.rw = w->rw,
		.ro = w->ro,
		.devices = w->devices,
		.no_workdir = w->alone,
		.masked = list,
		.resolv_conf = s->networked ? INSIDE_RESOLV_CONF : "",
		.hosts = inside_hosts(s, hosts),
		.over = s->networked ? over : NULL,
	};
	int rc;

	ca_bundle_places(&s->ca, over);
	if (!list)
		return err_set(e, "the files in /etc that are not for everyone: %s",
			       strerror(errno));
	rc = inside_base_plan(in, s, &r, INSIDE_SYSTEM_HOST, e);
	free(list);
	return rc;
}

static int make_environment(struct inside *in, const struct supervisor *s,
			    const struct inside_request *w, struct err *e)
{
	struct environment_request r = inside_base_environment(in, s);

	r.person = environ;
	r.user = s->options->as_root ? "root" : NULL;
	r.workdir = in->plan.workdir;
	r.apt_config = s->options->as_root ? SANDBOX_APT_CONFIG : NULL;
	r.added = w->env;
	in->env = environment_build(&r);
	return in->env ? 0 : err_set(e, "out of memory");
}

static int find_command(const struct inside *in, const char *command, const char *cwd,
			struct err *e)
{
	int status = inside_base_check_command(command, e);

	if (status || !command)
		return status;
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
