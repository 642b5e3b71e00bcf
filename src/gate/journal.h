/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: what happened on the sandbox's network, as it happens: into the groups of refusals for
 * the summary, and as a record into the ring that the sealer reads (audit/record.h).
 *
 * A capture (verdicts.h) hears of what is decided by the same events.
 *
 * None of it waits or fails; without a ring only refusals are counted. The gate's own questions to
 * the resolver are not the sandbox's and are not noted.
 */
#ifndef SG_GATE_JOURNAL_H
#define SG_GATE_JOURNAL_H

#include "audit/record.h"
#include "audit/refusals.h"
#include "gate/verdicts.h"

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
	struct exchange exchange; /* for a capture */
};

struct journal;

/* `refusals` is borrowed; `ring` may be NULL, `wake` -1. NULL without memory. */
struct journal *journal_new(struct refusals *refusals, struct ring *ring, int wake);
void journal_free(struct journal *j);

void journal_note(struct journal *j, const struct event *e);

/*
 * For a capture alone: it is decided so for now, by the rule and the name of the event; or by the
 * gate itself, which does what `what` says.
 */
void journal_tell(struct journal *j, const struct event *e, enum verdict_kind kind,
		  const char *what);

/* A recorder listens from here on, the descriptor is taken over; -1: none does. */
void journal_follow_recorder(struct journal *j, int fd);
bool journal_is_recorded(const struct journal *j);

/* A ruleset of this generation decides from now on; rules of the one before are not named again. */
void journal_set_generation(struct journal *j, uint64_t generation);

#endif
