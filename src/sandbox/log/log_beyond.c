/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/log_beyond.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/compiler.h"
#include "sandbox/engine/exposure.h"
#include "sandbox/log/host_log.h"

static char *last_checkpoint(int folder)
{
	_cleanup_fd_ int dir = openat(folder, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err ignored;

	return dir < 0 ? NULL : audit_log_checkpoint(dir, &ignored);
}

static void say(const struct err *e)
{
	dprintf(STDERR_FILENO, "sandgate: %s\n", e->text);
}

/* Consumes the entry. */
static void tell_host(json_t *entry, const char *checkpoint)
{
	struct err e;

	if (checkpoint)
		json_object_set_new(entry, "checkpoint", json_string(checkpoint));
	if (host_log_append(entry, &e))
		say(&e);
}

static int use_own_path(const struct exposure *x, const struct audit_anchor *anchor, struct err *e)
{
	const char *program = anchor->command ? anchor->command[0] : "";

	if (program[0] == '/' && exposure_has(x, program))
		return err_set(e, "audit.anchor: %s: a sandbox may write it", program);
	if (exposure_clean_environment(x) || chdir("/"))
		return err_set(e, "audit.anchor: %s", err_why(errno));
	return 0;
}

/* The command is run as the person: not found in a folder of an agent, nor run in one. */
static int stand_apart(const struct audit_anchor *anchor, struct err *e)
{
	struct exposure x;
	int rc;

	if (!anchor->command)
		return 0;
	if (exposure_read(&x, e))
		return -1;
	rc = use_own_path(&x, anchor, e);
	exposure_free(&x);
	return rc;
}

static void push(const char *name, const char *checkpoint, const struct audit_anchor *anchor)
{
	struct err e;

	if (checkpoint && log_beyond_has_anchor(anchor) &&
	    (stand_apart(anchor, &e) || audit_anchor_push(anchor, name, checkpoint, &e)))
		say(&e);
}

/*
 * True in a process that is left behind. Whoever reads what the command writes waits for its end.
 */
static bool leave_behind(void)
{
	if (fork() != 0)
		return false;
	setsid();
	close_range(0, ~0U, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (open("/dev/null", O_RDWR) < 0)
			_exit(EXIT_FAILURE);
	return true;
}

void log_beyond_end(const char *name, int folder, bool kept, json_t *entry,
		    const struct audit_anchor *anchor)
{
	char *checkpoint = last_checkpoint(folder);

	json_object_set_new(entry, "kept", json_boolean(kept));
	if (kept) {
		tell_host(entry, checkpoint);
		push(name, checkpoint, anchor);
	} else if (leave_behind()) {
		tell_host(entry, checkpoint);
		push(name, checkpoint, anchor);
		_exit(EXIT_SUCCESS);
	} else {
		json_decref(entry);
	}
	free(checkpoint);
}

void log_beyond_killed(const char *name, int folder)
{
	char *checkpoint = last_checkpoint(folder);

	if (leave_behind()) {
		tell_host(json_pack("{s:s, s:s, s:s, s:b}", "action", "sandgate.sandbox.stop",
				    "sandbox", name, "why", "the supervisor was killed", "kept", 0),
			  checkpoint);
		_exit(EXIT_SUCCESS);
	}
	free(checkpoint);
}

static void sg_noreturn anchor_later(const char *name, int folder,
				     const struct audit_anchor *anchor, mono_t not_before,
				     pid_t supervisor)
{
	int64_t ms = mono_ms_until(mono_now(), not_before);
	char *checkpoint;

	/* What the supervisor hands out at its end is newer. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
		_exit(EXIT_FAILURE);
	setsid();
	if (ms > 0)
		poll(NULL, 0, (int)ms);
	checkpoint = last_checkpoint(folder);
	push(name, checkpoint, anchor);
	_exit(EXIT_SUCCESS);
}

pid_t log_beyond_start_anchoring(const char *name, int folder, const struct audit_anchor *anchor,
				 mono_t not_before)
{
	pid_t self = getpid(), pid = fork();

	if (pid == 0)
		anchor_later(name, folder, anchor, not_before, self);
	return pid;
}
