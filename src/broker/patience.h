/* SPDX-License-Identifier: Apache-2.0 */
/* patience: how long a broker waits for others, in milliseconds. */
#ifndef SG_BROKER_PATIENCE_H
#define SG_BROKER_PATIENCE_H

#include <stdint.h>

struct patience {
	int64_t handshake; /* of TLS, each side by itself */
	int64_t dial;	   /* of the gate */
	int64_t head;	   /* of a request, from its first octet on */
	int64_t stall;	   /* that one side takes nothing of what waits for it */
	int64_t idle; /* no octet either way; flows that are not opened may be quiet for an hour */
	int64_t linger; /* after our end, for the client's */
	int64_t log;	/* for an audit log that can be written */
};

#define PATIENCE_USUAL                                                               \
	{                                                                            \
		.handshake = 10 * 1000, .dial = 30 * 1000, .head = 30 * 1000,        \
		.stall = 10 * 60 * 1000, .idle = 65 * 60 * 1000, .linger = 5 * 1000, \
		.log = 30 * 1000                                                     \
	}

#endif
