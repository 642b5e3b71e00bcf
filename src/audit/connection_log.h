/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection_log: every flow, lookup and request of a sandbox, a line each, to be read by a person.
 *
 * Unlike the audit log it proves nothing: it rotates by size, the oldest file goes, and lines are
 * dropped rather than anything waited for: beyond a rate, or when the disk is full. How many were
 * is in the "suppressed" of the next line. connection_log_reader.h reads it.
 *
 *	connections/SEQ.jsonl	named as the audit log's (segment.h), by the number of the first line
 *
 * A line is written whole or not at all, so a reader that sees a newline sees a line.
 */
#ifndef SG_AUDIT_CONNECTION_LOG_H
#define SG_AUDIT_CONNECTION_LOG_H

#include "audit/event.h"
#include "base/clock.h"

enum {
	CONNECTION_LOG_FILES = 8, /* the size of all is divided by this */
	CONNECTION_LOG_FLUSH_MS = 50,
	/* Refusals cost a sandbox nothing, so their lines have a rate. */
	CONNECTION_LOG_REFUSALS_BURST = 2000,
	CONNECTION_LOG_REFUSALS_PER_S = 500,
};

struct connection_log;

/*
 * Goes on in the folder `dir`, which is borrowed, after the last line there. `bytes` of all files,
 * 0: the default, 64 MiB. NULL with the message.
 */
struct connection_log *connection_log_open(int dir, uint64_t bytes, struct err *e);

void connection_log_put(struct connection_log *c, struct event_printer *p, const struct record *r,
			mono_t now);
/* Events that were lost before they came here: the next line tells of them. */
void connection_log_missed(struct connection_log *c, uint64_t n);

/* False: nothing waits. */
bool connection_log_deadline(const struct connection_log *c, mono_t *at);
void connection_log_flush(struct connection_log *c);

/* Flushes, and lets go. */
void connection_log_close(struct connection_log *c);

#endif
