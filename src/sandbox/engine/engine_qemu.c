/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `qemu`: a virtual machine whose only device of a network is sandgate's own (machine.h).
 *
 * QEMU sees the system and the files that its words name, and no project. It is stopped as a machine
 * is, by its power button: one word to its monitor, over a socket of which nothing is ever read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "sandbox/log/disk_header.h"
#include "sandbox/engine/engine_program.h"
#include "sandbox/engine/kvm.h"
#include "sandbox/engine/machine.h"
#include "sandbox/name_list.h"
#include "sandbox/engine/qemu_line.h"
#include "sandbox/supervisor.h"

enum { CPUS_MAX = 4 };

struct own {
	struct machine machine;
	int button; /* our end */
};

static struct machine *machine_of(const struct engine *g)
{
	return &((struct own *)g->own)->machine;
}

static const char *find_qemu(void)
{
	static const char *const places[] = {"/usr/bin/" QEMU_PROGRAM,
					     "/usr/local/bin/" QEMU_PROGRAM,
					     "/usr/libexec/qemu-kvm", NULL};

	return engine_program_find(places);
}

/* --- with these options, on this machine? --- */

static int words(const struct run_options *o, struct err *e)
{
	if (o->as_root)
		return err_set(e,
			       "--as-root: who is root in a machine is its guest's affair; leave "
			       "it out");
	if (o->env)
		return err_set(e,
			       "--env: a machine gets no variables; pass words to its kernel with "
			       "-append, or a file with -fw_cfg");
	if (o->hide)
		return err_set(e, "--hide: a machine sees no files but those that are named; leave "
				  "it out");
	return 0;
}

static int check(const struct run_options *o, struct err *e)
{
	if (bwrap_check(e))
		return -1;
	if (!find_qemu())
		return err_set(e, QEMU_PROGRAM " is not installed; apt-get install qemu-system-%s",
			       strcmp(QEMU_PROGRAM, "qemu-system-aarch64") == 0 ? "arm" : "x86");
	return 0;
}

/* --- disks --- */

static int read_header(const char *path, struct disk_header *out, struct err *e)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	uint8_t octets[DISK_HEADER];
	ssize_t n = fd < 0 ? -1 : read(fd, octets, sizeof(octets));

	if (n < 0)
		return err_set(e, "--image %s: %s", path, strerror(errno));
	disk_header_read(span_of(octets, (size_t)n), out);
	return 0;
}

static bool is_named(const char *const *ro, const char *cwd, const char *path)
{
	char named[PATH_MAX], tidy[PATH_MAX];

	for (; ro && *ro; ro++)
		if (path_join(cwd, *ro, named) && path_tidy(named, tidy) && path_holds(tidy, path))
			return true;
	return false;
}

/* The folder that a name in the header of a disk is meant from. */
static bool find_backing(const char *disk, const char *name, char out[PATH_MAX])
{
	char folder[PATH_MAX], path[PATH_MAX];

	strcpy(folder, disk);
	*(strrchr(folder, '/') + 1) = 0;
	return path_join(folder, name, path) && path_tidy(path, out);
}

/* QEMU would say that a file is missing, or the guest's firmware that no system is there. */
static int check_image(const struct run_options *o, const char *cwd, struct err *e)
{
	char joined[PATH_MAX], path[PATH_MAX], backing[PATH_MAX];
	struct disk_header h;

	if (!o->image)
		return 0;
	if (!path_join(cwd, o->image, joined) || !path_tidy(joined, path))
		return err_set(e, "--image %s: the path is too long", o->image);
	if (read_header(path, &h, e))
		return -1;
	if (h.qcow2 && strcmp(qemu_format_of(path), "qcow2") != 0)
		return err_set(
			e,
			"--image %s: it is in the format qcow2, which is taken only from the "
			"name, since a guest writes what is in a disk; rename it to end in "
			".qcow2, or write -- -drive file=%s,format=qcow2,if=virtio",
			o->image, o->image);
	if (!*h.backing || !find_backing(path, h.backing, backing) || is_named(o->ro, cwd, backing))
		return 0;
	return err_set(e,
		       "--image %s: it stands on another disk, %s, which is not followed, since a "
		       "guest may have named it; if that is yours, add --ro %s",
		       o->image, backing, backing);
}

/* --- the plan --- */

static unsigned count_cpus(void)
{
	int n = get_nprocs();

	return n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : (unsigned)n;
}

static int open_button(struct own *own, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "a socket to QEMU: %s", err_why(errno));
	own->button = pair[0];
	own->machine.button = pair[1];
	return 0;
}

static int make_line(struct supervisor *s, const struct qemu_words *q, bool kvm, struct err *e)
{
	struct machine_link link = machine_link_of(s->options->machine);
	struct qemu_setup setup = {
		.path = find_qemu(),
		.name = s->dir.name,
		.link = s->networked ? &link : NULL,
		.words = q,
		.button = MACHINE_BUTTON,
		.kvm = kvm,
		.cpus = count_cpus(),
		.authorities = s->networked ? SANDBOX_CA_EXTRA : NULL,
	};
	struct own *own = s->engine.own;

	own->machine.argv = qemu_line_make(&setup);
	return own->machine.argv ? 0 : err_set(e, "out of memory");
}

/* What `--ro` names beside the files of the words: disks that others stand on. */
static char **join_ro(const struct run_options *o, const struct qemu_words *q, struct err *e)
{
	struct name_list l = {0};

	for (const char *const *ro = o->ro; ro && *ro; ro++)
		name_list_add(&l, *ro);
	for (char **ro = q->ro; ro && *ro; ro++)
		name_list_add(&l, *ro);
	return name_list_finish(&l, e);
}

static int plan_inside(struct supervisor *s, const struct qemu_words *q, bool kvm, const char *cwd,
		       struct err *e)
{
	static const char *const devices[] = {KVM_DEVICE, NULL};
	struct inside_request r = {
		.command = find_qemu(),
		.rw = (const char *const *)q->rw,
		.devices = kvm || q->accel ? devices : NULL,
		.alone = true,
	};
	char **ro = join_ro(s->options, q, e);
	int status = EXIT_SANDGATE;

	r.ro = (const char *const *)ro;
	if (ro)
		status = inside_plan(&s->engine.command->inside, s, &r, cwd, e);
	name_list_free(ro);
	return status;
}

static int plan_with(struct supervisor *s, const struct qemu_words *q, const char *cwd,
		     struct err *e)
{
	struct err why;
	bool kvm = kvm_check(&why) == 0;

	if (!kvm && !q->accel && !s->options->quiet) {
		err_prefix(&why, "the machine is emulated, which is slow");
		supervisor_say(&why);
	}
	if (open_button(s->engine.own, e) || make_line(s, q, kvm, e))
		return EXIT_SANDGATE;
	return plan_inside(s, q, kvm, cwd, e);
}

static int make_own(struct supervisor *s, struct err *e)
{
	struct own *own = calloc(1, sizeof(*own));

	if (!own)
		return err_set(e, "out of memory");
	own->machine = MACHINE_NONE;
	own->button = -1;
	s->engine.own = own;
	s->engine.command = &own->machine.command;
	return 0;
}

static int plan_words(struct supervisor *s, const struct qemu_words *q, const char *cwd,
		      struct err *e)
{
	if (check_image(s->options, cwd, e))
		return EXIT_USAGE;
	if (q->ro || q->rw)
		return plan_with(s, q, cwd, e);
	err_set(e,
		"--engine qemu: nothing to start from; name a disk with --image, or -- -kernel FILE");
	return EXIT_USAGE;
}

static int plan(struct supervisor *s, const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;
	struct qemu_request r = {
		.host = &host_tree,
		.cwd = cwd,
		.image = o->image,
		.words = (const char *const *)o->argv,
		.rw = o->rw,
	};
	struct qemu_words q;
	int status;

	if (make_own(s, e))
		return EXIT_SANDGATE;
	if (qemu_words_read(&r, &q, e))
		return EXIT_USAGE;
	status = plan_words(s, &q, cwd, e);
	qemu_words_free(&q);
	return status;
}

/* --- while it runs --- */

static int start(struct supervisor *s, struct err *e)
{
	return machine_start(s, machine_of(&s->engine), e);
}

static int let_go(struct engine *g, const sigset_t *blocked)
{
	return machine_let_go(machine_of(g), blocked);
}

static int terminate(struct engine *g)
{
	static const char press[] = "system_powerdown\n";
	struct own *own = g->own;
	ssize_t n = send(own->button, press, sizeof(press) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n == (ssize_t)sizeof(press) - 1 ? 0 : -EAGAIN;
}

static void close_own(struct engine *g)
{
	struct own *own = g->own;

	if (!own)
		return;
	machine_free(&own->machine);
	if (own->button >= 0)
		close(own->button);
	free(own);
}

const struct engine_class engine_qemu = {
	.name = "qemu",
	.turn = ENGINE_LAST,
	.link = AIRLOCK_TAP,
	.chosen = true,
	.kept = true,
	.alone = true,
	.words = words,
	.check = check,
	.plan = plan,
	.configure = machine_configure,
	.start = start,
	.hear = engine_command_hear,
	.let_go = let_go,
	.signal = engine_command_signal,
	.terminate = terminate,
	.kill = engine_child_kill,
	.no_exec = "commands are not run in a machine from outside; use its console, or ssh with "
		   "--publish PORT:22",
	.close = close_own,
};
