/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_command: a command whose first program is `start` (start.c), whatever engine makes the rest
 * of its sandbox: bubblewrap, podman, or bubblewrap around the monitor of a machine.
 *
 * Theory of operation. An engine of that kind says by itself how its sandbox is made, and leaves the
 * rest to the functions here, most of which stand in its table as they are:
 *
 *	plan		the class's own: makes the command, part of its `own`, and points
 *			engine.command to it; inside_plan() or inside_plan_image()
 *	start		engine_command_bwrap(), or the class's own, which hands the other end of the
 *			socket to `start`
 *	hear		`start` is there, and what was mounted is what was planned (mount_check.h)
 *	let_go		the word to go on: `start` executes the command
 *	signal, take_client, terminate
 *			words to `start`, of which none waits; an error before it is there
 *	close		the class's own: engine_command_free(). Our end of the socket is closed, and
 *			with it `start` ends, and all inside
 *
 * So a command that runs was planned, compared and let go, in this order; and none outlives the
 * supervisor's end of the socket, whoever the parent of its process is.
 */
#ifndef SG_SANDBOX_ENGINE_COMMAND_H
#define SG_SANDBOX_ENGINE_COMMAND_H

#include "sandbox/engine/bwrap.h"
#include "sandbox/engine/engine.h"
#include "sandbox/engine/inside.h"
#include "sandbox/engine/start_link.h"

struct engine_command {
	struct inside inside;
	struct start_link start;
};

#define ENGINE_COMMAND_NONE ((struct engine_command){INSIDE_NONE, START_LINK_NONE})

/*
 * engine_class.start with bubblewrap: what is planned inside, under the sandbox's name. `c` says the
 * rest: what is run, as whom, in which network.
 */
int engine_command_bwrap(struct supervisor *s, const struct bwrap_config *c,
			 struct err *e) sg_must_check;

/* --- for the tables: functions of engine_class --- */

int engine_command_hear(struct supervisor *s, struct err *e);
int engine_command_let_go(struct engine *g, const sigset_t *blocked);
int engine_command_signal(struct engine *g, int signo);
int engine_command_take_client(struct engine *g, int client);
int engine_command_terminate(struct engine *g);
void engine_command_say_start(const struct supervisor *s);
void engine_command_say_end(struct supervisor *s);

void engine_command_free(struct engine_command *c);

#endif
