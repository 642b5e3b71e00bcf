/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealer_confine: what the sealer gives up before it reads the key: the stages of
 * confine/confine.h.
 *
 * Left to it are four descriptors, of the files those in the two folders of the logs, and calls to
 * read and write them. It makes no socket, starts no program, and reaches no process.
 */
#ifndef SG_AUDIT_SEALER_CONFINE_H
#define SG_AUDIT_SEALER_CONFINE_H

#include <sys/types.h>

#include "base/err.h"
#include "confine/confine.h"

/* Its descriptors from then on. */
enum {
	SEALER_CONTROL = CONFINE_KEPT_FD, /* to the supervisor */
	SEALER_WAKE,			  /* the ring's eventfd */
	SEALER_AUDIT,
	SEALER_CONNECTIONS,
	SEALER_KEPT_END,
};

/*
 * In the child of `parent`, which has all signals blocked. Makes "audit" and "connections" in
 * `folder`. 0 or -1 with the message.
 */
int sealer_confine(int folder, int control, int wake, pid_t parent, struct err *e) sg_must_check;

#endif
