/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: how a command asks the sandboxes that run. A person finds their own, root those of root.
 */
#ifndef SG_SANDBOX_CLIENT_H
#define SG_SANDBOX_CLIENT_H

#include <jansson.h>

#include "base/err.h"

/*
 * The names of the sandboxes that run, sorted, NULL-terminated; free with client_free_names().
 * NULL with the message when the registry cannot be read; a registry that is not there is empty.
 */
char **client_list_names(struct err *e);
void client_free_names(char **names);

/*
 * Sends {"op": op} to one sandbox and returns its answer, an object that the caller decrefs. NULL
 * with the message: no such sandbox, no answer within 5 s, or what the sandbox's supervisor said.
 */
json_t *client_ask(const char *name, const char *op, struct err *e);

#endif
