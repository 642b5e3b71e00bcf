/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_link: the supervisor's hold on a process that it forked, the gate or the broker: its life,
 * and the messages to it (docs/protocol.md).
 *
 * JSON objects over a SOCK_SEQPACKET pair. One request is under way at a time, with a deadline: a
 * process that does not answer in time is taken for dead by the caller. What it says is not trusted:
 * it reads the octets of the sandbox.
 */
#ifndef SG_SANDBOX_PROCESS_LINK_H
#define SG_SANDBOX_PROCESS_LINK_H

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "policy/decide.h"

struct process_link {
	const char *what; /* "gate", in messages */
	pid_t pid;	  /* 0: none */
	int pidfd;	  /* readable when it has ended */
	int control;
	/* What it says unasked, borrowed; NULL: nothing that it says so is of interest. */
	void (*heard)(void *ctx, const json_t *message);
	void *ctx;
};

/* A policy of a million names takes a second or two to read. */
enum { PROCESS_START_MS = 10000, PROCESS_ANSWER_MS = 1000, PROCESS_POLICY_MS = 30000 };

/*
 * Forks it. `become` runs in the child, and does not return; it takes care that it dies with the
 * supervisor, and gets no signal of the terminal's. The caller blocks all signals. 0, or -1 with the
 * message.
 */
typedef void process_become_fn(const void *setup, int control, pid_t supervisor);
int process_link_fork(struct process_link *l, process_become_fn *become, const void *setup,
		      struct err *e) sg_must_check;

/*
 * Its first message, `ready`: the caller's. NULL with the message when it says something else, or
 * nothing in time; then it has ended and been reaped.
 */
json_t *process_link_await_ready(struct process_link *l, struct err *e);

/*
 * Sends a request, which is consumed, with a descriptor, or -1, that stays the caller's. The answer,
 * with `ok` or without, or NULL with errno.
 */
json_t *process_link_exchange(struct process_link *l, json_t *request, int passed, int timeout_ms);

/* The same for one without a descriptor: NULL also when it could not be done. */
json_t *process_link_ask(struct process_link *l, json_t *request, int timeout_ms);

/* For one that brings nothing back. 0, or -1 with the message, also when it could not be done. */
int process_link_tell(struct process_link *l, json_t *request, int passed,
		      struct err *e) sg_must_check;

/* Hears what has been said unasked, without waiting. */
void process_link_hear(struct process_link *l);

/*
 * Another policy, resolved, from here on: all of it or nothing. 0: it decides. -1 with the message:
 * the one before stands. One that has not answered in time, or not in words, is ended: the caller
 * starts the next one with whichever policy it holds.
 */
int process_link_set_policy(struct process_link *l, const struct policy *p, uint64_t generation,
			    struct err *e) sg_must_check;

/* The request that tells it of the host's addresses. */
json_t *process_link_host_request(const struct host_prefixes *p);

/* SIGKILL, without waiting. */
void process_link_kill(const struct process_link *l);

/* Ends it and does not wait: for the end of the supervisor only, whose children are init's then. */
void process_link_leave(struct process_link *l);

/* It has ended by itself: gets rid of what is left, and says how in `how`. */
void process_link_bury(struct process_link *l, struct err *how);

#endif
