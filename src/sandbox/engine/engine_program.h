/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_program: a program that an engine needs: where it lies, and one that is the engine's process,
 * started as the supervisor's child.
 */
#ifndef SG_SANDBOX_ENGINE_PROGRAM_H
#define SG_SANDBOX_ENGINE_PROGRAM_H

#include <stddef.h>

#include "base/err.h"

struct supervisor;

/*
 * The first of `places`, absolute and NULL-terminated, that can be executed; or NULL. They are fixed
 * ones that only root can write to: PATH is the person's, and may name others.
 */
const char *engine_program_find(const char *const *places);

struct engine_program {
	const char *path; /* absolute */
	char *const *argv;
	char *const *env;
	const int *fds; /* stay open in it, at their numbers, from 3 on; all others are closed */
	size_t n_fds;
	const char *cwd; /* NULL: the supervisor's */
	int netns;	 /* entered first; -1: the supervisor's own network */
	/* In the child, last of all before exec, with errno set on failure: 0 or -1. Or NULL. */
	int (*prepare)(void *ctx);
	void *ctx;
};

/*
 * Sets pid and pidfd of s->engine. The program has a process group of its own, the person's signal
 * mask and standard descriptors, and dies with the supervisor (PR_SET_PDEATHSIG). What it cannot
 * start with is said by it on standard error, with status 125. 0, or -1 with the message.
 */
int engine_program_start(struct supervisor *s, const struct engine_program *p,
			 struct err *e) sg_must_check;

#endif
