/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines of `sandgate vm-net`.
 *
 *	engine_vm	the monitor is a command of the person's (machine.h)
 *	engine_link	there is none of ours: one of outside opens the tap device by its name, or
 *			speaks over a frame socket, which a process of its own carries (frames_link.h)
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sandbox/frames_link.h"
#include "sandbox/frames_socket.h"
#include "sandbox/engine/kvm.h"
#include "sandbox/engine/machine.h"
#include "sandbox/name_list.h"
#include "sandbox/restarts.h"
#include "sandbox/supervisor.h"

/* --- a monitor of the person's --- */

static int vm_check(const struct run_options *o, struct err *e)
{
	return bwrap_check(e);
}

/* Its variables, and how the device is found. */
static char **make_env(const struct run_options *o, const struct machine_link *l, struct err *e)
{
	char text[64], mac[MAC_TEXT];
	struct name_list env = {0};

	for (const char *const *v = o->env; v && *v; v++)
		name_list_add(&env, *v);
	if (l->tap)
		snprintf(text, sizeof(text), "SANDGATE_TAP=%s", l->tap);
	else
		snprintf(text, sizeof(text), "SANDGATE_TAP_FD=%d", l->fd);
	name_list_add(&env, text);
	machine_mac_print(l->mac, mac);
	snprintf(text, sizeof(text), "SANDGATE_TAP_MAC=%s", mac);
	name_list_add(&env, text);
	if (!env.failed)
		return env.v;
	name_list_free(env.v);
	err_set(e, "out of memory");
	return NULL;
}

static int vm_plan_inside(struct supervisor *s, struct machine *m, char **env, const char *cwd,
			  struct err *e)
{
	static const char *const kvm[] = {KVM_DEVICE, NULL};
	static const char *const kvm_and_tun[] = {KVM_DEVICE, "/dev/net/tun", NULL};
	const struct run_options *o = s->options;
	struct inside_request r = {
		.command = m->argv[0],
		.rw = o->rw,
		.ro = o->ro,
		.env = (const char *const *)env,
		.devices = m->by_name ? kvm_and_tun : kvm,
	};

	return inside_plan(&m->command.inside, s, &r, cwd, e);
}

static int vm_plan(struct supervisor *s, const char *cwd, struct err *e)
{
	struct machine_link link = machine_link_of(s->options->machine);
	struct machine *m = calloc(1, sizeof(*m));
	char **env;
	int status = EXIT_SANDGATE;

	if (!m)
		return err_set(e, "out of memory"), EXIT_SANDGATE;
	*m = MACHINE_NONE;
	m->by_name = link.tap != NULL;
	s->engine.own = m;
	s->engine.command = &m->command;
	m->argv = machine_words_fill(s->options->argv, &link, e);
	if (!m->argv)
		return EXIT_USAGE;
	env = make_env(s->options, &link, e);
	if (env)
		status = vm_plan_inside(s, m, env, cwd, e);
	name_list_free(env);
	return status;
}

static int vm_start(struct supervisor *s, struct err *e)
{
	return machine_start(s, s->engine.own, e);
}

static int vm_let_go(struct engine *g, const sigset_t *blocked)
{
	return machine_let_go(g->own, blocked);
}

static void vm_close(struct engine *g)
{
	if (g->own)
		machine_free(g->own);
	free(g->own);
}

const struct engine_class engine_vm = {
	.name = "vm",
	.turn = ENGINE_LAST,
	.link = AIRLOCK_TAP,
	.check = vm_check,
	.plan = vm_plan,
	.configure = machine_configure,
	.start = vm_start,
	.hear = engine_command_hear,
	.let_go = vm_let_go,
	.signal = engine_command_signal,
	.terminate = engine_command_terminate,
	.kill = engine_child_kill,
	.take_client = engine_command_take_client,
	.close = vm_close,
};

/* --- no monitor of ours --- */

enum { FRAMES_ENDED, FRAMES_SAID };

struct link {
	struct frames_socket socket;
	struct frames_setup setup; /* kept for the next process */
	struct frames_link frames;
	struct restarts restarts;
	int watch; /* epoll: its pidfd and its control socket */
};

static int link_plan(struct supervisor *s, const char *cwd, struct err *e)
{
	const struct machine_options *o = s->options->machine;
	const char *path = o->stream ? o->stream : o->dgram;
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(e, "out of memory"), EXIT_SANDGATE;
	l->socket = FRAMES_SOCKET_NONE;
	l->frames = FRAMES_LINK_NONE;
	l->watch = -1;
	s->engine.own = l;
	l->setup.kind = o->stream ? FRAMES_STREAM : FRAMES_DGRAM;
	l->setup.mtu = machine_link_of(o).mtu;
	return path && frames_socket_open(&l->socket, l->setup.kind, path, e) ? EXIT_SANDGATE : 0;
}

/* One that is closed here may be held by a process that was forked meanwhile: it is taken out. */
static int watch_one(int epoll, int fd, uint32_t what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int start_frames(struct link *l, struct err *e)
{
	if (frames_link_start(&l->frames, &l->setup, e))
		return -1;
	if (watch_one(l->watch, l->frames.process.pidfd, FRAMES_ENDED) < 0 ||
	    watch_one(l->watch, l->frames.process.control, FRAMES_SAID) < 0)
		return err_set(e, "watching the process that carries frames: %s", err_why(errno));
	return 0;
}

static int link_start(struct supervisor *s, struct err *e)
{
	struct link *l = s->engine.own;

	if (l->socket.fd < 0)
		return machine_offer(s, e);
	l->setup.tap = s->airlock.tap;
	l->setup.socket = l->socket.fd;
	l->watch = s->engine.watch = epoll_create1(EPOLL_CLOEXEC);
	if (l->watch < 0)
		return err_set(e, "a descriptor for events: %s", err_why(errno));
	return start_frames(l, e);
}

static void replace_frames(struct supervisor *s)
{
	struct link *l = s->engine.own;
	struct err e;

	epoll_ctl(l->watch, EPOLL_CTL_DEL, l->frames.process.pidfd, NULL);
	epoll_ctl(l->watch, EPOLL_CTL_DEL, l->frames.process.control, NULL);
	process_link_bury(&l->frames.process, &e);
	err_prefix(&e, "the machine's link is down");
	supervisor_say(&e);
	if (!restarts_allow(&l->restarts, mono_now())) {
		err_set(&e, "the process that carries frames ended again and again; the sandbox is "
			    "ended");
		supervisor_fail(s, &e);
	} else if (start_frames(l, &e)) {
		supervisor_fail(s, &e);
	}
}

static void link_look(struct supervisor *s)
{
	struct link *l = s->engine.own;
	struct epoll_event event;
	struct err said;

	if (epoll_wait(l->watch, &event, 1, 0) != 1)
		return;
	if (event.data.u32 == FRAMES_ENDED)
		replace_frames(s);
	else if (frames_link_hear(&l->frames, &said))
		supervisor_say(&said);
}

static void link_say_start(const struct supervisor *s)
{
	const struct machine_options *o = s->options->machine;
	struct machine_link link = machine_link_of(o);
	char mac[MAC_TEXT];
	struct err e;

	machine_mac_print(link.mac, mac);
	if (o->stream || o->dgram)
		err_set(&e, "frames of the machine %s are carried at %s (%s)", mac,
			o->stream ? o->stream : o->dgram, o->stream ? "stream" : "dgram");
	else
		err_set(&e,
			"the machine's device is %s in the network /proc/%d/ns/net; its MAC address "
			"is %s",
			MACHINE_TAP, (int)s->airlock.keeper, mac);
	supervisor_say(&e);
}

static uint64_t link_noise(const struct engine *g)
{
	return frames_link_refused(&((const struct link *)g->own)->frames);
}

static void link_close(struct engine *g)
{
	struct link *l = g->own;

	if (!l)
		return;
	process_link_leave(&l->frames.process);
	frames_link_free(&l->frames);
	frames_socket_close(&l->socket);
	if (l->watch >= 0)
		close(l->watch);
	free(l);
}

const struct engine_class engine_link = {
	.name = "vm",
	.turn = ENGINE_LAST,
	.link = AIRLOCK_TAP,
	.plan = link_plan,
	.configure = machine_configure,
	.start = link_start,
	.look = link_look,
	.signal = engine_bare_signal,
	.terminate = engine_bare_terminate,
	.kill = engine_bare_kill,
	.no_exec = "no command runs beside a machine that sandgate has not started",
	.noise = link_noise,
	.say_start = link_say_start,
	.close = link_close,
};
