/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the parts of the first program of a sandbox. Private to it: it is no part of the library.
 */
#ifndef SG_SANDBOX_START_H
#define SG_SANDBOX_START_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/control/exec_wire.h"

enum { OWN_FAILURE = 125, CANNOT_EXECUTE = 126, NOT_FOUND = 127 };
enum { START_EXECS = 256 };

/* Why execvp() failed: EXEC_RUN or EXEC_INTERPRETER; ENOTDIR becomes ENOENT. */
enum exec_step start_why_not_run(const char *command, int *why);

/* ---- start_exec.c: the commands of clients ---- */

/* Takes a connection over. False when there are too many, which it is told; it stays the caller's. */
bool start_exec_take(int fd);
/* Closes the connections whose command has not begun: such a client may ask elsewhere. */
void start_exec_refuse_new(void);
/* How many commands run that the sandbox stays for, whatever becomes of the first one. */
size_t start_exec_holding(void);
size_t start_exec_poll(struct pollfd out[START_EXECS]);
void start_exec_serve(const struct pollfd *fds, size_t n);
/* A child has ended; if it is a client's command the client is told. */
void start_exec_ended(pid_t pid, int status);

#endif
