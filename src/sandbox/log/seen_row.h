/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_row: one row of the gate's refusals, or one line of the connection log, taken apart; pure.
 */
#ifndef SG_SANDBOX_SEEN_ROW_H
#define SG_SANDBOX_SEEN_ROW_H

#include <jansson.h>

#include "policy/seen.h"

/*
 * Strict, since what a row says comes from the process that reads the sandbox's octets: false when
 * a field is not what it should be. Without `reason` it was admitted, without `count` it is one.
 */
bool seen_row_read(const json_t *row, struct seen *s);

#endif
