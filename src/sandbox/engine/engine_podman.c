/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `podman`: a container of an image, whose first process is `start` (start.c).
 *
 * Theory of operation.
 *
 *	supervisor ── fork ── podman run ──▶ conmon ── runc or crun ── start (pid 1) ── command
 *	     ▲                                            │ hook, createRuntime
 *	     └── network namespace, pidfd ── sandgate oci-hook
 *
 * podman makes the container with a network namespace that has no device (`--network none`). Its
 * runtime calls our hook when that namespace is there and before anything runs in it; the hook hands
 * it over (container_offer.h) and waits. The airlock's link is placed into it, the gate started, and
 * only then the hook is answered, and `start` is executed: it waits for the word, as with bubblewrap.
 * So there are two things to hear: the hook that waits, then `start`.
 *
 * `start` and its socket are descriptors that podman hands on (--preserve-fds): nothing of ours lies
 * in the image. podman is a client; the container is the child of conmon. So what ends the container
 * is that its first process sees its supervisor's end on the socket, or is killed by its pidfd; and
 * when podman alone is killed, the supervisor kills it so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/engine/container_files.h"
#include "sandbox/engine/container_offer.h"
#include "sandbox/engine/engine_command.h"
#include "sandbox/engine/engine_program.h"
#include "sandbox/name_list.h"
#include "sandbox/person.h"
#include "sandbox/pidfd.h"
#include "sandbox/engine/podman_words.h"
#include "sandbox/supervisor.h"
#include "sandbox/engine/syscall_filter.h"

extern char **environ;

struct own {
	struct engine_command command;
	struct container_files files;
	struct syscall_filter filter;
	int listener; /* for the hook, until it has come */
	struct container_offer offer;
	char ticket[OFFER_TICKET_SIZE];
};

static const char *find_podman(void)
{
	static const char *const places[] = {"/usr/bin/podman", "/usr/local/bin/podman", NULL};

	return engine_program_find(places);
}

static int check(const struct run_options *o, struct err *e)
{
	if (!find_podman())
		return err_set(e, "podman is not installed; apt-get install podman");
	if (!o->image)
		return err_set(e, "--engine podman: which image? name one with --image");
	if (*o->image == '-' || !*o->image)
		return err_set(e, "--image: \"%s\" is no name of an image", o->image);
	return 0;
}

/* --- before anything runs --- */

static int make_files(struct supervisor *s, struct own *own, struct err *e)
{
	char hosts[INSIDE_HOSTS_MAX], path[PATH_MAX];

	if (!path_join(s->dir.registry.path, s->dir.name, path))
		return err_set(e, "%s: the path is too long", s->dir.registry.path);
	return container_files_make(s->dir.fd, path, s->networked ? INSIDE_RESOLV_CONF : "",
				    inside_hosts(s, hosts), &own->files, e);
}

static int plan(struct supervisor *s, const char *cwd, struct err *e)
{
	struct own *own = calloc(1, sizeof(*own));

	if (!own)
		return err_set(e, "out of memory"), EXIT_SANDGATE;
	own->command = ENGINE_COMMAND_NONE;
	own->filter = (struct syscall_filter){.calls = -1, .arguments = -1, .no_network = -1};
	own->listener = -1;
	own->offer = CONTAINER_OFFER_NONE;
	s->engine.own = own;
	s->engine.command = &own->command;
	if (make_files(s, own, e) || syscall_filter_make(&own->filter, e))
		return EXIT_SANDGATE;
	return inside_plan_image(&own->command.inside, s, cwd, e);
}

/* --- podman --- */

/* Those of the system that are there, which podman takes by itself when it is given none, and ours. */
static void choose_hook_folders(const char *own, const char *out[4])
{
	static const char *const usual[] = {"/usr/share/containers/oci/hooks.d",
					    "/etc/containers/oci/hooks.d"};
	size_t n = 0;

	for (size_t i = 0; i < sg_array_len(usual); i++)
		if (access(usual[i], R_OK) == 0)
			out[n++] = usual[i];
	out[n++] = own;
	out[n] = NULL;
}

static char **make_words(const struct supervisor *s, struct err *e)
{
	const struct own *own = s->engine.own;
	const char *hook_folders[4];
	struct file_over over[] = {
		{"/etc/resolv.conf", own->files.resolv_conf, NULL, false},
		{"/etc/hosts", own->files.hosts, NULL, false},
		{s->networked ? SANDBOX_CA : NULL, s->ca.folder, NULL, false},
		{"/etc/ssl/certs/ca-certificates.crt", s->ca.bundle, NULL, false},
		{"/etc/pki/tls/certs/ca-bundle.crt", s->ca.bundle, NULL, false},
		{0},
	};
	struct podman_request r = {
		.image = s->options->image,
		.name = s->dir.name,
		.hook_folders = hook_folders,
		.ticket = s->networked ? own->ticket : NULL,
		.plan = &own->command.inside.plan,
		.over = over,
		.env = own->command.inside.env,
		.argv = s->options->argv,
		.as_root = s->options->as_root,
		.rootless = !person_is_root(),
		.gid = getegid(),
		.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
	};

	choose_hook_folders(own->files.folder, hook_folders);
	return podman_words_make(&r, e);
}

/* Where podman hands them on from. They may lie at each other's places. */
static int place_descriptors(void *ctx)
{
	const int *theirs = ctx;
	int high[2];

	for (int i = 0; i < 2; i++) {
		high[i] = fcntl(theirs[i], F_DUPFD_CLOEXEC, PODMAN_FDS_END);
		if (high[i] < 0)
			return -1;
	}
	return dup2(high[0], PODMAN_FD_SOCKET) < 0 || dup2(high[1], PODMAN_FD_START) < 0 ? -1 : 0;
}

static int start_podman(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;
	int theirs[2] = {-1, start_link_program()};
	char **words = make_words(s, e);
	struct engine_program p = {
		.path = find_podman(),
		.argv = words,
		.env = environ,
		.netns = -1,
		.prepare = place_descriptors,
		.ctx = theirs,
	};
	int rc = words ? 0 : -1;

	if (rc == 0 && theirs[1] < 0)
		rc = err_set(e, "a file in memory: %s", err_why(errno));
	if (rc == 0)
		rc = start_link_open(&own->command.start, &theirs[0], e);
	if (rc == 0)
		rc = engine_program_start(s, &p, e);
	/* podman sets the terminal's modes before it calls the hook. */
	if (rc == 0)
		terminal_begin(&s->terminal, s->engine.pid);
	for (size_t i = 0; i < sg_array_len(theirs); i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	name_list_free(words);
	return rc;
}

/* However long podman fetches an image. */
static int await_hook(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;

	do {
		if (engine_await(s, own->listener, -1, e)) {
			err_prefix(e, "the container could not be made: podman says above why");
			return -1;
		}
	} while (!container_offer_take(own->listener, own->ticket, &own->offer));
	close(own->listener);
	own->listener = -1;
	return 0;
}

static int start(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;

	if (!s->networked) {
		s->engine.news = -1;
		if (start_podman(s, e))
			return -1;
		s->engine.news = own->command.start.socket;
		return 0;
	}
	own->listener = container_offer_listen(s->dir.fd, e);
	if (own->listener < 0 || container_offer_ticket(s->dir.name, own->ticket, e) ||
	    start_podman(s, e) || await_hook(s, e))
		return -1;
	s->engine.news = own->offer.connection;
	return 0;
}

static int configure(struct supervisor *s, struct airlock_config *c, struct err *e)
{
	const struct own *own = s->engine.own;

	c->netns = own->offer.netns;
	c->others = AIRLOCK_OTHERS_REFUSED;
	return 0;
}

/* --- the start of the command --- */

/* All is ready: the hook returns, and the container's first process is executed. */
static int answer_hook(struct supervisor *s, struct err *e)
{
	struct own *own = s->engine.own;
	int rc = container_offer_answer(&own->offer, NULL);

	if (rc)
		return err_set(e, "the container's hook has gone: %s", err_why(-rc));
	close(own->offer.connection);
	own->offer.connection = -1;
	s->engine.news = own->command.start.socket;
	return 2;
}

static int hear(struct supervisor *s, struct err *e)
{
	const struct own *own = s->engine.own;

	return own->offer.connection >= 0 ? answer_hook(s, e) : engine_command_hear(s, e);
}

static int let_go(struct engine *g, const sigset_t *blocked)
{
	const struct own *own = g->own;

	return start_link_let_go(&own->command.start, blocked, &own->filter);
}

/* --- while it runs --- */

static void kill_container(const struct own *own)
{
	if (own->command.start.inside >= 0)
		pidfd_signal(own->command.start.inside, SIGKILL);
	if (own->offer.process >= 0)
		pidfd_signal(own->offer.process, SIGKILL);
}

static void kill_all(struct engine *g)
{
	if (g->own)
		kill_container(g->own);
	engine_child_kill(g);
}

static void close_own(struct engine *g)
{
	struct own *own = g->own;

	if (!own)
		return;
	/* Where podman has ended before its container: nobody else would end that. */
	kill_container(own);
	if (own->listener >= 0)
		close(own->listener);
	container_offer_close(&own->offer);
	engine_command_free(&own->command);
	syscall_filter_close(&own->filter);
	free(own);
}

const struct engine_class engine_podman = {
	.name = "podman",
	.turn = ENGINE_FIRST,
	.link = AIRLOCK_NETNS,
	.chosen = true,
	.kept = true,
	.check = check,
	.plan = plan,
	.configure = configure,
	.start = start,
	.hear = hear,
	.let_go = let_go,
	.signal = engine_command_signal,
	.terminate = engine_command_terminate,
	.kill = kill_all,
	.take_client = engine_command_take_client,
	.say_start = engine_command_say_start,
	.say_end = engine_command_say_end,
	.close = close_own,
};
