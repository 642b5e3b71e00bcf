/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment: the files that a log's entries are in, "NNNNNNNNNNNNNNNNNNNN.jsonl" by the sequence
 * number of the first, and a walk over their lines in order. The walk is a reader's: the writer may
 * add to the end at the same time.
 */
#ifndef SG_AUDIT_SEGMENT_H
#define SG_AUDIT_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/entry.h"

enum { SEGMENT_NAME = 20 + 6 };

void segment_name(uint64_t first, char out[SEGMENT_NAME + 1]);

/* The first sequence numbers of all segments, rising; the caller frees. 0 or -errno. */
int segment_list(int dir, uint64_t **out, size_t *n) sg_must_check;

enum walk_step {
	WALK_LINE,
	WALK_END,    /* no more */
	WALK_TORN,   /* the last line has no end */
	WALK_LONG,   /* longer than ENTRY_MAX */
	WALK_GAP,    /* the next segment does not begin with the entry that is next */
	WALK_FAILED, /* -errno in `error` */
};

struct walk {
	int dir;
	uint64_t *segments;
	size_t n_segments;
	size_t at;	   /* the segment whose turn is next */
	uint64_t seq;	   /* of the next line */
	uint64_t offset;   /* of the next line, in its segment */
	uint64_t segment;  /* that it is in */
	int fd;		   /* of that; -1: none yet */
	char *room;	   /* ENTRY_MAX octets */
	size_t start, end; /* what of it is read ahead */
	int error;
};

/*
 * From the segment with entry `from` on (its first entry is the first that is given), or from the
 * first there is. 0 or -errno; walk_close() in any case.
 */
int walk_open(struct walk *w, int dir, uint64_t from) sg_must_check;
/* The next line without its newline, valid until the next call; w->seq is then one more. */
enum walk_step walk_next(struct walk *w, struct span *line);
/* After WALK_TORN: how many octets the line has. */
size_t walk_torn(const struct walk *w);
void walk_close(struct walk *w);

#endif
