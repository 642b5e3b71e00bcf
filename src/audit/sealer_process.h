/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealer_process: the parts of the sealer as a process.
 *
 *	sealer_main.c		its start, its loop, and what comes from the ring
 *	sealer_confine.c	what it gives up
 *	sealer_entries.c	the audit log, also on a disk that is full
 *	sealer_requests.c	the supervisor's messages
 *
 * Private to these.
 */
#ifndef SG_AUDIT_SEALER_PROCESS_H
#define SG_AUDIT_SEALER_PROCESS_H

#include "audit/connection_log.h"
#include "audit/ledger.h"
#include "audit/log.h"
#include "audit/sealer_confine.h"
#include "audit/sealer_main.h"
#include "base/clock.h"

struct process {
	const struct sealer_setup *setup;
	pid_t parent;
	struct ring *ring;
	struct event_printer *printer;
	struct connection_log *connections;
	struct audit_log *log;
	struct ledger *ledger;

	size_t group;	  /* entries since the last commit */
	mono_t commit_at; /* of that group */
	mono_t signed_at;
	size_t since_totals; /* entries */

	json_t *held;	  /* entries of the supervisor that found no room */
	int stuck;	  /* the errno that the disk gave, or 0 */
	int64_t stuck_ms; /* since when, of the wall clock */
	mono_t retry_at;
	uint64_t taken, told; /* notes of the supervisor: in the log, and said to be sealed */

	uint64_t missed;  /* of the ring's totals, told to the connection log */
	uint64_t garbled; /* records that were none, not yet told of */
	mono_t garbled_at;
	bool busy, ending;
};

/* --- sealer_entries.c --- */

/* Consumes the entry. 0 or -errno: then it was not written. */
int sealer_write_entry(struct process *s, json_t *entry) sg_must_check;

/* ledger_append_fn: while the disk is full, refusals wait without a try each. */
int sealer_append_refusal(void *ctx, json_t *entry);

/* Makes what was written durable, signs it when `sign`, and tells the supervisor. */
void sealer_commit(struct process *s, bool sign);

/* What accounts for all refusals, when it is time for it. */
void sealer_write_totals(struct process *s);

/* The disk was full: tries again. */
void sealer_retry(struct process *s);

/* --- sealer_main.c --- */

/* Takes all that the ring has, as far as a gate that may still live lets it come to an end. */
void sealer_drain_all(struct process *s);

/* --- sealer_requests.c --- */

void sealer_tell(json_t *message);

/* All that the supervisor has sent, its end included. */
void sealer_hear_supervisor(struct process *s);
void sealer_supervisor_is_gone(struct process *s);

#endif
