/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anchor: a log's checkpoints, kept where whoever may write the log's folder cannot take them back.
 *
 * A log proves itself up to its last checkpoint, and a folder that was put back to an older state
 * proves itself as well. Only a checkpoint kept elsewhere shows that. Nothing here belongs into a
 * process that is isolated: it writes files, runs a command, or talks to syslog.
 */
#ifndef SG_AUDIT_ANCHOR_H
#define SG_AUDIT_ANCHOR_H

#include <stdbool.h>

#include "base/err.h"

/* Where to; any number of them. */
struct audit_anchor {
	const char *file; /* checkpoints are added to its end; NULL: none */
	char *const
		*command; /* NULL-terminated, run with the checkpoint on its standard input; NULL */
	bool syslog;	  /* one line: origin, size and root */
};

/*
 * Hands `checkpoint`, the text of a signed note, to each place. `name` is the sandbox's, and the
 * command finds it as SANDGATE_NAME. Waits for the command, 10 s at most, then kills it. All places
 * are tried. 0 or -1 with the message about the first that failed.
 */
int audit_anchor_push(const struct audit_anchor *a, const char *name, const char *checkpoint,
		      struct err *e) sg_must_check;

#endif
