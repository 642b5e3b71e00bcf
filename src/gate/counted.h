/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted: what a gate has counted, as the answers of its control socket; and the same without a
 * gate, from the memory that outlives it (totals.h).
 */
#ifndef SG_GATE_COUNTED_H
#define SG_GATE_COUNTED_H

#include <jansson.h>

#include "gate/totals.h"
#include "policy/decide.h"

struct refusals;

/* What is not counted, but is now; all zero without a gate. */
struct gate_now {
	uint64_t generation;
	uint32_t open, sending;
};

/* docs/protocol.md, "status" and "refusals". The caller's; NULL without memory. */
json_t *counted_status(const struct gate_totals *t, const struct gate_now *now);
json_t *counted_refusals(const struct refusals *r, const struct remedy_for *who);

/* For who is not the gate: whatever octets are there. The wildcards of the status are empty. */
json_t *counted_status_untrusted(const struct gate_totals *t, uint64_t generation);
json_t *counted_refusals_untrusted(const struct refusals *r, const struct remedy_for *who);

#endif
