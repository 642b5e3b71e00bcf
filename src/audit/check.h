/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: goes over all that a log holds, and says the first thing that is not as it was sealed.
 *
 * One pass over the entries and their hashes. The tree is built of the entries, and of the hashes
 * alone where the entries were pruned; it must come by every root that is known to have been
 * signed.
 */
#ifndef SG_AUDIT_CHECK_H
#define SG_AUDIT_CHECK_H

#include "audit/checkpoint.h"
#include "audit/edge.h"

struct check {
	/* What is checked against. */
	struct edge edge;
	struct checkpoint own;		  /* the log's latest */
	const struct checkpoint *anchors; /* signed, kept elsewhere; sizes rise */
	size_t n_anchors;
	/* Read the entries, and the ones behind the edge too; or compare the hashes only. */
	bool thorough;

	/* What was found. */
	uint64_t first;	  /* the first entry whose text is there */
	uint64_t tail;	  /* whole entries behind the edge */
	size_t torn;	  /* octets of an unfinished line behind them */
	bool vanished;	  /* a segment is not there: unless it was pruned just now, a finding */
	uint64_t bad_seq; /* when it does not hold */
	struct err why;
};

enum check_result { CHECK_HOLDS, CHECK_BAD, CHECK_UNREAD };

/* CHECK_UNREAD: it could not be judged; the message says why. */
enum check_result check_run(struct check *c, int dir, struct err *e) sg_must_check;

/*
 * Reads the edge, or the latest checkpoint. 0 or -errno with the message: -ENOENT, -EBADMSG when it
 * is not what the writer of a log, or the holder of the key, made.
 */
int check_read_edge(int dir, struct edge *out, struct err *e) sg_must_check;
int check_read_checkpoint(int dir, const struct verifier *v, struct checkpoint *out,
			  struct err *e) sg_must_check;

#endif
