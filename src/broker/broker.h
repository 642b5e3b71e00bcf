/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker: the process that sees requests. See ARCHITECTURE.md for its place.
 *
 * It is forked by the supervisor when the policy needs it, isolates itself before the first
 * connection, and runs one loop until its control socket, or the gate's, closes. The sandbox's
 * authority is made in it and never leaves it; its certificate goes to the supervisor with `ready`.
 */
#ifndef SG_BROKER_BROKER_H
#define SG_BROKER_BROKER_H

#include <sys/types.h>

#include "audit/record.h"
#include "broker/patience.h"
#include "policy/permission.h"

struct broker_setup {
	const char *sandbox; /* its name, for remedies and the authority */
	int control;	     /* SOCK_SEQPACKET to the supervisor */
	int gate;	     /* SOCK_SEQPACKET to the gate */
	pid_t supervisor;    /* that forked it */
	struct ruleset
		*rules; /* of the process forked: freed when another policy takes its place */
	const struct host_prefixes *host;
	const struct catalogue *catalogue; /* lives as long as the process */
	struct span bundle;		   /* PEM: whom the host trusts */
	char *const *names;		   /* that the authority may sign for; NULL: any */
	unsigned authority_days;
	bool inspect_all;
	struct ring *ring;	  /* audit/record.h, of the broker's own; NULL: nothing is kept */
	struct patience patience; /* PATIENCE_USUAL */
	int wake;		  /* eventfd of the ring's reader, or -1 */
};

/* Never returns to the caller's code: the result is the exit status of the process. */
int broker_main(const struct broker_setup *s);

#endif
