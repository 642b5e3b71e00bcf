/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_link: the supervisor's hold on its gate (process_link.h), and what its gates have counted.
 *
 * The gate is forked, not executed, so that it starts with the compiled policy in memory.
 */
#ifndef SG_SANDBOX_GATE_LINK_H
#define SG_SANDBOX_GATE_LINK_H

#include "gate/gate.h"
#include "sandbox/process_link.h"

struct gate_link {
	struct process_link process;
	struct gate_totals totals; /* what the gates of this link have counted: outlives each */
	struct remedy_for remedy;  /* for whom, as the last one was started */
	uint64_t generation;	   /* of the policy that it has */
};

#define GATE_LINK_NONE ((struct gate_link){.process = {.what = "gate", .pidfd = -1, .control = -1}})

/*
 * Forks the gate and waits until it is isolated and ready. `control` and `totals` of s are made
 * here. The caller blocks all signals; `g` is GATE_LINK_NONE before the first start. 0, or -1 with
 * the message and no gate.
 */
int gate_link_start(struct gate_link *g, const struct gate_setup *s, struct err *e) sg_must_check;

/*
 * The answer to "status" or "refusals"; when there is no gate that gives one, what the gates before
 * have counted, with nothing open. NULL without a gate ever, or without memory.
 */
json_t *gate_link_counted(struct gate_link *g, const char *op, int timeout_ms);

/*
 * A number of such an answer, in `group` of it when that is not NULL. 0 when there is none. From 0
 * to GATE_NUMBER_MAX, whatever the gate said: the sum of several fits.
 */
#define GATE_NUMBER_MAX (INT64_MAX / 16)
json_int_t gate_link_number(const json_t *answer, const char *group, const char *key);

/* The request that tells it of the host's resolver. */
json_t *gate_link_resolver_request(const struct resolver_config *c);

#endif
