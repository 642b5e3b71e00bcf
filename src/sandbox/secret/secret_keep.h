/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_keep: the values of variables that are secrets (`env:NAME`), from the start of a sandbox to
 * its end.
 *
 * They come in the environment, where /proc, every child and a core file have them. So they are
 * moved, before anything is forked, into locked memory that a child finds empty (broker/locked.h), and
 * wiped where they were. From there they leave through a pipe, and not otherwise.
 */
#ifndef SG_SANDBOX_SECRET_KEEP_H
#define SG_SANDBOX_SECRET_KEEP_H

#include "policy/credential.h"

/* A source and a client's secret for each. */
enum { SECRET_KEEP_MAX = 2 * CREDENTIALS_MAX };

struct secret_keep {
	char *text; /* locked: the values, one behind the other */
	size_t n;
	struct kept {
		char *name; /* of the variable */
		size_t at, n;
	} v[SECRET_KEEP_MAX];
	size_t n_kept;
};

/*
 * Moves the variables that the credentials name, and `other` (a source, or NULL), out of the environment of this process. One that is
 * not set is not kept. 0, or -1 with the message; secret_keep_free() in both cases.
 */
int secret_keep_take(struct secret_keep *k, const struct credential_list *list, const char *other,
		     struct err *e) sg_must_check;

/* Is it one of the sources that are kept here? */
bool secret_keep_has_kind(const char *from);

/*
 * The reading end of a pipe with the value of such a source in it, whose other end is closed. -1
 * with "SOURCE: why; what to do".
 */
int secret_keep_open(const struct secret_keep *k, const char *from, struct err *e) sg_must_check;

/* Wipes them. */
void secret_keep_free(struct secret_keep *k);

#endif
