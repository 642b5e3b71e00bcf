/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped_policy: everything happens under the lock of the definition, which a start holds as well
 * while it reads it: a change is in the definition before the start, or is its supervisor's to
 * make. What cannot be written into the log is taken back.
 */
#include "sandbox/control/stopped_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/origin.h"
#include "sandbox/control/change_entry.h"
#include "sandbox/control/client.h"
#include "sandbox/definition.h"
#include "sandbox/person.h"
#include "sandbox/settings/sources.h"
#include "sandbox/state_dir.h"

#define AUDIT_FOLDER "audit"

static int look_whether_it_runs(const char *name, bool *runs, struct err *e)
{
	char **names = client_list_names(e);

	if (!names)
		return -1;
	for (char **n = names; *n; n++)
		*runs = *runs || strcmp(*n, name) == 0;
	client_free_names(names);
	return 0;
}

static struct audit_log *open_log(const char *name, struct err *e)
{
	_cleanup_fd_ int folder = state_dir_open_sandbox(name, true, e);
	_cleanup_fd_ int dir = -1;
	char origin[ORIGIN_MAX];
	struct audit_log_options o = {.origin = origin};

	if (folder < 0)
		return NULL;
	if (mkdirat(folder, AUDIT_FOLDER, 0700) == 0 || errno == EEXIST)
		dir = openat(folder, AUDIT_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0) {
		err_set(e, "%s: its audit log: %s", name, err_why(errno));
		return NULL;
	}
	origin_make(name, origin);
	return audit_log_open(dir, &o, e);
}

static int note(const struct change_made *made, struct err *e)
{
	struct audit_log *log = open_log(made->sandbox, e);
	json_t *entry;
	int rc;

	if (!log)
		return -1;
	entry = change_entry_print(made);
	rc = entry ? audit_log_append(log, entry) : -ENOMEM;
	if (rc == 0)
		rc = audit_log_commit(log, true);
	audit_log_close(log);
	return rc ? err_set(e, "the audit log: %s", err_why(-rc)) : 0;
}

/* Moves `to` into the definition, and writes it; what was there comes back into `to`. */
static int swap_and_save(const char *name, struct definition *d, struct policy *to,
			 uint64_t generation, struct err *e)
{
	struct policy before = d->policy;

	d->policy = *to;
	*to = before;
	d->generation = generation;
	return definition_save(name, d, e);
}

static int put_in_force(struct definition *d, struct policy *to, const struct change_made *made,
			struct err *e)
{
	uint64_t before = d->generation;
	struct err why;

	if (swap_and_save(made->sandbox, d, to, made->generation, e))
		return -1;
	if (note(made, e) == 0)
		return 0;
	if (swap_and_save(made->sandbox, d, to, before, &why))
		err_prefix(e, "nothing could be written back either (%s)", why.text);
	return -1;
}

/* Makes the change in d; `to` is the policy as it would be. */
static json_t *make(struct definition *d, struct policy *to, struct change_made *made,
		    struct err *e)
{
	struct policy from;
	json_t *said;

	if (policy_copy(&d->policy, &from, e))
		return NULL;
	made->before = &from;
	made->after = to;
	made->generation = d->generation + made->changed;
	said = change_entry_answer(made);
	if (said && made->changed && !made->dry_run) {
		made->after = &d->policy;
		if (put_in_force(d, to, made, e)) {
			json_decref(said);
			said = NULL;
		}
	}
	policy_free(&from);
	return said;
}

static json_t *change(const char *name, struct definition *d, const struct change_request *r,
		      const struct sources *sources, struct err *e)
{
	const struct policy_sources s = sources_for(sources, d->agent, d->languages);
	struct change_made made = {.sandbox = name, .who = person_uid(), .dry_run = r->dry_run};
	struct policy to;
	json_t *said;

	if (policy_apply_change(&d->policy, &r->change, &s, &to, &made.changed, e))
		return json_pack("{s:s}", "error", e->text);
	said = make(d, &to, &made, e);
	policy_free(&to);
	return said;
}

json_t *stopped_policy_change(const char *name, const struct change_request *r, bool *started,
			      struct err *e)
{
	_cleanup_fd_ int lock = definition_lock(name, e);
	struct sources sources;
	struct definition d;
	json_t *said = NULL;
	int rc;

	*started = false;
	if (lock < 0 || look_whether_it_runs(name, started, e) || *started)
		return NULL;
	if (sources_read(&sources, e))
		return NULL;
	rc = definition_load(name, &d, e);
	if (rc == -ENOENT)
		err_set(e, "%s: it has just been removed", name);
	if (rc == 0) {
		said = change(name, &d, r, &sources, e);
		definition_free(&d);
	}
	sources_free(&sources);
	return said;
}
