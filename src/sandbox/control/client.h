/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: how a command asks the sandboxes that run. A person finds their own, root those of root.
 */
#ifndef SG_SANDBOX_CLIENT_H
#define SG_SANDBOX_CLIENT_H

#include <jansson.h>

#include "base/err.h"
#include "sandbox/control/control_socket.h"

/*
 * The names of the sandboxes that run, sorted, NULL-terminated; free with client_free_names().
 * NULL with the message when the registry cannot be read; a registry that is not there is empty.
 */
char **client_list_names(struct err *e);
void client_free_names(char **names);

/*
 * The same by the folder of the sandbox: -errno, and no message. One that has its name and is being
 * made has no socket yet, which is waited for.
 */
int client_connect_in(int dir, enum control_socket_kind kind);

/* A connection to a socket of a sandbox that runs, for the caller to close; -1 with the message. */
int client_connect(const char *name, enum control_socket_kind kind, struct err *e);

/*
 * Sends a request to one sandbox and returns its answer, an object that the caller decrefs. NULL
 * with the message: no such sandbox, or no answer within `ms`.
 */
json_t *client_exchange(const char *name, const json_t *request, int ms, struct err *e);

/* The same, where an answer that has an error is NULL with that message. */
json_t *client_request(const char *name, const json_t *request, int ms, struct err *e);

/*
 * Asks many at once: out[i] is the answer of names[i], new, or NULL when there is none. None waits
 * for another, but for at most CLIENT_AT_ONCE connections.
 */
enum { CLIENT_AT_ONCE = 64 };
void client_ask_all(char *const *names, size_t n, const char *op, json_t **out);

/* The same for {"op": op}, and 5 s. */
json_t *client_ask(const char *name, const char *op, struct err *e);

#endif
