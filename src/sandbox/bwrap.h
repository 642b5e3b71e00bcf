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

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/file_system.h"

struct bwrap_config {
	const struct file_plan *plan;
	const char *hostname;
	char *const *env;
	char *const *argv; /* an empty list: no command, `start` alone */
	uid_t uid;	   /* inside */
	gid_t gid;
	bool as_root;
	int userns, netns; /* of the airlock; -1: a network of its own with nothing but loopback */
};

struct bwrap {
	pid_t pid;  /* also its process group; 0: none */
	int pidfd;  /* readable when it has ended; the taker's to close */
	int start;  /* the socket to start.c */
	int inside; /* pidfd of `start`; -1 until it has said that it is there */
};

#define BWRAP_NONE ((struct bwrap){.pidfd = -1, .start = -1, .inside = -1})

/* bubblewrap's path, or NULL when it is not installed. */
const char *bwrap_find(void);

int bwrap_start(const struct bwrap_config *c, struct bwrap *out, struct err *e) sg_must_check;

/*
 * What `start` says, when the socket is readable: 1 it is there and waits (inside is set), 0 it
 * will not come, the set-up has failed.
 */
int bwrap_hear_start(struct bwrap *g);

/* The word to go on. `blocked` is the signal mask that the command gets. */
int bwrap_let_go(struct bwrap *g, const sigset_t *blocked) sg_must_check;

/* To the command alone. 0 or -errno; as all that goes to `start`, it does not wait. */
int bwrap_signal(const struct bwrap *g, int signo);

/*
 * A client's connection, for one more command inside (exec_wire.h); stays the caller's. 0 or
 * -errno.
 */
int bwrap_take_client(const struct bwrap *g, int client);

/* Asks all in the sandbox to end; the engine ends when the command has, or when nothing runs. */
int bwrap_terminate(const struct bwrap *g);

/* But for pidfd. */
void bwrap_close(struct bwrap *g);

#endif
