/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control: the server side of a sandbox's control socket.
 *
 * A fixed table of connections, each read to the end of one request, answered, and read again until
 * the other side closes or its deadline passes; nothing here waits. A peer must have this process's
 * user or be root, and must be in this process's PID namespace: the sandbox has the same user. When
 * the table is full, others wait in the kernel's queue.
 */
#ifndef SG_SANDBOX_CONTROL_H
#define SG_SANDBOX_CONTROL_H

#include <jansson.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

enum { CONTROL_CONNECTIONS = 16, CONTROL_FDS = CONTROL_CONNECTIONS + 1 };

struct control;

/* The answer to a request, new; never NULL but without memory. `who` is the kernel's word. */
typedef json_t *control_answer_fn(void *ctx, const json_t *request, const struct ucred *who);

/* Makes the socket "control" in the folder `dir`. NULL with the message. */
struct control *control_open(int dir, control_answer_fn *answer, void *ctx, struct err *e);

/* What to poll for: writes at most CONTROL_FDS entries and returns how many. */
size_t control_poll(const struct control *c, struct pollfd *out);

/* After poll, with the same entries. Ends connections whose deadline has passed. */
void control_serve(struct control *c, const struct pollfd *fds, size_t n, mono_t now);

/* When the next deadline is, or false when no connection is open. */
bool control_next_deadline(const struct control *c, mono_t *at);

void control_close(struct control *c);

#endif
