/* SPDX-License-Identifier: Apache-2.0 */
/* host_prefixes: the host's own addresses and connected subnets as the supervisor tells them. */
#ifndef SG_POLICY_HOST_PREFIXES_H
#define SG_POLICY_HOST_PREFIXES_H

#include <jansson.h>

#include "policy/decide.h"

/*
 * From ["10.0.0.0/24", ...]. False, and `out` unchanged, when one does not parse or they are too
 * many: it would be an address left open.
 */
bool host_prefixes_parse(const json_t *rows, struct host_prefixes *out);

#endif
