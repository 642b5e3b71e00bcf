/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_folder: where the logs of a sandbox are.
 *
 *	BASE/sandboxes/NAME/	of one that is kept (state_dir.h)
 *	BASE/passing/NAME/	of one that is gone with its end, while it runs
 *
 * A passing folder belongs to the sandbox that has the name in the registry; without one it is left
 * over from a supervisor that was killed, and goes.
 */
#ifndef SG_SANDBOX_LOG_FOLDER_H
#define SG_SANDBOX_LOG_FOLDER_H

#include <stdbool.h>

#include "sandbox/runtime_dir.h"

/* Is told of a passing folder that is left over, before it is taken away. */
typedef void log_folder_fn(const char *name, int folder);

/*
 * A descriptor, the folder made when it is not there; -1 with the message. The name is claimed in
 * the registry. A passing one is made anew, and what is left over of others, which no running
 * sandbox of `r` has, is taken away.
 */
int log_folder_make(const struct registry *r, const char *name, bool lasting, log_folder_fn *fn,
		    struct err *e);

/*
 * A descriptor for reading: of one that runs, or of one that is kept. -ENOENT, or -1 with the
 * message.
 */
int log_folder_open(const char *name, struct err *e);

/* Takes a passing one away. */
void log_folder_remove(const char *name);

#endif
