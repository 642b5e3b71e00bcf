/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_door: the server side of a sandbox's `exec` socket.
 *
 * The supervisor looks at who knocks, as control.c does, and hands the connection to `start` inside
 * (exec_wire.h); it reads nothing of what is said there. So a command that is run inside costs the
 * supervisor nothing, and the client and the sandbox have nothing of each other's but that
 * connection.
 */
#ifndef SG_SANDBOX_EXEC_DOOR_H
#define SG_SANDBOX_EXEC_DOOR_H

#include "base/err.h"
#include "sandbox/engine/engine.h"

/*
 * Makes the socket in the folder `dir`. A descriptor to poll and to close, or -1 with the message.
 */
int exec_door_open(int dir, struct err *e);

/* Takes who waits at the door, one at a time, and hands them on. */
void exec_door_serve(int door, struct engine *g);

#endif
