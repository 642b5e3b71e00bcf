/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_beyond: what is kept of a sandbox's audit log where the log itself is not: its last
 * checkpoint in the host's log, and checkpoints handed to the anchors of the settings.
 */
#ifndef SG_SANDBOX_LOG_BEYOND_H
#define SG_SANDBOX_LOG_BEYOND_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "audit/anchor.h"
#include "base/clock.h"

/* Checkpoints are handed out no more often; the one of the end is in any case. */
enum { LOG_BEYOND_ANCHOR_MS = 10000 };

static inline bool log_beyond_has_anchor(const struct audit_anchor *a)
{
	return a->file || a->command || a->syslog;
}

/*
 * The sandbox `name`, with its logs in `folder`, has ended: `entry`, which is consumed, goes into
 * the host's log with the last checkpoint, and the anchors get that. Of one that is kept it is
 * there on return; of another a process that is left behind does it, for which nobody waits.
 */
void log_beyond_end(const char *name, int folder, bool kept, json_t *entry,
		    const struct audit_anchor *anchor);

/* log_folder_fn: of a sandbox whose supervisor was killed. */
void log_beyond_killed(const char *name, int folder);

/*
 * A child that hands out the latest checkpoint at `not_before`, and says on standard error what
 * went wrong. Its pid, or -1.
 */
pid_t log_beyond_start_anchoring(const char *name, int folder, const struct audit_anchor *anchor,
				 mono_t not_before);

#endif
