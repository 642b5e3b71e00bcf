/* SPDX-License-Identifier: Apache-2.0 */
/* stopped_policy: the change of a sandbox that has a name and does not run: of its definition. */
#ifndef SG_SANDBOX_STOPPED_POLICY_H
#define SG_SANDBOX_STOPPED_POLICY_H

#include <jansson.h>

#include "sandbox/control/change_request.h"

/*
 * As the supervisor of a running one would (live_policy.h): all or nothing, kept, written into the
 * sandbox's audit log. The answer is the same, with `error` when it was not right; NULL with the
 * message when it could not be done. `started`: it runs by now, and its supervisor is to be asked.
 */
json_t *stopped_policy_change(const char *name, const struct change_request *r, bool *started,
			      struct err *e);

#endif
