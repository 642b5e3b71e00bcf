/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragments: packets in pieces, from the tun device and to it (RFC 791, RFC 8200).
 *
 * The airlock's kernel puts what comes in pieces together, with all that there is to mistrust in that,
 * and cuts it again as it was cut when it forwards it. So the pieces that come here are whole, in
 * order and one after the other, and anything else is none of the kernel's.
 */
#ifndef SG_GATE_FRAGMENTS_H
#define SG_GATE_FRAGMENTS_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"

struct fragments;

struct fragments *fragments_new(void); /* NULL without memory */

enum fragments_taken {
	FRAGMENTS_REFUSED, /* no piece, or none that follows on another */
	FRAGMENTS_MORE,	   /* kept: the packet is not whole yet */
	FRAGMENTS_WHOLE,   /* `whole` is the packet; it lives until the next call */
};

/* `piece` is a packet of the tun device, with a length field that is right or not. */
enum fragments_taken fragments_take(struct fragments *f, struct span piece, mono_t now,
				    struct span *whole);

/*
 * Cuts a packet of our own, without options, that is longer than the link's MTU: appends the piece
 * whose data begins at `at` to `b`, and returns where the next one begins, or 0 after the last.
 */
size_t fragments_cut(struct span packet, uint32_t mtu, uint32_t id, size_t at, struct buf *b);

#endif
