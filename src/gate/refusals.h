/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals: what was refused, grouped and counted, for the summary and `net`.
 *
 * A fixed table of groups (name or address, port, proto, reason). Each refusal is
 * counted exactly; when the table is full the least recent group is folded into
 * `other`, so that the totals stay exact while memory is bounded.
 */
#ifndef SG_GATE_REFUSALS_H
#define SG_GATE_REFUSALS_H

#include "base/clock.h"
#include "policy/decide.h"

enum refusal_proto { /* the `proto` word of the log */
		     REFUSAL_TCP,
		     REFUSAL_UDP,
		     REFUSAL_ICMP,
		     REFUSAL_DNS,
		     REFUSAL_HTTP,
		     REFUSAL_QUIC,
		     REFUSAL_PROTOS, /* count */
};

const char *refusal_proto_word(enum refusal_proto p);

struct refusal {
	enum refusal_proto proto;
	enum reason reason;
	const struct name *name; /* NULL: none known */
	const struct addr *addr; /* NULL: none (a lookup) */
	uint16_t port;
};

struct refusals;

struct refusals *refusals_new(void);
void refusals_free(struct refusals *r);
void refusals_note(struct refusals *r, const struct refusal *what);

/* All that was ever noted, and what is in no group any more. */
uint64_t refusals_total(const struct refusals *r);
uint64_t refusals_other(const struct refusals *r);

/* Calls fn for every group, the one first seen first. The pointers live for the call. */
typedef void refusals_fn(void *ctx, const struct refusal *what, uint64_t count);
void refusals_each(const struct refusals *r, refusals_fn *fn, void *ctx);

#endif
