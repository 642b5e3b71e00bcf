/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/inside_base.h"

#include <stdlib.h>
#include <unistd.h>

#include "sandbox/files/file_plan.h"
#include "sandbox/files/kept_home.h"
#include "sandbox/files/own_folders.h"
#include "sandbox/person.h"
#include "sandbox/settings/trust.h"
#include "sandbox/supervisor.h"

static bool is_of_the_system(const struct mount *m, const void *ctx)
{
	return m->rank == RANK_BASE || m->rank == RANK_MASK;
}

/* With what of the host's a sandbox may have written. */
static int build(struct inside *in, struct file_request *r, struct err *e)
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

static void complete(const struct run_options *o, const struct own_folders *own,
		     struct file_request *r)
{
	r->host = &host_tree;
	r->home = getenv("HOME");
	r->as_root = o->as_root;
	r->host_root = person_is_root();
	r->hide = o->hide;
	r->own = own->list;
	r->own_ways = own->ways;
}

int inside_base_plan(struct inside *in, const struct supervisor *s, struct file_request *r,
		     enum inside_system system, struct err *e)
{
	bool keep_home = s->options->lasting && !r->no_workdir;
	_cleanup_fd_ int home = -1;
	char kept_home[PATH_MAX];
	struct own_folders own;

	own_folders_find(s->dir.registry.path, &own);
	complete(s->options, &own, r);
	if (keep_home) {
		home = kept_home_open(s->dir.name, kept_home, e);
		if (home < 0)
			return -1;
		r->kept_home = kept_home;
	}
	if (build(in, r, e))
		return -1;
	if (system == INSIDE_SYSTEM_IMAGE)
		file_plan_drop(&in->plan, is_of_the_system, NULL);
	if (keep_home && kept_home_prepare(home, &in->plan, &host_tree, e))
		return -1;
	in->check = mount_check_begin(&in->plan, e);
	return in->check ? 0 : -1;
}

struct environment_request inside_base_environment(const struct inside *in,
						   const struct supervisor *s)
{
	return (struct environment_request){
		.sandbox = s->dir.name,
		.home = in->plan.home,
		.authority = s->networked,
		.credentials = policy_credentials(&s->live.policy),
		.placeholder_seed = s->placeholder_seed,
		.by_proxy = s->options->policy->network == NET_BROKERED,
	};
}

int inside_base_check_command(const char *command, struct err *e)
{
	if (!command || *command)
		return 0;
	err_set(e, "the command is empty; write it after --");
	return EXIT_NOT_FOUND;
}
