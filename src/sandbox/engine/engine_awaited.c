/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of a namespace that comes later (attach.h, `awaited`): an engine of its own, docker,
 * makes it when the gate is ready, and moves the end of the link into it.
 *
 * Theory of operation.
 *
 *	awaited		the end of the link is where it was left; a timer looks for the namespace at
 *			its path, where the engine mounts it before it makes devices in it
 *	there		what else leads out of it is taken away at once, when it comes (ways.h); the
 *			folder of the path is watched for the end of the mount's file
 *
 * The device keeps its number when it is moved into an empty namespace, so it is known there; were
 * it another one, the device would be taken away as any other, and the sandbox closed. Nothing of
 * the container's has run when the engine mounts the namespace.
 *
 * The sandbox ends when it is asked to, or with the file of the namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sandbox/attach.h"
#include "sandbox/engine/netns_claim.h"
#include "sandbox/supervisor.h"
#include "sandbox/engine/ways.h"

enum {
	LOOK_NS = 2 * 1000 * 1000, /* how often, while a container is being made */
	LOOK_LATER_NS = 500 * 1000 * 1000,
	SOON = 10 * 1000000000LL / LOOK_NS, /* looks, in 10 s */
};

struct own {
	int events; /* epoll of all that follows; or -1 */
	int timer;
	unsigned looks;
	int netns;  /* -1: awaited */
	int folder; /* inotify of the folder of its path; -1: it cannot be watched */
	uint32_t link;
	struct ways ways;
};

static const struct attach_request *request_of(const struct supervisor *s)
{
	return s->options->attach;
}

static int configure(struct supervisor *s, struct airlock_config *c, struct err *e)
{
	struct own *own = malloc(sizeof(*own));

	if (!own)
		return err_set(e, "out of memory");
	*own = (struct own){
		.events = -1, .timer = -1, .netns = -1, .folder = -1, .ways = WAYS_NONE};
	s->engine.own = own;
	engine_attach_configure(s, c);
	return 0;
}

/* --- the timer --- */

static int follow(struct own *own, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 ? -1 : epoll_ctl(own->events, EPOLL_CTL_ADD, fd, &ev);
}

static int set_timer(const struct own *own, long ns)
{
	const struct timespec t = {.tv_nsec = ns};

	return timerfd_settime(own->timer, 0, &(struct itimerspec){t, t}, NULL);
}

static int start(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;

	own->link = if_nametoindex(request_of(s)->device);
	if (!own->link)
		return err_set(e, "%s, the end of the link, is not in this network namespace",
			       request_of(s)->device);
	own->events = epoll_create1(EPOLL_CLOEXEC);
	own->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (own->events < 0 || own->timer < 0 || follow(own, own->timer) < 0 ||
	    set_timer(own, LOOK_NS) < 0)
		return err_set(e, "a timer: %s", err_why(errno));
	s->engine.watch = own->events;
	netns_claim_note_airlock(&s->dir, s->airlock.keeper);
	return 0;
}

/* --- the namespace --- */

static void watch_folder(struct own *own, const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (slash == folder)
		slash++;
	*slash = '\0';
	own->folder = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (own->folder >= 0 &&
	    (inotify_add_watch(own->folder, folder, IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR) < 0 ||
	     follow(own, own->folder) < 0)) {
		close(own->folder);
		own->folder = -1;
	}
}

/* What cannot be watched must not stay open. */
static void take(struct supervisor *s, struct own *own, int netns)
{
	struct err e;

	own->netns = netns;
	netns_claim_note(&s->dir, netns);
	set_timer(own, 0);
	if (ways_open(&own->ways, netns, own->link, &e) ||
	    (follow(own, own->ways.watch.events) < 0 &&
	     err_set(&e, "watching the namespace: %s", err_why(errno)))) {
		supervisor_fail(s, &e);
		return;
	}
	watch_folder(own, request_of(s)->awaited);
	ways_look(&own->ways, s);
}

static void await(struct supervisor *s, struct own *own)
{
	struct err ignored;
	uint64_t times;
	int fd = -1;

	if (read(own->timer, &times, sizeof(times)) == sizeof(times))
		fd = open(request_of(s)->awaited, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* Before the mount it is an empty file. */
	if (fd >= 0 && netns_check(fd, &ignored) == 0) {
		take(s, own, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (++own->looks == SOON)
		set_timer(own, LOOK_LATER_NS);
}

/* Of the files in that folder one was taken away: this one? */
static void look_at_folder(struct supervisor *s, struct own *own)
{
	char room[4096];
	struct err e;

	if (own->folder < 0 || read(own->folder, room, sizeof(room)) <= 0)
		return;
	if (access(request_of(s)->awaited, F_OK) == 0 || errno != ENOENT)
		return;
	err_set(&e, "the container's network namespace is gone; the sandbox ends");
	supervisor_say(&e);
	s->engine.ended = true;
}

static void look(struct supervisor *s)
{
	struct own *own = s->engine.own;

	if (own->netns < 0) {
		await(s, own);
		return;
	}
	look_at_folder(s, own);
	ways_look(&own->ways, s);
}

static void close_own(struct engine *g)
{
	struct own *own = g->own;

	if (!own)
		return;
	ways_close(&own->ways);
	for (size_t i = 0; i < 4; i++) {
		int fd = (const int[]){own->events, own->timer, own->netns, own->folder}[i];

		if (fd >= 0)
			close(fd);
	}
	free(own);
}

const struct engine_class engine_awaited = {
	.name = "awaited",
	.turn = ENGINE_NEVER,
	.link = AIRLOCK_HANDED,
	.no_exec = "it is a container of docker's; use docker exec",
	.configure = configure,
	.start = start,
	.signal = engine_bare_signal,
	.terminate = engine_bare_terminate,
	.kill = engine_bare_kill,
	.look = look,
	.close = close_own,
};
