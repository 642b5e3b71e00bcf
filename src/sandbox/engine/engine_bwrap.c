/* SPDX-License-Identifier: Apache-2.0 */
/* The engine `bwrap`: the process of bwrap.h, and what its command finds (inside.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/engine/bwrap.h"
#include "sandbox/engine/inside.h"
#include "sandbox/supervisor.h"

struct own {
	struct inside inside;
	struct bwrap bwrap;
};

static int words(const struct run_options *o, struct err *e)
{
	return !o->image ? 0
			 : err_set(e, "--image: bwrap starts from no image; leave it out, or name "
				      "with --engine the one that does");
}

static int check(const struct run_options *o, struct err *e)
{
	return bwrap_find() ? 0
			    : err_set(e, "bubblewrap is not installed; apt-get install bubblewrap");
}

static int plan(struct supervisor *s, const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;
	const struct inside_request r = {
		.command = o->argv[0], .rw = o->rw, .ro = o->ro, .env = o->env};
	struct own *own = calloc(1, sizeof(*own));

	if (!own)
		return err_set(e, "out of memory"), EXIT_SANDGATE;
	own->inside = INSIDE_NONE;
	own->bwrap = BWRAP_NONE;
	s->engine.own = own;
	return inside_plan(&own->inside, s, &r, cwd, e);
}

static int start(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;
	struct bwrap_config c = {
		.plan = &own->inside.plan,
		.hostname = s->dir.name,
		.env = own->inside.env,
		.argv = s->options->argv,
		.uid = s->options->as_root ? 0 : geteuid(),
		.gid = s->options->as_root ? 0 : getegid(),
		.as_root = s->options->as_root,
		.userns = s->networked ? s->airlock.sandbox_userns : -1,
		.netns = s->networked ? s->airlock.sandbox_netns : -1,
	};

	if (bwrap_start(&c, &own->bwrap, e))
		return -1;
	s->engine.pid = own->bwrap.pid;
	s->engine.pidfd = own->bwrap.pidfd;
	s->engine.news = own->bwrap.start.socket;
	return 0;
}

static int hear(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;

	if (!start_link_hear(&own->bwrap.start))
		return 0;
	return mount_check_end(own->inside.check, own->bwrap.start.inside, e) ? -1 : 1;
}

static int let_go(struct engine *g, const sigset_t *blocked)
{
	return start_link_let_go(&((struct own *)g->own)->bwrap.start, blocked, NULL);
}

static int send_signal(struct engine *g, int signo)
{
	return start_link_signal(&((struct own *)g->own)->bwrap.start, signo);
}

static int take_client(struct engine *g, int client)
{
	return start_link_take_client(&((struct own *)g->own)->bwrap.start, client);
}

static int terminate(struct engine *g)
{
	return start_link_terminate(&((struct own *)g->own)->bwrap.start);
}

static void say_start(const struct supervisor *s)
{
	inside_say_start(&((const struct own *)s->engine.own)->inside);
}

static void say_end(struct supervisor *s)
{
	inside_say_end(&((struct own *)s->engine.own)->inside);
}

static void close_own(struct engine *g)
{
	struct own *own = g->own;

	if (!own)
		return;
	start_link_close(&own->bwrap.start);
	inside_free(&own->inside);
	free(own);
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
	.hear = hear,
	.let_go = let_go,
	.signal = send_signal,
	.terminate = terminate,
	.kill = engine_child_kill,
	.take_client = take_client,
	.say_start = say_start,
	.say_end = say_end,
	.close = close_own,
};
