/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>

#include "audit/log.h"
#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/known.h"
#include "sandbox/log/host_log.h"
#include "sandbox/person.h"
#include "sandbox/run.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/state_dir.h"
#include "sandbox/who.h"

/* One that is stopped by force is not waited for long. */
enum { FORCED_SECONDS = 2 };

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

/* The name is claimed, so that nobody starts it meanwhile. */
static int take_away(const char *name, struct err *e)
{
	struct runtime_dir claim;
	int rc;

	if (runtime_dir_claim(&claim, name, "/", e))
		return -1;
	rc = note(name, e) || state_dir_remove(name, e) ? -1 : 0;
	runtime_dir_release(&claim);
	return rc;
}

/* Nothing of one that was not kept is left after its end. */
static int end_first(const char *name, bool force, bool *left, struct err *e)
{
	int known;

	if (!force)
		return err_set(
			e,
			"%s: it runs; stop it first: sandgate stop %s, or take it away at once "
			"with --force",
			name, name);
	if (ending_make(name, FORCED_SECONDS, e))
		return -1;
	known = known_find(name, e);
	*left = known == KNOWN_STOPPED;
	return known < 0 ? -1 : 0;
}

static int remove_known(const char *name, bool force, struct err *e)
{
	bool left = true;

	switch (known_find(name, e)) {
	case KNOWN_RUNS:
		if (end_first(name, force, &left, e))
			return -1;
		return left ? take_away(name, e) : 0;
	case KNOWN_STOPPED:
		return take_away(name, e);
	case KNOWN_NOT:
		return known_say_not(name, e);
	default:
		return -1;
	}
}

int cmd_rm(const struct args *a)
{
	struct err e;

	return remove_known(a->words[0], args_has(a, RM_FORCE), &e) ? cli_fail(EXIT_SANDGATE, &e)
								    : 0;
}
