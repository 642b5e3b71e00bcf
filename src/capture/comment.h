/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comment: what stands beside a frame in the file. docs/capture.md has the words.
 *
 *	noise: WHY		dropped at the link: see noise.h
 *	link: WHAT		address resolution and the like
 *	allow: RULE		admitted, and whatever belongs to it, both ways
 *	deny: REASON[, ...]	refused
 *	pending: ...		its address is admitted, the name inside is still to be judged
 *	gate: ...		what the gate itself answers, or is asked: a lookup, a refusal
 *	undecided		nothing was decided by the time that the frame was written
 */
#ifndef SG_CAPTURE_COMMENT_H
#define SG_CAPTURE_COMMENT_H

#include "capture/noise.h"
#include "capture/pcapng.h"
#include "capture/verdict_table.h"

#define COMMENT_UNDECIDED "undecided"

enum { FIRST_FRAGMENTS = 64 };

/* What is known of the link, to say of each frame what became of it. */
struct commentator {
	struct verdict_table *verdicts; /* borrowed */
	struct link_facts link;
	/* The latest packets that came in pieces: of the later ones ports are not known. */
	struct first_fragment {
		struct addr src, dst;
		uint32_t id;
		struct tuple tuple;
	} fragment[FIRST_FRAGMENTS];
	size_t fragments; /* seen; the place of the next is the remainder */
};

struct seen_frame {
	struct span octets;
	bool from_sandbox;
	bool to_here; /* PACKET_HOST */
	int64_t time_ns;
};

/*
 * Writes the comment. False: nothing is known of it and something may be in a moment, since it asks
 * for a decision; the comment is the one for when nothing comes.
 */
bool comment_make(struct commentator *c, const struct seen_frame *s, const struct frame *f,
		  char out[PCAPNG_COMMENT_MAX]);

#endif
