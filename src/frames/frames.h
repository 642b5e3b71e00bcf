/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames: the process that carries Ethernet frames between the UNIX socket of a virtual machine
 * monitor and the tap device of an airlock.
 *
 *	stream	SOCK_STREAM, four octets of length in network order before each frame: QEMU's
 *		`-netdev stream`, passt's protocol. One client at a time, the next when it has gone.
 *	dgram	SOCK_DGRAM, a frame a datagram: QEMU's `-netdev dgram` with paths. The first sender
 *		is the machine, until its socket is gone.
 *
 * It looks at no frame: a frame that is too short or too long is refused here, everything else is
 * for the rules of the airlock. It holds the two descriptors that it was given and nothing else.
 */
#ifndef SG_FRAMES_FRAMES_H
#define SG_FRAMES_FRAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum frames_kind { FRAMES_STREAM, FRAMES_DGRAM };

/* In memory that the supervisor made: written by the process that lives, read by the supervisor. */
struct frames_counters {
	uint64_t out;	  /* frames of the machine's, given to the tap device */
	uint64_t in;	  /* frames for the machine, given to its socket */
	uint64_t refused; /* of the machine's: too short, too long, or from a stranger */
	uint64_t lost;	  /* for the machine, which did not take them */
};

struct frames_setup {
	enum frames_kind kind;
	int tap;    /* IFF_TAP | IFF_NO_PI | IFF_VNET_HDR; non-blocking or not */
	int socket; /* listening, or bound; stays open for the next process */
	uint32_t mtu;
	struct frames_counters *counters;
};

/*
 * For the child of a fork: never returns. Confines itself, says {"op":"ready"} or, with the message,
 * {"op":"failed","why":…} on `control`, and carries frames until `control` closes. `parent` is who
 * forked it.
 */
void frames_main(const struct frames_setup *s, int control, pid_t parent) sg_noreturn;

#endif
