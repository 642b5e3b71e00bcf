/* SPDX-License-Identifier: Apache-2.0 */
/* door: sockets connected into the sandbox, for --publish. */
#ifndef SG_AIRLOCK_DOOR_H
#define SG_AIRLOCK_DOOR_H

#include "base/addr.h"
#include "base/err.h"

/* Where a server inside may listen, likeliest first. The caller's, for the whole life. */
struct door_places {
	const struct addr *v;
	size_t n;
	bool transparent; /* in the airlock itself: only what a transparent socket owns passes there */
};

/*
 * Gives up everything but making TCP connections in this network namespace. 0 or -1. Afterwards
 * the process can tell the keeper that it is ready and then only door_serve on `sock`. Both
 * descriptors stay open to the end, so that no other gets a number that may be written to.
 */
int door_confine(int sock, int keeper, const struct door_places *places,
		 struct err *e) sg_must_check;

/*
 * Answers requests on `sock` (SOCK_SEQPACKET) until its other end is closed.
 *
 *	request		port, 2 octets in network order
 *	answer		1 octet, 0 or an errno; with 0 one descriptor (SCM_RIGHTS): a non-blocking
 *			socket, connected
 */
void door_serve(int sock, const struct door_places *places) sg_noreturn;

#endif
