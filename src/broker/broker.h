/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker: the process that sees requests. See ARCHITECTURE.md for its place.
 *
 * It is forked by the supervisor when the policy needs it, isolates itself before the first
 * connection, and runs one loop until its control socket closes. Gates come and go: each one's
 * socket is handed in by a message. The sandbox's authority is made in it and never leaves it; its
 * certificate goes to the supervisor with `ready`.
 */
#ifndef SG_BROKER_BROKER_H
#define SG_BROKER_BROKER_H

#include <sys/types.h>

#include "audit/record.h"
#include "broker/patience.h"
#include "broker/placeholder.h"
#include "policy/parent_proxy.h"
#include "policy/permission.h"

/* The proxy that the host has to use, which the gate connects to. */
struct broker_parent {
	bool is_there;
	bool has_password; /* which is asked for after `ready` */
	const char *user;  /* NULL: it is told no name */
	struct endpoint at[PARENT_ADDRESSES_MAX];
	size_t n;
};

struct broker_setup {
	const char *sandbox; /* its name, for remedies and the authority */
	int control;	     /* SOCK_SEQPACKET to the supervisor */
	pid_t supervisor;    /* that forked it */
	struct ruleset
		*rules; /* of the process forked: freed when another policy takes its place */
	const struct host_prefixes *host;
	const struct catalogue *catalogue; /* lives as long as the process */
	struct span bundle;		   /* PEM: whom the host trusts */
	struct broker_parent parent;
	unsigned authority_days;
	uint8_t placeholder_seed[PLACEHOLDER_SEED]; /* of the sandbox: the same for each broker */
	struct ring *ring; /* audit/record.h, of the broker's own; NULL: nothing is kept */
	struct refusals
		*refusals; /* audit/refusals.h, of the broker's own; NULL: none are counted */
	struct patience patience; /* PATIENCE_USUAL */
	int wake;		  /* eventfd of the ring's reader, or -1 */
};

/* Never returns to the caller's code: the result is the exit status of the process. */
int broker_main(const struct broker_setup *s);

#endif
