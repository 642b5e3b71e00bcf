/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet_ring: the reader's end of the ring between the kernel and the recorder (packet(7),
 * TPACKET_V3; airlock/capture_ring.h has its shape).
 *
 * Blocks come in order. One that was handed over is read frame by frame and given back as a whole;
 * until then its frames stay where they are.
 */
#ifndef SG_CAPTURE_PACKET_RING_H
#define SG_CAPTURE_PACKET_RING_H

#include "base/err.h"
#include "base/span.h"

struct ring_frame {
	struct span octets; /* the whole frame, also when the kernel has taken a tag out of it */
	uint8_t *open;	 /* the same octets, where a checksum is left to be completed; else NULL */
	uint32_t length; /* on the link */
	int64_t time_ns; /* since 1970 */
	uint8_t type;	 /* PACKET_HOST, PACKET_OUTGOING, ... */
	bool is_copy;	 /* ... only until the next look */
};

struct packet_ring;

/* Maps the ring of the socket, which stays the caller's. NULL with the message. */
struct packet_ring *packet_ring_map(int fd, struct err *e);
void packet_ring_unmap(struct packet_ring *r);

/* Is there a block to be read; and another behind it? */
bool packet_ring_ready(const struct packet_ring *r);
bool packet_ring_next_ready(const struct packet_ring *r);

/* Has the kernel had to drop frames since its statistics were read? Of the block that is read. */
bool packet_ring_losing(const struct packet_ring *r);

/* The frame that is next in the block; false: there is none left. `pass` goes on to the one after. */
bool packet_ring_look(struct packet_ring *r, struct ring_frame *out);
void packet_ring_pass(struct packet_ring *r);

/* Gives the block back. */
void packet_ring_release(struct packet_ring *r);

#endif
