/* SPDX-License-Identifier: Apache-2.0 */
/* capture_ring: the shape of the ring between the kernel and the recorder (packet(7), TPACKET_V3). */
#ifndef SG_AIRLOCK_CAPTURE_RING_H
#define SG_AIRLOCK_CAPTURE_RING_H

/*
 * A frame of 64 KiB, the longest that a link with offloads carries, fits into a block; a block that
 * is not full is handed over after CAPTURE_RETIRE_MS.
 */
#define CAPTURE_BLOCK_OCTETS (1u << 20)
#define CAPTURE_BLOCKS	     8u
#define CAPTURE_FRAME_OCTETS 2048u
#define CAPTURE_RETIRE_MS    20u

#endif
