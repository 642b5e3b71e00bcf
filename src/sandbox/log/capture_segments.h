/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_segments: the files of a capture: the one that is written, the next, and those that have
 * been written and are hashed. Private to src/sandbox.
 */
#ifndef SG_SANDBOX_CAPTURE_SEGMENTS_H
#define SG_SANDBOX_CAPTURE_SEGMENTS_H

#include <jansson.h>
#include <stdbool.h>

#include "sandbox/log/pcap_place.h"
#include "sandbox/log/segment_hash.h"

enum { CAPTURE_CLOSING_MAX = 4 };

/* A file that the recorder has, or had. */
struct capture_segment {
	int fd; /* -1: none */
	unsigned number;
	char path[PATH_MAX];
	json_int_t frames, dropped, octets; /* as the recorder says */
	struct segment_hash hash;
};

#define CAPTURE_SEGMENT_NONE ((struct capture_segment){.fd = -1, .hash = {.pipe = -1}})

struct capture_segments {
	struct pcap_place place;
	unsigned made; /* also those that are no longer here */
	struct capture_segment now, next;
	struct capture_segment closing[CAPTURE_CLOSING_MAX];
};

#define CAPTURE_SEGMENTS_NONE                                                              \
	((struct capture_segments){.place = {.folder = -1},                                \
				   .now = CAPTURE_SEGMENT_NONE,                            \
				   .next = CAPTURE_SEGMENT_NONE,                           \
				   .closing = {CAPTURE_SEGMENT_NONE, CAPTURE_SEGMENT_NONE, \
					       CAPTURE_SEGMENT_NONE, CAPTURE_SEGMENT_NONE}})

/* Makes the file after those that were made, as `g`, one of l. 0 or -1 with the message. */
int capture_segments_make(struct capture_segments *l, struct capture_segment *g,
			  struct err *e) sg_must_check;

/* Takes away one that was never used: an empty file would only be a riddle. */
void capture_segments_drop(const struct capture_segments *l, struct capture_segment *g);

/* The same for the next one, if there is one, which then counts as never made. */
void capture_segments_take_back_next(struct capture_segments *l);

/* How many more may be hashed. */
size_t capture_segments_room(const struct capture_segments *l);

/* None is written or hashed. */
bool capture_segments_are_over(const struct capture_segments *l);

/*
 * The one that is written is over: it is among those that are hashed, and returned. Where it is not
 * the last one the next is written, if there is one. NULL: none is written, or there is no room.
 */
struct capture_segment *capture_segments_turn(struct capture_segments *l, bool last);

/* Of those that are hashed the first in their order, when its hash is done; else NULL. */
struct capture_segment *capture_segments_first_hashed(struct capture_segments *l);

/* A descriptor to hand over: who has it may write the file, and not read it. -1 with the message. */
int capture_segment_open_for_writing(const struct capture_segment *g, struct err *e);

void capture_segment_close(struct capture_segment *g);

#endif
