/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check: the checks by name that operations have (catalogue_checks in policy/permission.h).
 */
#ifndef SG_BROKER_REQUEST_CHECK_H
#define SG_BROKER_REQUEST_CHECK_H

#include "broker/operations.h"

/* `*why`, of ADMITS_NOT: what is wrong, a static sentence piece. A check that is unknown fails. */
enum admits request_check(const char *check, const struct asked *a, const char **why);

#endif
