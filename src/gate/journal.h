/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: what happened on the sandbox's network, as it happens: into the groups of refusals for
 * the summary, and as a record into the ring that the sealer reads (audit/record.h).
 *
 * Neither waits nor fails; without a ring only refusals are counted. The gate's own questions to
 * the resolver are not the sandbox's and are not noted.
 */
#ifndef SG_GATE_JOURNAL_H
#define SG_GATE_JOURNAL_H

#include "audit/record.h"
#include "audit/refusals.h"

struct event {
	enum record_kind kind;
	enum record_proto proto;
	enum reason reason;	 /* RECORD_DENY: why; RECORD_END: REASON_NONE or why it was ended */
	const struct name *name; /* NULL: none known */
	const struct addr *addr; /* NULL: none (a lookup) */
	uint16_t port;
	const struct rule *rule; /* of the present ruleset; NULL: none decided */
	const char *method;	 /* NULL: no request */
	struct span path;	 /* its query, when it has one, is left out of the record */
	uint16_t status;	 /* 0: not seen */
	uint64_t bytes_out, bytes_in, duration_ms; /* RECORD_END */
	/* Of a lookup: what the summary counts a refusal under; NULL: `name`. */
	const struct name *counted_as;
};

struct journal;

/* `refusals` is borrowed; `ring` may be NULL, `wake` -1. NULL without memory. */
struct journal *journal_new(struct refusals *refusals, struct ring *ring, int wake);
void journal_free(struct journal *j);

void journal_note(struct journal *j, const struct event *e);

/* A ruleset of this generation decides from now on; rules of the one before are not named again. */
void journal_set_generation(struct journal *j, uint64_t generation);

#endif
