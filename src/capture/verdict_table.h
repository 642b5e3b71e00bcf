/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_table: the verdicts that the gate has told of, by tuple.
 *
 * Of fixed size. Where an exchange finds no place the oldest of its set goes, so a sandbox that opens
 * many at once makes old ones undecided, and nothing else. Places are chosen with a key that the
 * sandbox does not know.
 */
#ifndef SG_CAPTURE_VERDICT_TABLE_H
#define SG_CAPTURE_VERDICT_TABLE_H

#include "capture/verdict_note.h"

enum { VERDICT_SETS = 4096, VERDICT_WAYS = 4 };

struct told_verdict {
	struct tuple tuple;
	int64_t time_ns; /* 0: the place is free */
	uint8_t kind;
	char text[VERDICT_TEXT_MAX];
};

struct verdict_table;

/* Address space, of which only what is used becomes memory. NULL without it. */
struct verdict_table *verdict_table_new(const uint64_t key[2]);
void verdict_table_free(struct verdict_table *t);

/* A valid note: in the place of an earlier one of the same exchange. */
void verdict_table_put(struct verdict_table *t, const struct verdict_note *n);

/* NULL: nothing is known of it. */
const struct told_verdict *verdict_table_find(const struct verdict_table *t,
					      const struct tuple *of);

#endif
