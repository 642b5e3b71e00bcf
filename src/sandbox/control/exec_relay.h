/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_relay: between a command in a sandbox and the person's terminal, until the command has
 * ended.
 */
#ifndef SG_SANDBOX_EXEC_RELAY_H
#define SG_SANDBOX_EXEC_RELAY_H

#include <signal.h>
#include <stdbool.h>

#include "sandbox/control/exec_wire.h"

struct exec_end {
	bool begun;		 /* its command; else nothing has been run */
	bool told;		 /* the sandbox has said how it ended; else it has ended itself */
	struct exec_news news;	 /* EXEC_ENDED or EXEC_REFUSED */
	struct exec_news failed; /* EXEC_FAILED, kind 0: the command was run */
};

/*
 * `passed` as in the hello. All signals are blocked meanwhile; the terminal has its own modes again
 * afterwards. 0 or -errno.
 */
int exec_relay_run(int connection, unsigned passed, struct exec_end *end);

#endif
