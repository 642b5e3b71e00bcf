/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_watch: what the supervisor does with its broker: starts it when the policy needs one,
 * makes it and the gate known to each other, hears what it says, replaces it. Private to
 * src/sandbox.
 */
#ifndef SG_SANDBOX_BROKER_WATCH_H
#define SG_SANDBOX_BROKER_WATCH_H

#include "sandbox/supervisor.h"

/* Is there none, and would a policy, resolved with that catalogue, need one? */
bool broker_watch_is_missing(const struct supervisor *s, const struct policy *p,
			     const struct catalogue *c);

/*
 * Forks a broker for these rules. The state of the host and the bundle have been read. 0, or -1 with
 * the message and no broker.
 */
int broker_watch_begin(struct supervisor *s, struct ruleset *rules, const struct catalogue *c,
		       struct err *e) sg_must_check;

/*
 * Waits for one that was begun, until it is ready, and has its authority trusted inside. 0, also
 * when there is none; or -1 with the message and no broker.
 */
int broker_watch_await_ready(struct supervisor *s, struct err *e) sg_must_check;

/*
 * A socket between gate and broker, when there are both: whatever was between them before is over. 0,
 * or -1 with the message; then one of them was ended, and is replaced by the loop.
 */
int broker_watch_pair(struct supervisor *s, struct err *e) sg_must_check;

/*
 * The sealer may have said that it cannot write the audit log, or can again: what is to be refused
 * for that (`audit.on_full`) is.
 */
void broker_watch_follow_log(struct supervisor *s);

/* When it has told of another authority, that is trusted inside from here on. 0, or -1. */
int broker_watch_trust_authority(struct supervisor *s, struct err *e) sg_must_check;

/* It has said something. */
void broker_watch_hear(struct supervisor *s);

/* Acts on what it has said since the last time, also before the answer to a request. */
void broker_watch_act(struct supervisor *s);

/*
 * It has ended: 0 when another has taken over, or none is needed any more; else -1 with why the
 * sandbox is to be ended.
 */
int broker_watch_replace(struct supervisor *s, struct err *e) sg_must_check;

/* It was begun for what is not to be: ends it at once. */
void broker_watch_drop(struct supervisor *s);

/* Ends it, at the end of the supervisor. */
void broker_watch_end(struct supervisor *s);

#endif
