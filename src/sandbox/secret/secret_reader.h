/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_reader: a child that reads one source of a secret (secret_source.h) into a pipe.
 *
 * The supervisor never has the secret: it hands the pipe on when the child has ended. A source may
 * be a command that takes its time, or never ends; the supervisor goes on meanwhile.
 */
#ifndef SG_SANDBOX_SECRET_READER_H
#define SG_SANDBOX_SECRET_READER_H

#include <sys/types.h>

#include "base/err.h"
#include "base/clock.h"

/* What a source may take, and then what ending its programs may. */
enum { SECRET_READER_MS = 30000, SECRET_READER_GRACE_MS = 2000 };

struct secret_reader {
	pid_t pid;
	int pidfd;    /* readable when it has ended */
	int secret;   /* the reading end */
	int why;      /* where it says what went wrong */
	mono_t until; /* then it is ended */
};

/*
 * Forks it for `from` of a credential for `host`. The caller blocks all signals. 0, or -1 with the
 * message and nothing to end.
 */
int secret_reader_start(struct secret_reader *r, const char *from, const char *host,
			struct err *e) sg_must_check;

/*
 * It has ended, or its time is over: gets rid of it. The reading end, the caller's, all of whose
 * octets are there; or -1 with "SOURCE: why; what to do", in ASCII.
 */
int secret_reader_finish(struct secret_reader *r, const char *from, struct err *e) sg_must_check;

/* Nobody wants it any more. */
void secret_reader_abandon(struct secret_reader *r);

#endif
