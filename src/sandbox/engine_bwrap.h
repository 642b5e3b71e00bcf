/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_bwrap: bubblewrap, which makes the mounts, the PID, IPC, UTS and user namespaces and runs
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
#ifndef SG_SANDBOX_ENGINE_BWRAP_H
#define SG_SANDBOX_ENGINE_BWRAP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/file_system.h"

struct engine_config {
	const struct file_plan *plan;
	const char *hostname;
	char *const *env;
	char *const *argv; /* an empty list: no command, `start` alone */
	uid_t uid;	   /* inside */
	gid_t gid;
	bool as_root;
	int userns, netns; /* of the airlock; -1: a network of its own with nothing but loopback */
};

struct engine {
	pid_t pid;  /* also its process group; 0: none */
	int pidfd;  /* readable when it has ended */
	int start;  /* the socket to start.c */
	int inside; /* pidfd of `start`; -1 until it has said that it is there */
};

/* bubblewrap's path, or NULL when it is not installed. */
const char *engine_find(void);

int engine_start(const struct engine_config *c, struct engine *out, struct err *e) sg_must_check;

/*
 * What `start` says, when the socket is readable: 1 it is there and waits (inside is set), 0 it
 * will not come, the set-up has failed.
 */
int engine_hear_start(struct engine *g);

/* The word to go on. `blocked` is the signal mask that the command gets. */
int engine_let_go(struct engine *g, const sigset_t *blocked) sg_must_check;

/* To the command alone. 0 or -errno; as all that goes to `start`, it does not wait. */
int engine_signal(const struct engine *g, int signo);

/*
 * A client's connection, for one more command inside (exec_wire.h); stays the caller's. 0 or
 * -errno.
 */
int engine_take_client(const struct engine *g, int client);

/* Asks all in the sandbox to end; the engine ends when the command has, or when nothing runs. */
int engine_terminate(const struct engine *g);

/* Ends everything in the sandbox at once. */
void engine_kill(const struct engine *g);

void engine_close(struct engine *g);

#endif
