/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_log: the log of this user on this host (audit/log.h, in BASE/host of state_dir.h). It
 * outlives every sandbox: sandboxes made, stopped and removed with their last checkpoint,
 * organisation, settings.
 *
 * Commands that live for a moment write it, one after the other under the log's lock.
 */
#ifndef SG_SANDBOX_HOST_LOG_H
#define SG_SANDBOX_HOST_LOG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * Appends one entry: opens, appends, signs, closes. `entry` is consumed. 0 or -1 with the message.
 */
int host_log_append(json_t *entry, struct err *e) sg_must_check;

/* The folder, for reading. -ENOENT when nothing was written yet, -1 with the message. */
int host_log_open(struct err *e);

/*
 * What the log says of sandboxes: an object by name. Each value has "time" and "checkpoint", the
 * last one known, and "removed": its folder was taken away, at that time; and "checkpoints", an
 * array of all of them since it was made, for a log that is begun anew signs later ones as well. A
 * sandbox that was made again since is not in it. NULL with the message; empty when there is no
 * log.
 */
json_t *host_log_read_known(struct err *e);

#endif
