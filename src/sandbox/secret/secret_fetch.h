/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_fetch: the secrets that the broker wants, on their way from their sources to it. Private to
 * src/sandbox.
 */
#ifndef SG_SANDBOX_SECRET_FETCH_H
#define SG_SANDBOX_SECRET_FETCH_H

#include <poll.h>

#include "sandbox/broker_link.h"
#include "sandbox/secret/secret_keep.h"
#include "sandbox/secret/secret_reader.h"

enum {
	SECRET_FETCHES_MAX = 16, /* at once */
	SECRET_FETCH_REST_MS = 1000,
};

struct secret_fetch {
	bool used;
	size_t number; /* the broker's, of the credential */
	enum broker_secret part;
	char *from;		     /* a copy: the policy may change meanwhile */
	struct secret_reader reader; /* pid 0: it has been answered, and rests */
	mono_t rest_until;
};

struct secret_fetches {
	const char *parent_from; /* of the parent proxy's password; NULL: none. Borrowed */
	struct secret_fetch v[SECRET_FETCHES_MAX];
};

/*
 * Begins what the broker wants, as far as there is room; a variable is handed over at once. `policy`
 * is the one in force: a credential that it does not have is not read any more.
 */
void secret_fetch_begin(struct secret_fetches *f, struct broker_link *b,
			const struct secret_keep *keep, const struct policy *policy, mono_t now);

/* One descriptor for each that may be under way, -1 for others. */
void secret_fetch_poll(const struct secret_fetches *f, struct pollfd fds[SECRET_FETCHES_MAX]);

/* When the next one has to be looked at, or false. */
bool secret_fetch_next_deadline(const struct secret_fetches *f, mono_t *at);

/* Hands over what has come, and ends what took too long. */
void secret_fetch_serve(struct secret_fetches *f, struct broker_link *b, const struct pollfd *fds,
			mono_t now);

/* The broker that wanted them is gone. */
void secret_fetch_abandon(struct secret_fetches *f);

#endif
