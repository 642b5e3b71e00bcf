/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_link: the supervisor's hold on its gate: the process and the messages to it.
 *
 * The gate is forked, not executed, so that it starts with the compiled policy in memory. Messages
 * are JSON objects over a SOCK_SEQPACKET pair (docs/protocol.md). One request is under way at a
 * time, with a deadline: a gate that does not answer in time is taken for dead by the caller.
 * What the gate says is not trusted: it is the process that reads the sandbox's octets.
 */
#ifndef SG_SANDBOX_GATE_LINK_H
#define SG_SANDBOX_GATE_LINK_H

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "gate/gate.h"

struct gate_link {
	pid_t pid;		   /* 0: none */
	int pidfd;		   /* readable when it has ended */
	int control;		   /* readable only between requests when it has ended */
	struct gate_totals totals; /* what the gates of this link have counted: outlives each */
	struct remedy_for remedy;  /* for whom, as the last one was started */
	uint64_t generation;	   /* of the policy that it has */
};

/* A policy of a million names takes a second or two to read. */
enum { GATE_START_MS = 10000, GATE_ANSWER_MS = 1000, GATE_POLICY_MS = 30000 };

/*
 * Forks the gate and waits until it is isolated and ready. `control` and `totals` of s are made
 * here. The caller blocks all signals, and zeroes `g` before the first start. 0, or -1 with the
 * message and no gate.
 */
int gate_link_start(struct gate_link *g, const struct gate_setup *s, struct err *e) sg_must_check;

/*
 * Sends a request, which is consumed, and returns the answer. NULL when the gate did not answer in
 * time, answered something else, or could not do it.
 */
json_t *gate_link_ask(struct gate_link *g, json_t *request, int timeout_ms);

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

/*
 * Another policy, resolved, from here on: all of it or nothing. 0: it decides, open flows that it
 * would not admit are reset. -1 with the message: the one before stands. A gate that has not
 * answered in time, or not in words, is ended: the caller starts the next one with whichever policy
 * it holds.
 */
int gate_link_set_policy(struct gate_link *g, const struct policy *p, uint64_t generation,
			 struct err *e) sg_must_check;

/* The two requests that tell it of the host. */
json_t *gate_link_host_request(const struct host_prefixes *p);
json_t *gate_link_resolver_request(const struct resolver_config *c);

/*
 * Ends it and does not wait: the kernel takes tens of milliseconds to take a tun device down, and
 * nobody needs to see that. For the end of the supervisor only, whose children are init's then.
 */
void gate_link_leave(struct gate_link *g);

/* It has ended by itself: gets rid of what is left, and says how in `how`. */
void gate_link_bury(struct gate_link *g, struct err *how);

#endif
