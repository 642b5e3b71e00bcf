/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http: the driver's side of HTTP/1.1 over a UNIX socket: requests with JSON bodies, one after the
 * other on each connection, answered now or later.
 *
 * Only root is served: another user's process gets 403, whatever the mode of the socket.
 */
#ifndef SG_DOCKER_HTTP_H
#define SG_DOCKER_HTTP_H

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/span.h"
#include "io/loop.h"

struct docker_http;
struct docker_call;

/* Answers the call with docker_call_answer(), before it returns or at any time after. */
typedef void docker_http_fn(void *ctx, struct docker_call *c);

/* `listener` stays the caller's. NULL with the message. */
struct docker_http *docker_http_start(struct loop *l, int listener, docker_http_fn *fn, void *ctx,
				      struct err *e);

/* Calls that are not answered yet end without an answer. */
void docker_http_stop(struct docker_http *h);

/* As the call asks for it: "/NetworkDriver.Join". */
const char *docker_call_path(const struct docker_call *c);
/* Valid until the call is answered. */
struct span docker_call_body(const struct docker_call *c);
/* Of who asks, as this process sees it; 0 when it is not seen here. */
pid_t docker_call_peer(const struct docker_call *c);

/* Once. Takes `answer`; NULL is "out of memory". */
void docker_call_answer(struct docker_call *c, json_t *answer);

/* Once, in its place: 404, by which dockerd knows that a driver does not have a request. */
void docker_call_answer_unknown(struct docker_call *c);

#endif
