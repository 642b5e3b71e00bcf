/* SPDX-License-Identifier: Apache-2.0 */
/* permission_model: a permission of the catalogue as `net permissions` shows it. */
#ifndef SG_CLI_PERMISSION_MODEL_H
#define SG_CLI_PERMISSION_MODEL_H

#include <jansson.h>

#include "policy/permission.h"

struct permission_view {
	const struct catalogue *catalogue;
	char **languages;     /* permissions of the project in the working directory */
	char *const *removed; /* by the organisation's policy; NULL: none */
};

/* Has the organisation's policy taken it away, or something that goes with it? */
bool permission_is_removed(const struct permission_view *v, const struct permission *p);

/* Is it on in the preset `standard`, for the project in the working directory? */
bool permission_is_on(const struct permission_view *v, const struct permission *p);

/* An array of strings: those of the permission and of what it includes, whatever the agent. */
json_t *permission_hosts(const struct catalogue *c, const struct permission *p);

/*
 * `id`, `says`, `hosts`, `operations`, `on`. The hosts are all that it may let through,
 * whichever agent runs.
 */
json_t *permission_model(const struct permission_view *v, const struct permission *p);

#endif
