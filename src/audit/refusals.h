/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals: what was refused, grouped and counted, for the summary and `net`.
 *
 * A fixed table of groups (name or address, port, proto, reason, permission). Each refusal is
 * counted exactly; when the table is full the least recent group is folded into `other`, so that
 * the totals stay exact while memory is bounded. Gate and broker have one each.
 */
#ifndef SG_AUDIT_REFUSALS_H
#define SG_AUDIT_REFUSALS_H

#include "audit/record.h"

struct refusal {
	enum record_proto proto;
	enum reason reason;
	const struct name *name; /* NULL: none known */
	const struct addr *addr; /* NULL: none (a lookup) */
	uint16_t port;
	const char *permission; /* that the request would need; NULL: none is known */
};

struct refusals;

/* Shared with the processes that are forked after. NULL without memory. */
struct refusals *refusals_new(void);
void refusals_free(struct refusals *r);
/* Drops what another process left half-written; its count goes to the rest. */
void refusals_mend(struct refusals *r);
/* A whole one of whatever is there, the caller's; it may change meanwhile. NULL without memory. */
struct refusals *refusals_copy(const struct refusals *r);
void refusals_note(struct refusals *r, const struct refusal *what);

/* All that was ever noted, and what is in no group any more. */
uint64_t refusals_total(const struct refusals *r);
uint64_t refusals_other(const struct refusals *r);

/* Calls fn for every group, the one first seen first. The pointers live for the call. */
typedef void refusals_fn(void *ctx, const struct refusal *what, uint64_t count);
void refusals_each(const struct refusals *r, refusals_fn *fn, void *ctx);

#endif
