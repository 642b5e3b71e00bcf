/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_source: the secrets of a policy's credentials, read on the person's side just before they
 * are handed over (policy/secret_from.h says which sources there are; variables are
 * secret_keep.h's).
 *
 * What was read stands in the caller's memory and nowhere else. Messages name the source and never
 * what it gave.
 */
#ifndef SG_SANDBOX_SECRET_SOURCE_H
#define SG_SANDBOX_SECRET_SOURCE_H

#include "base/buf.h"
#include "base/err.h"

enum { SECRET_SOURCE_MAX = 16 * 1024, SECRET_SOURCE_SECONDS = 30 };

struct secret_request {
	const char *from; /* as in the policy */
	const char *host; /* the credential's, for `git` */
	int timeout_ms;	  /* of its programs, together; 0: SECRET_SOURCE_SECONDS */
};

/*
 * Appends what the source gives, for vault_put_source(). A file has to be a person's own or root's,
 * and shut to all others. A command is found by PATH, its whole path or nothing relative, and gets
 * no input. On an error nothing of it is left in `out`. 0, or -1 with "SOURCE: why; what to do".
 */
int secret_source_read(const struct secret_request *r, struct buf *out,
		       struct err *e) sg_must_check;

#endif
