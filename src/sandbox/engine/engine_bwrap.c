/* SPDX-License-Identifier: Apache-2.0 */
/* The engine `bwrap`: a command (engine_command.h) in what bubblewrap makes of the host's system. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/engine/engine_command.h"
#include "sandbox/supervisor.h"

static int words(const struct run_options *o, struct err *e)
{
	return !o->image ? 0
			 : err_set(e, "--image: bwrap starts from no image; leave it out, or name "
				      "with --engine the one that does");
}

static int check(const struct run_options *o, struct err *e)
{
	return bwrap_check(e);
}

static int plan(struct supervisor *s, const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;
	const struct inside_request r = {
		.command = o->argv[0], .rw = o->rw, .ro = o->ro, .env = o->env};
	struct engine_command *own = malloc(sizeof(*own));

	if (!own)
		return err_set(e, "out of memory"), EXIT_SANDGATE;
	*own = ENGINE_COMMAND_NONE;
	s->engine.own = s->engine.command = own;
	return inside_plan(&own->inside, s, &r, cwd, e);
}

static int start(struct supervisor *s, struct err *e)
{
	const struct bwrap_config c = {
		.argv = s->options->argv,
		.uid = s->options->as_root ? 0 : geteuid(),
		.gid = s->options->as_root ? 0 : getegid(),
		.as_root = s->options->as_root,
		.userns = s->networked ? s->airlock.sandbox_userns : -1,
		.netns = s->networked ? s->airlock.sandbox_netns : -1,
	};

	return engine_command_bwrap(s, &c, e);
}

static void close_own(struct engine *g)
{
	if (g->own)
		engine_command_free(g->own);
	free(g->own);
}

const struct engine_class engine_bwrap = {
	.name = "bwrap",
	.turn = ENGINE_EARLY,
	.link = AIRLOCK_OWN,
	.chosen = true,
	.kept = true,
	.words = words,
	.check = check,
	.plan = plan,
	.start = start,
	.hear = engine_command_hear,
	.let_go = engine_command_let_go,
	.signal = engine_command_signal,
	.terminate = engine_command_terminate,
	.kill = engine_child_kill,
	.take_client = engine_command_take_client,
	.say_start = engine_command_say_start,
	.say_end = engine_command_say_end,
	.close = close_own,
};
