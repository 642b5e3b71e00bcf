/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally: were the refusals that were not written counted?
 *
 * Refusals come faster than they are written. A written one says in "suppressed" how many of its reason
 * came since the written one before it; an entry with "totals" says, for each reason, how many there
 * were since the log began. For every such entry: written + suppressed = total.
 */
#ifndef SG_AUDIT_TALLY_H
#define SG_AUDIT_TALLY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct tally {
	json_t *counts; /* by reason; NULL: none yet */
	bool partly;	/* the log's beginning was pruned: its first totals are taken as they are */
};

void tally_init(struct tally *t, bool pruned);
void tally_free(struct tally *t);

/* The next entry. 0 or -1 with the message: the totals do not fit what is written. */
int tally_add(struct tally *t, const json_t *entry, struct err *e) sg_must_check;

#endif
