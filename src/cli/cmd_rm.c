/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>

#include "audit/log.h"
#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/known.h"
#include "sandbox/definition.h"
#include "sandbox/log/host_log.h"
#include "sandbox/person.h"
#include "sandbox/run.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/state_dir.h"
#include "sandbox/who.h"

/* One that is stopped by force is not waited for long. */
enum { FORCED_SECONDS = 2, TRIES = 16 };

/* NULL when it never ran. */
static char *last_checkpoint(const char *name)
{
	struct err ignored;
	_cleanup_fd_ int folder = state_dir_open_sandbox(name, false, &ignored);
	_cleanup_fd_ int dir =
		folder < 0 ? -1 : openat(folder, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? NULL : audit_log_checkpoint(dir, &ignored);
}

/* Before the removal: what is not written down is not taken away. */
static int note(const char *name, struct err *e)
{
	_cleanup_free_ char *checkpoint = last_checkpoint(name);
	json_t *entry =
		json_pack("{s:s, s:s, s:o, s:s?}", "action", "sandgate.sandbox.remove", "sandbox",
			  name, "who", who_json(person_uid()), "checkpoint", checkpoint);

	return entry ? host_log_append(entry, e) : err_set(e, "out of memory");
}

static bool is_kept(const char *name)
{
	struct err ignored;
	int dir = state_dir_open_sandbox(name, false, &ignored);

	if (dir >= 0)
		close(dir);
	return dir != -ENOENT;
}

/* The definition is locked against changes of its policy, which would make its folder anew. */
static int take_away_kept(const char *name, struct err *e)
{
	_cleanup_fd_ int lock = definition_lock(name, e);

	if (lock < 0)
		return -1;
	return note(name, e) || state_dir_remove(name, e) ? -1 : 0;
}

/* The name is claimed, so that nobody starts it meanwhile. -EEXIST when another has it, or had. */
static int take_away(const char *name, struct err *e)
{
	struct runtime_dir claim;
	int rc = runtime_dir_claim(&claim, name, "/", e);

	if (rc)
		return rc;
	rc = is_kept(name) ? take_away_kept(name, e) : -EEXIST;
	runtime_dir_release(&claim);
	return rc;
}

static int end_first(const char *name, int dir, bool force, struct err *e)
{
	int rc;

	if (force)
		rc = ending_make(name, dir, FORCED_SECONDS, e);
	else
		rc = err_set(
			e,
			"%s: it runs; stop it first: sandgate stop %s, or take it away at once "
			"with --force",
			name, name);
	close(dir);
	return rc;
}

/* Nothing of one that was not kept is left after its end: `ended` says that there was one. */
static int remove_known(const char *name, bool force, struct err *e)
{
	bool ended = false;
	int dir;

	for (int i = 0; i < TRIES; i++) {
		int rc = -EEXIST;

		switch (known_open(name, &dir, e)) {
		case KNOWN_RUNS:
			if (end_first(name, dir, force, e))
				return -1;
			ended = true;
			break;
		case KNOWN_STOPPED:
			close(dir);
			rc = take_away(name, e);
			break;
		case KNOWN_NOT:
			return ended ? 0 : known_say_not(name, e);
		default:
			return -1;
		}
		/* Others have been at it in between: it is looked again. */
		if (rc != -EEXIST)
			return rc;
	}
	return err_set(e, "%s: others start it again and again; end what does, and try again",
		       name);
}

int cmd_rm(const struct args *a)
{
	struct err e;

	return remove_known(a->words[0], args_has(a, RM_FORCE), &e) ? cli_fail(EXIT_SANDGATE, &e)
								    : 0;
}
