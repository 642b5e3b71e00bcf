/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/engine_command.h"

#include "sandbox/supervisor.h"

int engine_command_bwrap(struct supervisor *s, const struct bwrap_config *c, struct err *e)
{
	struct engine_command *own = s->engine.command;
	struct bwrap_config whole = *c;
	struct bwrap made;

	whole.plan = &own->inside.plan;
	whole.hostname = s->dir.name;
	whole.env = own->inside.env;
	if (bwrap_start(&whole, &made, e))
		return -1;
	own->start = made.start;
	s->engine.pid = made.pid;
	s->engine.pidfd = made.pidfd;
	s->engine.news = made.start.socket;
	return 0;
}

int engine_command_hear(struct supervisor *s, struct err *e)
{
	struct engine_command *c = s->engine.command;

	if (!start_link_hear(&c->start))
		return 0;
	return mount_check_end(c->inside.check, c->start.inside, e) ? -1 : 1;
}

int engine_command_let_go(struct engine *g, const sigset_t *blocked)
{
	return start_link_let_go(&g->command->start, blocked, NULL);
}

int engine_command_signal(struct engine *g, int signo)
{
	return start_link_signal(&g->command->start, signo);
}

int engine_command_take_client(struct engine *g, int client)
{
	return start_link_take_client(&g->command->start, client);
}

int engine_command_terminate(struct engine *g)
{
	return start_link_terminate(&g->command->start);
}

void engine_command_say_start(const struct supervisor *s)
{
	inside_say_start(&s->engine.command->inside);
}

void engine_command_say_end(struct supervisor *s)
{
	inside_say_end(&s->engine.command->inside);
}

void engine_command_free(struct engine_command *c)
{
	start_link_close(&c->start);
	inside_free(&c->inside);
	*c = ENGINE_COMMAND_NONE;
}
