/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals: what a gate counts, in memory that outlives it.
 *
 * The supervisor makes it before it forks the first gate; every gate after it finds it at the same
 * addresses and counts on, so that `egress`, the summary and the limits on octets and names are
 * exact whoever kills the gate. What a gate that was killed left half-written, or wrote on purpose,
 * the next one puts right before it uses it (totals_mend).
 */
#ifndef SG_GATE_TOTALS_H
#define SG_GATE_TOTALS_H

#include <stdint.h>

#include "base/err.h"

struct gate_counters {
	uint64_t frames_denied;	     /* packets from the sandbox that got a refusal */
	uint64_t frames_noise;	     /* packets that are none of the sandbox's own, or malformed */
	uint64_t flows_opened;	     /* TCP, UDP and echo flows that were admitted */
	uint64_t flows_refused;	     /* before they began, or while they were open */
	uint64_t requests_inspected; /* plain HTTP requests judged */
	uint64_t requests_refused;
	uint64_t bytes_out, bytes_in;
};

struct dns_counters {
	uint64_t answered; /* answers that were not refusals, NXDOMAIN and NODATA included */
	uint64_t refused;
	uint64_t failed; /* the resolver did not answer */
};

/* One writer at a time: the gate that lives. */
struct gate_totals {
	struct gate_counters *counters;
	struct dns_counters *dns;
	struct refusals *refusals;
	struct quota *quota;
	struct wildcards *wildcards;
};

/* All zero, shared with every process that is forked after. 0 or -1 with a message. */
int totals_make(struct gate_totals *t, struct err *e) sg_must_check;
void totals_free(struct gate_totals *t);

/* Before the first use in a new gate. */
void totals_mend(const struct gate_totals *t);

#endif
