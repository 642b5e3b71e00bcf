/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally: were the events that were not written counted?
 *
 * Refusals and requests come faster than they are written. A written one says in "suppressed" how
 * many of its account (account.h) came since the written one before it; an entry with "totals"
 * says, for each account, how many there were since the log began. For every such entry: written +
 * suppressed = total.
 *
 * That is of the log of one sandbox. The host's own has the ends of many, with the totals of each,
 * and none of their events.
 */
#ifndef SG_AUDIT_TALLY_H
#define SG_AUDIT_TALLY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

enum { TALLY_NAME_MAX = 63 };

struct tally {
	json_t *counts;			  /* by account; NULL: none yet */
	char sandbox[TALLY_NAME_MAX + 1]; /* whose log it is; empty: of none, or of many */
	bool partly; /* the log's beginning was pruned: its first totals are taken as they are */
};

/* `origin` of the log: "sandgate/HOST/NAME", or "sandgate/HOST" of the host's own. */
void tally_init(struct tally *t, const char *origin, bool pruned);
void tally_free(struct tally *t);

/* The next entry. 0 or -1 with the message: the totals do not fit what is written. */
int tally_add(struct tally *t, const json_t *entry, struct err *e) sg_must_check;

#endif
