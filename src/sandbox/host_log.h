/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_log: the log of this user on this host (audit/log.h, in BASE/host of state_dir.h). It outlives
 * every sandbox: sandboxes made, stopped and removed with their last checkpoint, organisation, settings.
 */
#ifndef SG_SANDBOX_HOST_LOG_H
#define SG_SANDBOX_HOST_LOG_H

#include <jansson.h>

#include "base/err.h"

/* Appends one entry: opens, appends, commits, closes. `entry` is consumed. 0 or -1 with the message. */
int host_log_append(json_t *entry, struct err *e) sg_must_check;

#endif
