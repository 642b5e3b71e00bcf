/* SPDX-License-Identifier: Apache-2.0 */
/* attach_target: the network namespace that a person names: by a path, a process, a container. */
#ifndef SG_CLI_ATTACH_TARGET_H
#define SG_CLI_ATTACH_TARGET_H

#include "base/err.h"

struct attach_words {
	const char *netns, *pid, *container; /* exactly one of them is not NULL */
};

struct attach_target {
	int netns, alive; /* alive: a pidfd, or -1 */
	const char *engine;
	const char *name; /* what a name of the sandbox is made from: of the words */
};

/* 0, or the exit status with the message and nothing to close. */
int attach_target_find(const struct attach_words *w, struct attach_target *out,
		       struct err *e) sg_must_check;
void attach_target_close(struct attach_target *t);

#endif
