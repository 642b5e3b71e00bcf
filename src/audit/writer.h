/* SPDX-License-Identifier: Apache-2.0 */
/* writer: what the one writer of a log holds. Inside of log.c and of what opens one; see log.c. */
#ifndef SG_AUDIT_WRITER_H
#define SG_AUDIT_WRITER_H

#include "audit/edge.h"
#include "audit/log.h"
#include "audit/signer.h"

enum {
	PENDING_OCTETS =
		1 << 20, /* of lines that are written and not sealed; one more may begin below */
	SEGMENT_OCTETS = 16 << 20,
};

/* Written and not sealed: the lines one after the other, and their hashes. */
struct pending {
	char *lines;
	size_t n, room; /* octets */
	struct digest *hashes;
	size_t entries, entries_room;
};

struct audit_log {
	int dir;
	int lock;
	int segment_fd; /* of the last segment; -1: not made yet */
	int hashes_fd;
	struct audit_log_options options;
	struct signer signer;
	struct tree tree;	   /* all that is written */
	char time[ENTRY_TIME + 1]; /* of the last entry; empty: none */
	uint64_t sealed;	   /* entries in the edge */
	uint64_t signed_size;	   /* in the checkpoint */
	uint64_t segment, octets;  /* the last segment's first entry, and its octets so far */
	uint64_t first;		   /* entries before it are, or may be, pruned */
	uint64_t *segments;	   /* first entries of the files that are there, rising */
	size_t n_segments;
	struct pending pending;
	bool overhang; /* the segment is longer than `octets` */
	bool rewrite;  /* a sync failed: what is pending may not be in the file any more */
	bool flushed;  /* what is pending is on the disk, and an edge that says so may be */
};

/* 0 or -errno, all of them. */

/* Makes the last segment's file when it is not open. */
int writer_open_segment(struct audit_log *l) sg_must_check;
void writer_close_segment(struct audit_log *l);
/* Room for a line of n octets among what is pending. */
int writer_reserve(struct audit_log *l, size_t n) sg_must_check;
/* A line, with its newline, stands in the segment; room is there. */
void writer_take(struct audit_log *l, struct span line, const char *time);
int writer_put_edge(struct audit_log *l, const struct edge *edge) sg_must_check;
/* Signs what is sealed, which is everything. */
int writer_sign(struct audit_log *l) sg_must_check;
int writer_remove_oldest(struct audit_log *l) sg_must_check;
void writer_free(struct audit_log *l);

#endif
