/* SPDX-License-Identifier: Apache-2.0 */
/* hook_trust: the certificates of a sandbox in the files of a container that waits to begin. */
#ifndef SG_CLI_HOOK_TRUST_H
#define SG_CLI_HOOK_TRUST_H

#include "base/err.h"
#include "sandbox/engine/oci_state.h"
#include "sandbox/settings/trusted_file.h"

/* config.json of the container; free(out->p). 0, or -1 with the message. */
int hook_config_read(const struct oci_state *s, struct trusted_text *out,
		     struct err *e) sg_must_check;

/*
 * trust_place.h, by that configuration; `process` is a pidfd of the container's first one. What
 * is less than it could be is in the system's log.
 */
int hook_trust_place(struct span config, const char *sandbox, int process,
		     struct err *e) sg_must_check;

#endif
