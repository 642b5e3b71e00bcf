/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stored.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/known.h"
#include "policy/change.h"
#include "sandbox/engine/engine.h"
#include "sandbox/log/host_log.h"
#include "sandbox/path.h"
#include "sandbox/person.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/state_dir.h"
#include "sandbox/who.h"

/* --- a new one --- */

static char **copy_list(const char *const *list)
{
	size_t n = 0;
	char **v;

	while (list && list[n])
		n++;
	v = calloc(n + 1, sizeof(*v));
	for (size_t i = 0; v && i < n; i++) {
		v[i] = strdup(list[i]);
		if (!v[i])
			n = i;
	}
	return v;
}

/* A path that was written from another folder is another path. */
static char **absolute_list(const char *cwd, const char *const *list, struct err *e)
{
	char **v = copy_list(list), path[PATH_MAX];

	for (char **p = v; p && *p; p++) {
		free(*p);
		*p = **list && path_join(cwd, *list, path) ? strdup(path) : NULL;
		if (!*p) {
			err_set(e, "%s: the path is empty, or too long", *list);
			for (char **q = p + 1; *q; q++)
				free(*q);
			for (char **q = v; q < p; q++)
				free(*q);
			free(v);
			return NULL;
		}
		list++;
	}
	return v;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void fill_pcap(struct definition *d, const struct capture_request *r)
{
	d->pcap = r->file ? strdup(r->file) : NULL;
	d->pcap_max_mb = r->max_mb;
	d->pcap_files = r->files;
	d->pcap_keys = r->keys;
}

/* definition_free() in any case. */
static int fill(struct definition *d, const struct run_options *o, struct err *e)
{
	*e->text = 0;
	d->created_ms = now_ms();
	d->workdir = getcwd(NULL, 0);
	if (!d->workdir || *d->workdir != '/')
		return err_set(e, "the working directory cannot be reached; go to one that exists");
	d->agent = o->agent ? strdup(o->agent) : NULL;
	d->engine = o->engine && o->engine != engine_default() ? strdup(o->engine->name) : NULL;
	d->image = o->image ? strdup(o->image) : NULL;
	d->languages = copy_list((const char *const *)o->languages);
	d->env = copy_list(o->env);
	d->as_root = o->as_root;
	fill_pcap(d, &o->pcap);
	d->rw = absolute_list(d->workdir, o->rw, e);
	d->ro = absolute_list(d->workdir, o->ro, e);
	d->hide = absolute_list(d->workdir, o->hide, e);
	if (d->rw && d->ro && d->hide && d->languages && d->env && !o->agent == !d->agent &&
	    !o->image == !d->image && !o->pcap.file == !d->pcap)
		return policy_copy(o->policy, &d->policy, e);
	return *e->text ? -1 : err_set(e, "out of memory");
}

static int note(const char *action, const char *name, struct err *e)
{
	json_t *entry = json_pack("{s:s, s:s, s:o}", "action", action, "sandbox", name, "who",
				  who_json(person_uid()));

	return entry ? host_log_append(entry, e) : err_set(e, "out of memory");
}

struct new
{
	const char *name;
	const struct definition *d;
};

/*
 * While nobody takes a name. It is not claimed for that: who starts one of that name would find it
 * taken by one that is then refused.
 */
static int save_new(void *ctx, struct err *e)
{
	const struct new *n = ctx;
	struct err ignored;
	int dir = state_dir_open_sandbox(n->name, false, e), rc, left;

	if (dir >= 0) {
		close(dir);
		err_set(e,
			"%s: there is one of that name already; start it with: sandgate start %s",
			n->name, n->name);
		return -EEXIST;
	}
	if (dir != -ENOENT || note("sandgate.sandbox.create", n->name, e))
		return -1;
	rc = definition_save(n->name, n->d, e);
	/* An empty folder would be a sandbox that can neither be made again nor started. */
	left = rc ? state_dir_remove(n->name, &ignored) : 0;
	return rc || left ? -1 : 0;
}

/* What the first start would refuse, or the engine lacks, is said now. */
static int check_kept(const struct run_options *o, struct err *e)
{
	if (o->pcap.file && o->policy->network == NET_NONE)
		return err_set(e, "--pcap: the network `none` has no link; take --net deny");
	if (!o->engine)
		return 0;
	if (!o->engine->kept)
		return err_set(e, "--engine %s: such a sandbox is not kept; leave its name out",
			       o->engine->name);
	return o->engine->check ? o->engine->check(o, e) : 0;
}

int stored_create(const struct run_options *o, struct err *e)
{
	struct definition d;
	struct new n = {o->name, &d};
	int rc;

	definition_init(&d);
	rc = check_kept(o, e) ? -1 : fill(&d, o, e);
	if (rc == 0)
		rc = registry_while_free(o->name, save_new, &n, e);
	definition_free(&d);
	return rc == -EEXIST ? STORED_TAKEN : rc ? EXIT_SANDGATE : 0;
}

/* --- one that is kept --- */

static const char **join_lists(char *const *a, const char *const *b)
{
	size_t n = 0, m = 0;
	const char **v;

	while (a && a[n])
		n++;
	while (b && b[m])
		m++;
	v = calloc(n + m + 1, sizeof(*v));
	for (size_t i = 0; v && i < n + m; i++)
		v[i] = i < n ? a[i] : b[i - n];
	return v;
}

static int load(const char *name, struct definition *d, struct err *e)
{
	int rc = definition_load(name, d, e);

	if (rc != -ENOENT)
		return rc;
	return err_set(
		e, "%s: its definition is missing; take what is left of it away: sandgate rm %s",
		name, name);
}

static int check_workdir(const char *name, const struct definition *d, struct err *e)
{
	if (access(d->workdir, F_OK) == 0)
		return 0;
	return err_set(e,
		       "%s: its working directory %s: %s; put it back, or take the sandbox away: "
		       "sandgate rm %s",
		       name, d->workdir, strerror(errno), name);
}

static int find_engine(const char *name, struct stored *out, struct err *e)
{
	out->engine = engine_find(out->d.engine, e);
	return out->engine ? 0 : err_prefix(e, "%s", name);
}

static void set_options(const char *name, const struct sources *s, struct stored *out, int lock)
{
	struct definition *d = &out->d;

	out->o = (struct run_options){
		.name = name,
		.policy = &d->policy,
		.sources = s,
		.agent = d->agent,
		.engine = out->engine,
		.image = d->image,
		.languages = d->languages,
		.generation = d->generation,
		.lasting = true,
		.rw = (const char *const *)d->rw,
		.ro = (const char *const *)d->ro,
		.hide = (const char *const *)d->hide,
		.env = out->env,
		.as_root = d->as_root,
		.pcap = {.file = d->pcap,
			 .max_mb = d->pcap_max_mb,
			 .files = d->pcap_files,
			 .keys = d->pcap_keys,
			 .again = true},
		.workdir = d->workdir,
		.lock = lock,
	};
}

int stored_open(const char *name, const struct sources *s, const char *const *env,
		struct stored *out, struct err *e)
{
	int lock = definition_lock(name, e), rc;
	struct policy_sources sources;

	*out = (struct stored){.env = NULL};
	definition_init(&out->d);
	rc = lock < 0 ? -1 : load(name, &out->d, e);
	if (rc == 0)
		rc = find_engine(name, out, e) || check_workdir(name, &out->d, e) ? -1 : 0;
	if (rc == 0) {
		sources = sources_for(s, out->d.agent, out->d.languages);
		rc = policy_resolve(&out->d.policy, &sources, e);
		if (rc)
			err_prefix(e, "%s: its policy", name);
	}
	if (rc == 0) {
		out->env = join_lists(out->d.env, env);
		set_options(name, s, out, lock);
		return 0;
	}
	if (lock >= 0)
		close(lock);
	stored_close(out);
	return EXIT_SANDGATE;
}

void stored_capture(struct stored *st, const struct capture_request *r)
{
	if (r->file)
		st->o.pcap = *r;
}

void stored_close(struct stored *st)
{
	definition_free(&st->d);
	free(st->env);
	*st = (struct stored){.env = NULL};
}
