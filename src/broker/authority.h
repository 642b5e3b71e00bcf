/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority: the certificate authority of one sandbox. It lives in the broker, is made anew at
 * each start, and its key never leaves the process.
 *
 * It signs for nothing but servers, by names, and, when it was made with names, for nothing but
 * those: clients hold it to that (RFC 5280, 4.2.1.10), whatever became of the key.
 */
#ifndef SG_BROKER_AUTHORITY_H
#define SG_BROKER_AUTHORITY_H

#include <time.h>

#include <openssl/types.h>

#include "base/err.h"
#include "base/name.h"
#include "base/span.h"

struct authority;

enum { AUTHORITY_DAYS_MAX = 3650 };

/*
 * A new CA: ECDSA P-256, its key in locked memory, valid from an hour ago for `days`. `names`
 * ends with NULL, each a host or "*." or "**." before one; NULL or none: any name. A constraint
 * to a host covers what is below it too.
 */
struct authority *authority_new(const char *sandbox, char *const *names, unsigned days,
				struct err *e);
void authority_free(struct authority *a); /* after the connections that it was given to */

struct span authority_certificate(const struct authority *a); /* PEM */

/* In seconds since 1970: from then on it signs nothing. */
time_t authority_end(const struct authority *a);

/* Was it made for the name? And for all names of a pattern, written as for authority_new()? */
bool authority_may_sign(const struct authority *a, const struct name *name);
bool authority_covers(const struct authority *a, const char *pattern);

/* A certificate for the name that goes with its key, from the cache or new. */
struct leaf {
	X509 *certificate; /* a reference: the caller's to free */
	EVP_PKEY *key;	   /* the authority's */
};

/* 0, or -1 with a sentence piece: it has expired, or it may not sign for that name. */
int authority_find_leaf(struct authority *a, const struct name *name, struct leaf *out,
			struct err *e) sg_must_check;

/* The context of connections to clients; the authority's. */
SSL_CTX *authority_context(const struct authority *a);

#endif
