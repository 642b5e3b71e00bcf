/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests: what the supervisor asks of a process that runs a loop, over a socket whose other end
 * only it holds.
 *
 * SOCK_SEQPACKET, one JSON object a message, 1 MiB at most; `op` says what is asked, and stands in
 * the answer with `ok`. The loop stops when the socket closes. docs/protocol.md lists the requests.
 */
#ifndef SG_IO_REQUESTS_H
#define SG_IO_REQUESTS_H

#include <jansson.h>

#include "base/err.h"
#include "io/loop.h"

struct request {
	json_t *object;
	int passed;    /* a descriptor that came with it, or -1; closed after the answer */
	struct err *e; /* why it could not be done, when a person may want to know */
};

struct request_kind {
	const char *op;
	/*
	 * What the answer holds beside `op` and `ok`. NULL: it cannot be done, and nothing has
	 * changed.
	 */
	json_t *(*answer)(void *ctx, const struct request *r);
	bool takes_descriptor; /* then it must come with one, else with none */
};

struct requests;

/* Takes over the descriptor; the table is borrowed. Before isolation. NULL without memory. */
struct requests *requests_new(struct loop *l, int fd, const struct request_kind *kinds, size_t n,
			      void *ctx);
void requests_free(struct requests *r);

/*
 * A message that nobody asked for, which is given away: the first one, `ready`. False when the
 * supervisor is gone.
 */
bool requests_say(struct requests *r, json_t *message);

/* Tells why the process cannot start, over the descriptor itself: there may be no loop yet. */
void requests_say_failed(int fd, const struct err *e);

extern const int requests_syscalls[];

#endif
