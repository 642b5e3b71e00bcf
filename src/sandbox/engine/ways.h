/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways: what else comes to lead out of a sandbox's network namespace while it runs.
 *
 * Such a device is taken away at once, as at the start; where that cannot be, it is told, logged
 * and shown as long as it is there. Whoever makes devices again and again, or takes the link away,
 * ends the sandbox: closed either way. Private to src/sandbox.
 */
#ifndef SG_SANDBOX_WAYS_H
#define SG_SANDBOX_WAYS_H

#include "sandbox/engine/netns.h"
#include "sandbox/restarts.h"

struct supervisor;

struct ways {
	int netns; /* the caller's */
	/* Number in it of the sandbox's end of the link, which may be still to come. */
	uint32_t link;
	struct netns_watch watch; /* `events` is readable when ways_look() is to be called */
	struct restarts taken;	  /* devices taken away */
};

#define WAYS_NONE ((struct ways){.netns = -1, .watch = NETNS_WATCH_NONE})

int ways_open(struct ways *w, int netns, uint32_t link, struct err *e) sg_must_check;
void ways_look(struct ways *w, struct supervisor *s);
void ways_close(struct ways *w);

#endif
