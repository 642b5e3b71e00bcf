/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealer_process: the parts of the sealer as a process.
 *
 *	sealer_main.c		its start, and its loop
 *	sealer_rings.c		what comes from the rings
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

/* A ring, and what is known of it. */
struct source {
	struct ring *ring;	  /* NULL: not there, or not yet */
	bool known;		  /* `base` was read */
	uint64_t base[ACCOUNTS];  /* its totals when they last belonged to a moment ... */
	uint64_t since[ACCOUNTS]; /* ... and the records that were taken since */
	uint64_t missed;	  /* of its totals, told to the connection log */
	uint64_t garbled;	  /* records that were none, not yet told of */
	mono_t garbled_at;
	/* Of one look. */
	bool settled, has_next;
	struct record_totals total; /* with `put`, when `settled` */
	uint64_t put;
	size_t looked;
	struct record next;
};

enum source_of { SOURCE_GATE, SOURCE_BROKER, SOURCES };

struct process {
	const struct sealer_setup *setup;
	pid_t parent;
	struct source source[SOURCES];
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

/* --- sealer_rings.c --- */

/* 0 or -1 with the message. */
int sealer_map_ring(struct process *s, enum source_of which, int fd, struct err *e) sg_must_check;
/* No writer lives: the totals of the rings are no less than what the log accounts for. */
void sealer_raise_totals(struct process *s);
/* Announces that the sealer is about to sleep; false: there is something, do not. */
bool sealer_may_sleep(struct process *s);
/* Takes what the rings have, so much that the supervisor does not wait long. */
void sealer_drain(struct process *s);
/* Takes all that they have, as far as a writer that may still live lets it come to an end. */
void sealer_drain_all(struct process *s);

/* --- sealer_requests.c --- */

void sealer_tell(json_t *message);

/* All that the supervisor has sent, its end included. */
void sealer_hear_supervisor(struct process *s);
void sealer_supervisor_is_gone(struct process *s);

#endif
