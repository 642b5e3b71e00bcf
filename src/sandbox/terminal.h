/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal: who has the person's terminal, the supervisor's job or the sandbox's.
 *
 * The sandbox has a process group of its own, so that kill(0) in it reaches nobody outside. A
 * terminal serves one group at a time. When input and output are both the terminal the sandbox gets
 * it at the start; in a pipeline ("sandgate run ... | less") the others of the job keep it, and the
 * sandbox gets it when it first asks, which shows as a stop by SIGTTIN or SIGTTOU. A stop from the
 * keyboard stops the sandbox, then the supervisor's whole job, so that the shell sees it; when the
 * shell continues the job in the foreground the sandbox has the terminal again.
 *
 * No session of its own is made: job control works in an interactive shell inside. Pushing
 * characters into the terminal is closed by the filter of system calls.
 */
#ifndef SG_SANDBOX_TERMINAL_H
#define SG_SANDBOX_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
	int fd;	       /* -1: there is none */
	pid_t own;     /* the supervisor's process group */
	pid_t sandbox; /* the engine's; 0 before */
	bool given;    /* the sandbox had it last */
	bool has_modes;
	struct termios modes; /* of the terminal as the supervisor found it */
};

void terminal_open(struct terminal *t);

/* The sandbox starts: gives it the terminal when it is for it. */
void terminal_begin(struct terminal *t, pid_t sandbox);

/*
 * The sandbox was stopped by this signal. True: it only wanted the terminal, has it now and goes
 * on. False: it is a stop of the whole job.
 */
bool terminal_sandbox_stopped(struct terminal *t, int signo);

/* Stops the supervisor's job; returns when it is continued, the sandbox continued as well. */
void terminal_stop_job(struct terminal *t, int signo);

/* Back to the supervisor's job; `restore` the modes too, after an end that was not orderly. */
void terminal_end(struct terminal *t, bool restore);

#endif
