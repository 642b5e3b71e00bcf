/* SPDX-License-Identifier: Apache-2.0 */
/* ask: a question to a running sandbox that a person named. */
#ifndef SG_CLI_ASK_H
#define SG_CLI_ASK_H

#include <jansson.h>

#include "base/err.h"

/*
 * The answer to {"op": op} without the keys that only the protocol needs; the caller decrefs. NULL
 * with the message; for a name that does not run, with the nearest one that does.
 */
json_t *ask_sandbox(const char *name, const char *op, struct err *e);

#endif
