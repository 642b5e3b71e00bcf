/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nearest.h"
#include "sandbox/attach.h"
#include "sandbox/pidfd.h"
#include "sandbox/supervisor.h"

enum { LIST_MAX = 128 };

/* The default first. */
static const struct engine_class *const classes[] = {
	&engine_bwrap,
	&engine_podman,
	&engine_qemu,
	&engine_attached,
};

/* The engines of later versions: known words, so that the refusal is not a guess at spelling. */
static const struct {
	const char *name, *instead;
} elsewhere[] = {
	{"docker", "a container of docker is not started by sandgate; see sandgate attach"},
	{"containerd", "a container of containerd is not started by sandgate; see sandgate attach"},
	{"netns", "a namespace that is there already is put behind a gate by sandgate attach"},
};

static const struct engine_class *known(const char *name)
{
	for (size_t i = 0; i < sg_array_len(classes); i++)
		if (strcmp(classes[i]->name, name) == 0)
			return classes[i];
	return NULL;
}

/* Those that --engine may name, with ", " between. */
static void list_chosen(char *out, size_t size)
{
	size_t n = 0;

	*out = 0;
	for (size_t i = 0; i < sg_array_len(classes) && n < size; i++)
		if (classes[i]->chosen)
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "",
					      classes[i]->name);
}

static const struct engine_class *refuse(const char *name, struct err *e)
{
	struct nearest near = nearest_to(name);
	char all[LIST_MAX];

	for (size_t i = 0; i < sg_array_len(elsewhere); i++)
		if (strcmp(name, elsewhere[i].name) == 0) {
			err_set(e, "--engine %s: %s", name, elsewhere[i].instead);
			return NULL;
		}
	for (size_t i = 0; i < sg_array_len(classes); i++)
		if (classes[i]->chosen)
			nearest_offer(&near, classes[i]->name);
	list_chosen(all, sizeof(all));
	if (near.word)
		err_set(e, "--engine: \"%s\" is unknown; did you mean %s? There are %s", name,
			near.word, all);
	else
		err_set(e, "--engine: \"%s\" is unknown; there are %s; leave it out for %s", name,
			all, classes[0]->name);
	return NULL;
}

const struct engine_class *engine_find(const char *name, struct err *e)
{
	const struct engine_class *found = name ? known(name) : classes[0];

	return found && found->chosen ? found : refuse(name, e);
}

const struct engine_class *engine_default(void)
{
	return classes[0];
}

const char *engine_name(const char *kept)
{
	return kept ? kept : classes[0]->name;
}

int engine_start(struct supervisor *s, struct err *e)
{
	if (s->engine.class->start && s->engine.class->start(s, e))
		return -1;
	if (s->engine.pid > 0)
		terminal_begin(&s->terminal, s->engine.pid);
	return 0;
}

/* --- waiting --- */

static bool asks_for_end(const struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (supervisor_asks_for_end((int)info.ssi_signo))
			return true;
	return false;
}

int engine_await(struct supervisor *s, int fd, int ms, struct err *e)
{
	mono_t end = mono_add_ms(mono_now(), ms < 0 ? 0 : ms);
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
			       {.fd = s->engine.pidfd, .events = POLLIN},
			       {.fd = s->signals, .events = POLLIN}};

	for (;;) {
		int64_t left = ms < 0 ? -1 : mono_ms_until(mono_now(), end);
		int n = ms >= 0 && left <= 0 ? 0 : poll(fds, sg_array_len(fds), (int)left);

		if (n == 0)
			return err_set(e, "the engine gave no answer within %d s", ms / 1000);
		if (n < 0 && errno != EINTR)
			return err_set(e, "waiting for the engine: %s", err_why(errno));
		if (n > 0 && fds[0].revents)
			return 0;
		if (n > 0 && fds[1].revents)
			return err_set(e, "the engine has ended before the sandbox was made");
		if (n > 0 && fds[2].revents && asks_for_end(s))
			return err_set(e, "interrupted");
	}
}

void engine_abandon(struct supervisor *s)
{
	s->engine.class->kill(&s->engine);
	while (s->engine.pid > 0 && waitpid(s->engine.pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (s->engine.pid > 0)
		terminal_end(&s->terminal, true);
	s->engine.pid = 0;
}

void engine_close(struct engine *g)
{
	if (g->class->close)
		g->class->close(g);
	if (g->pidfd >= 0)
		close(g->pidfd);
	*g = ENGINE_NONE(g->class);
}

/* --- for the tables --- */

void engine_child_kill(struct engine *g)
{
	if (g->pidfd >= 0)
		pidfd_signal(g->pidfd, SIGKILL);
	/* What the child has just forked may not yet die with it. */
	if (g->pid > 0)
		kill(-g->pid, SIGKILL);
}

void engine_attach_configure(const struct supervisor *s, struct airlock_config *c)
{
	const struct attach_request *r = s->options->attach;

	c->netns = r->netns;
	c->device = r->device;
	c->addresses = r->addresses;
	c->mac = r->mac;
	c->mtu = r->mtu;
	c->door = c->door || r->n_publish > 0;
}

int engine_bare_signal(struct engine *g, int signo)
{
	return 0;
}

int engine_bare_terminate(struct engine *g)
{
	g->ended = true;
	return 0;
}

void engine_bare_kill(struct engine *g)
{
	g->ended = true;
}
