/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_precreate: adds to the configuration of a container that asks for a gate by its annotations,
 * before the container is made (oci-hooks(5), stage precreate): variables that name whom to trust, and
 * placeholders of credentials, where the policy inspects requests; and no AF_VSOCK.
 *
 * There is no gate yet, and none is promised: what is wrong with the annotations or the policy is found
 * here as well, and left to the hook that makes the gate (hook_attach.h), which says it in words and
 * refuses the container.
 */
#ifndef SG_CLI_HOOK_PRECREATE_H
#define SG_CLI_HOOK_PRECREATE_H

#include "base/err.h"
#include "base/span.h"

/* The configuration to take its place, to free; NULL with the message. */
char *hook_precreate(struct span config, struct err *e);

#endif
