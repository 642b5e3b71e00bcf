/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bwrap: bubblewrap, which makes the mounts, the PID, IPC, UTS and user namespaces and runs
 * the command in them. The network namespace is the airlock's; bubblewrap joins it by being started
 * in it, without any capability there.
 *
 *	supervisor ── fork ── engine = bwrap ── clone ── its init (pid 1) ── fork ── start ── command
 *
 * The engine has a process group of its own: kill(0) in the sandbox reaches nobody outside, and the
 * terminal is given to that group. It blocks the signals that a terminal sends, since its end would
 * be the end of the command; `start` gives the command the mask that sandgate had. The command is
 * reached through `start` (exec_wire.h), and so is whatever else is to be run beside it.
 */
#ifndef SG_SANDBOX_BWRAP_H
#define SG_SANDBOX_BWRAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/files/file_system.h"
#include "sandbox/engine/start_link.h"

struct bwrap_config {
	const struct file_plan *plan;
	const char *hostname;
	char *const *env;
	char *const *argv; /* an empty list: no command, `start` alone */
	uid_t uid;	   /* inside */
	gid_t gid;
	bool as_root;
	int userns, netns; /* of the airlock; -1: a network of its own with nothing but loopback */
	bool no_network;   /* no socket can be made but those of AF_UNIX */
};

struct bwrap {
	pid_t pid; /* also its process group; 0: none */
	int pidfd; /* readable when it has ended; the taker's to close */
	struct start_link start;
};

#define BWRAP_NONE ((struct bwrap){.pidfd = -1, .start = START_LINK_NONE})

/* bubblewrap's path, or NULL when it is not installed. */
const char *bwrap_find(void);

/* Is it installed? 0, or -1 with the message. */
int bwrap_check(struct err *e) sg_must_check;

/* On failure nothing runs, and `out` is BWRAP_NONE's. 0, or -1 with the message. */
int bwrap_start(const struct bwrap_config *c, struct bwrap *out, struct err *e) sg_must_check;

#endif
