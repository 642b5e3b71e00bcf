/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_link: the supervisor's end of the socket to `start` (start.c), the first program of a
 * process sandbox, whatever engine made the rest of it.
 */
#ifndef SG_SANDBOX_START_LINK_H
#define SG_SANDBOX_START_LINK_H

#include <signal.h>

#include "base/err.h"
#include "sandbox/engine/syscall_filter.h"

struct start_link {
	int socket;
	int inside; /* pidfd of `start`; -1 until it has said that it is there */
};

#define START_LINK_NONE ((struct start_link){-1, -1})

/* `theirs` is the end for `start`, the caller's to hand over. 0, or -1 with the message. */
int start_link_open(struct start_link *l, int *theirs, struct err *e) sg_must_check;

/* A descriptor of the program itself, to be executed: the caller's. -1 with errno. */
int start_link_program(void);

/*
 * What `start` says, when the socket is readable: 1 it is there and waits (inside is set), 0 it
 * will not come, the set-up has failed.
 */
int start_link_hear(struct start_link *l);

/* Descriptors for the command alone, EXEC_FDS_MAX at most; they stay the caller's. */
struct start_handed {
	const int *fds;
	int n;
	int first; /* the number of the first of them in the command, the others follow */
};

/* Before the word to go on, once. 0 or -errno. */
int start_link_hand(const struct start_link *l, const struct start_handed *handed) sg_must_check;

/*
 * The word to go on. `blocked` is the signal mask that the command gets. With a filter `start` loads
 * it, for itself and all that it starts: where the engine has not. 0 or -errno.
 */
int start_link_let_go(const struct start_link *l, const sigset_t *blocked,
		      const struct syscall_filter *filter) sg_must_check;

/*
 * What comes by the socket after the word to go on, when it is readable: 1 the first command has
 * ended with `status`, of waitpid(), and the sandbox stays for others; 0 nothing that is known; -1
 * nothing more will come.
 */
int start_link_outlived(int socket, int *status);

/* To the command alone. 0 or -errno; as all that goes to `start`, it does not wait. */
int start_link_signal(const struct start_link *l, int signo);

/*
 * A client's connection, for one more command inside (exec_wire.h); stays the caller's. 0 or
 * -errno.
 */
int start_link_take_client(const struct start_link *l, int client);

/* Asks all in the sandbox to end; `start` ends when the command has, or when nothing runs. */
int start_link_terminate(const struct start_link *l);

/* The end of `start`, unless it has ended before. */
void start_link_close(struct start_link *l);

#endif
