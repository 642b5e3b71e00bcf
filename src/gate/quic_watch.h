/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quic_watch: the server name behind datagrams to port 443.
 *
 * For a refusal it names what was refused; with `quic: allow` it holds the first
 * datagrams of a flow until their server name is known. A few attempts are followed at
 * once; beyond that a refusal goes without a name and an admitted flow is refused.
 */
#ifndef SG_GATE_QUIC_WATCH_H
#define SG_GATE_QUIC_WATCH_H

#include "gate/context.h"
#include "gate/quic_initial.h"

struct quic_watch;

struct quic_watch *quic_watch_new(struct loop *l);

enum quic_seen {
	QUIC_SEEN_WAIT,	   /* more datagrams are needed; this one was kept */
	QUIC_SEEN_NAME,	   /* *name is filled */
	QUIC_SEEN_NO_NAME, /* malformed, no name, or no room to follow it */
	QUIC_SEEN_OTHER,   /* no first packet of a connection: not QUIC, or of one that is under way
			    */
};

/* One datagram of the attempt between these endpoints. Any answer but WAIT ends the attempt. */
enum quic_seen quic_watch_feed(struct quic_watch *w, const struct endpoint *src,
			       const struct endpoint *dst, struct span datagram, struct name *name);

/* The datagrams kept for the attempt that was answered last, in order; false when no more. */
bool quic_watch_next_kept(struct quic_watch *w, struct span *datagram);

#endif
