/* SPDX-License-Identifier: Apache-2.0 */
/* audit_where: which log an audit command is about, and the files that are given to it. */
#ifndef SG_CLI_AUDIT_WHERE_H
#define SG_CLI_AUDIT_WHERE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/span.h"

struct audit_where {
	const char *name; /* of a sandbox; NULL: none */
	const char *dir;  /* the folder of a log, or of a copy of one; NULL: none */
	bool host;	  /* the host's own */
};

/* Exactly one of them is said. 0 or -1 with the message. */
int audit_where_check(const struct audit_where *w, struct err *e) sg_must_check;

/* The folder of that log; -1 with the message. */
int audit_where_open(const struct audit_where *w, struct err *e);

/* What it is called in a message. */
const char *audit_where_label(const struct audit_where *w);

/* The file, at most 64 MiB; "-" is standard input. free((void *)out->p). NULL path: empty. */
int audit_where_read(const char *path, struct span *out, struct err *e) sg_must_check;

#endif
