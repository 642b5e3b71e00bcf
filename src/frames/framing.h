/* SPDX-License-Identifier: Apache-2.0 */
/*
 * framing: where frames begin and end in the octets of a stream, and which fit the link. Pure.
 *
 * Before each frame stand four octets of its length, in network order (QEMU's `-netdev stream`).
 */
#ifndef SG_FRAMES_FRAMING_H
#define SG_FRAMES_FRAMING_H

#include "base/span.h"

enum {
	FRAMING_LENGTH = 4,
	FRAME_SHORTEST = 14, /* an Ethernet header (IEEE 802.3, 3.1.1, without its padding) */
	/* NET_BUFSIZE of QEMU: no monitor sends more, so a length beyond it is none. */
	FRAME_LONGEST = 65536 + 4096,
};

/* True for a frame of `n` octets that a link of this MTU carries. */
static inline bool frame_fits(size_t n, uint32_t mtu)
{
	return n >= FRAME_SHORTEST && n - FRAME_SHORTEST <= mtu;
}

enum framing {
	FRAMING_FRAME,	 /* `frame` is whole, and fits */
	FRAMING_REFUSED, /* `frame` is whole, and does not fit */
	FRAMING_MORE,	 /* the next frame is not whole yet */
	FRAMING_LIE,	 /* no frame has this length: what follows cannot be told apart */
};

/*
 * The first frame of the octets, borrowed from them. `used` is how many are done with: FRAMING_LENGTH
 * and the frame, 0 when there is none. At a lie `frame` has its length and no octets.
 */
enum framing framing_next(struct span octets, uint32_t mtu, struct span *frame, size_t *used);

#endif
