/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errand: one piece of work that a process of its own does, since it enters namespaces which the
 * caller must stay out of.
 *
 * Theory of operation. The caller forks; the child does the work, hands back one message, and ends.
 * The caller waits for no longer than it says, since what is in a container may never answer, and
 * then the child is killed and reaped, whatever it was at: none outlives errand_run(), nor the
 * caller (PR_SET_PDEATHSIG).
 */
#ifndef SG_SANDBOX_ERRAND_H
#define SG_SANDBOX_ERRAND_H

#include <stddef.h>

#include "base/err.h"

enum { ERRAND_ANSWER_MAX = 512 };

struct errand {
	const char *what; /* for the message where there is no answer: "its mounts" */
	int ms;		  /* to wait */
	/*
	 * In the child. Fills the answer, which is all zero, and makes the descriptors, none when it
	 * fails. 0, or -1 with the message.
	 */
	int (*work)(void *ctx, void *answer, int *fds, struct err *e);
	void *ctx;
	size_t size; /* of the answer; ERRAND_ANSWER_MAX at most; 0: none */
	int n_fds;   /* EXEC_FDS_MAX at most */
};

/*
 * What work() returned, with its message, its descriptors, which are the caller's, and its answer,
 * also of work that failed; -1 with a message and an answer of zeroes when there was none.
 */
int errand_run(const struct errand *x, void *answer, int *fds, struct err *e) sg_must_check;

#endif
