/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_confine: what the broker gives up, in the stages of confine/confine.h.
 *
 *	1 early	after the fork: no descriptor but its own, no environment, no capability, none to be
 *		had again, no core file, not dumpable; as many descriptors and as much locked
 *		memory as it may have. It can still open files.
 *	2 fully	when everything has been made and read, before the first connection: no file, and calls
 *		that use what it has. It makes no socket, no process and no executable memory, and
 *		reaches no other process.
 */
#ifndef SG_BROKER_BROKER_CONFINE_H
#define SG_BROKER_BROKER_CONFINE_H

#include "confine/confine.h"

/* Its descriptors after stage 1. */
enum {
	BROKER_CONTROL = CONFINE_KEPT_FD,
	BROKER_WAKE, /* only when there is one */
};

/* `wake` may be -1. 0 or -1 with the message. */
int broker_confine_early(int control, int wake, pid_t supervisor, struct err *e) sg_must_check;
int broker_confine_fully(struct err *e) sg_must_check;

#endif
