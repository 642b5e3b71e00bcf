/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_host: which permissions, and which of their operations, are about a destination,
 * whatever the request. Pure, and without memory of its own.
 */
#ifndef SG_POLICY_OPERATION_HOST_H
#define SG_POLICY_OPERATION_HOST_H

#include "policy/decide.h"
#include "policy/permission.h"

/* Does the permission have the destination: by its own hosts, or by those of the agent? */
bool permission_has_host(const struct ruleset *rs, const struct permission *p,
			 const struct destination *d);

/* An operation that names no host is for every host of its permission. */
bool operation_is_about(const struct ruleset *rs, const struct permission *p,
			const struct operation *o, const struct destination *d);

bool permission_has_operation(const struct ruleset *rs, const struct permission *p,
			      const struct destination *d);

/*
 * Is it only some requests that the permissions which are on let through to the destination: has
 * each of them that admits it operations there? Asks the compiled rules alone, and so is for each
 * connection.
 */
bool permissions_narrow(const struct ruleset *rs, const struct catalogue *c,
			const struct destination *d);

#endif
