/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: what makes a sandbox: bubblewrap, a container engine, a virtual machine, or nobody, when
 * a network namespace that is there already was put behind the gate. A table of functions, so that
 * the supervisor is one, whatever the kind.
 *
 * Theory of operation. All that differs between the kinds is when the engine starts and how its
 * network gets to the airlock:
 *
 *	ENGINE_EARLY	started as soon as the airlock's namespaces are there, and does its own work
 *			while airlock and gate are finished (bubblewrap: it enters them)
 *	ENGINE_FIRST	started before the airlock, and brings the namespace that the link is placed
 *			into (a container engine whose hook hands it in): start() returns when it is
 *			known, configure() names it
 *	ENGINE_LAST	started when the gate is ready (a machine that is given the tap's descriptor)
 *	ENGINE_NEVER	nothing of ours is started; start() is called as the last step all the same
 *
 * With every one of them nothing of the command runs before let_go(), which comes after airlock,
 * gate, broker and logs are ready; an engine that cannot be held back for that is ENGINE_LAST. The
 * calls come in this order, and any failure takes down what was made:
 *
 *	words		(command line) do the options go with it?
 *	check		can it be, on this machine?
 *	plan		programs, files, environment: what can be found wrong before anything runs
 *	configure	the airlock that it needs (ENGINE_FIRST: after start)
 *	start		its process
 *	hear		when `news` is readable: it is there and waits. Where news is -1 after start()
 *			it is there already
 *	let_go		the word to go on
 *	signal, take_client, look, terminate, kill	while it runs
 *	say_end		what the person should know at the end
 *	close
 *
 * An engine with a process of its own (pid > 0) is a child of the supervisor in a process group of
 * its own, which is given the terminal; its exit status is that of `sandgate run`. engine_program.h
 * starts one that is a program. One without (pid 0) ends when it is asked to (engine_bare_...), or
 * with `pidfd`, and its status is 0.
 *
 * A class keeps what it needs in `own`, made in plan() and freed in close(). All of it is the
 * supervisor's thread: a call that waits has a deadline, and engine_await() is how to wait for an
 * engine that may take long, since it sees the person's ^C and the engine's end. What is the same
 * for all whose first program is `start` is engine_command.h's.
 */
#ifndef SG_SANDBOX_ENGINE_H
#define SG_SANDBOX_ENGINE_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "airlock/airlock.h"
#include "base/err.h"

struct engine_command;
struct run_options;
struct supervisor;

enum engine_turn { ENGINE_EARLY, ENGINE_FIRST, ENGINE_LAST, ENGINE_NEVER };

struct engine {
	const struct engine_class *class;
	pid_t pid;  /* a child, also its process group; 0: none */
	int pidfd;  /* of the child; where there is none, of the process that it ends with, or -1 */
	int news;   /* readable when the engine has something to say before let_go(); or -1 */
	int watch;  /* readable when look() is to be called, while it runs; or -1 */
	bool ended; /* without a process: its end was asked for, or made */
	void *own;  /* of the class */
	/* In `own`; NULL where the first program is not `start`. */
	struct engine_command *command;
};

#define ENGINE_NONE(of) ((struct engine){.class = (of), .pidfd = -1, .news = -1, .watch = -1})

struct engine_class {
	const char *name; /* as --engine and `ls` say it */
	enum engine_turn turn;
	enum airlock_link link;
	bool chosen; /* --engine may name it */
	bool kept;   /* a sandbox of it may be kept, and started again */
	bool alone;  /* it runs without a command: it has its own, and takes words for it */

	/* Options that go with it, or not: 0, or -1 with the message. NULL: all go. */
	int (*words)(const struct run_options *o, struct err *e);
	/* 0, or -1 with the message. What is asked of the machine is cheap: a program in a fixed
	 * place. NULL: always. */
	int (*check)(const struct run_options *o, struct err *e);
	/* 0, or the exit status with the message. `cwd` is absolute. May be NULL. */
	int (*plan)(struct supervisor *s, const char *cwd, struct err *e);
	/* Adds to what the supervisor asks of the airlock; what it points to lives until close().
	 * Not called where the sandbox has no network. May be NULL. */
	int (*configure)(struct supervisor *s, struct airlock_config *c, struct err *e);
	/* Sets pid, pidfd and news of s->engine. On failure nothing runs. May be NULL. */
	int (*start)(struct supervisor *s, struct err *e);
	/* 1: it is there and waits; 0: it will not come, and its end says so; -1 with the message:
	 * the sandbox is to be ended. 2: wait on for more. */
	int (*hear)(struct supervisor *s, struct err *e);
	/* `blocked` is the signal mask that the command gets. 0 or -errno. May be NULL. */
	int (*let_go)(struct engine *g, const sigset_t *blocked);
	/* When `watch` is readable. May be NULL. */
	void (*look)(struct supervisor *s);
	/* To the command alone. 0 or -errno. */
	int (*signal)(struct engine *g, int signo);
	/* Asks all in the sandbox to end. 0 or -errno. */
	int (*terminate)(struct engine *g);
	/* Ends everything at once; also of one half made. */
	void (*kill)(struct engine *g);
	/* A client's connection for one more command inside (exec_wire.h), which stays the caller's.
	 * NULL where commands are not run so: then exec() says how. 0 or -errno. */
	int (*take_client)(struct engine *g, int client);
	/* How a command is run inside: a new array of words that the client puts before it and runs
	 * with the person's own rights and terminal ("podman", "exec", ...). `request` has "tty",
	 * and may have "cwd" and "env". NULL with the message. */
	json_t *(*exec)(struct supervisor *s, const json_t *request, struct err *e);
	const char *no_exec; /* where there is neither: why not, and what to do */
	/* Frames of the sandbox's that were refused before they came to the airlock. May be NULL. */
	uint64_t (*noise)(const struct engine *g);
	/* Beside the first line that is said, and beside the closing summary. May be NULL. */
	void (*say_start)(const struct supervisor *s);
	void (*say_end)(struct supervisor *s);
	/* Of the class's own; the rest is closed by engine_close(). May be NULL. */
	void (*close)(struct engine *g);
};

extern const struct engine_class engine_bwrap, engine_podman, engine_qemu, engine_attached,
	engine_awaited;
extern const struct engine_class engine_vm, engine_link; /* of `sandgate vm-net` */

/* The class of a name as --engine gives it, NULL for the default. NULL with the message. */
const struct engine_class *engine_find(const char *name, struct err *e);

const struct engine_class *engine_default(void);

/* As `ls` says it: of a name that was kept, also by another version. Never NULL. */
const char *engine_name(const char *kept);

/* start(), and the terminal for its process. */
int engine_start(struct supervisor *s, struct err *e) sg_must_check;

/*
 * Until `fd` is readable: 0. -1 with the message when the engine's process has ended before, or a
 * signal that asks for an end has come. `ms` as poll has it.
 */
int engine_await(struct supervisor *s, int fd, int ms, struct err *e) sg_must_check;

/*
 * Takes down one that was started and not let go. The whole group is killed: what the engine has
 * just forked would wait for it for ever, with the person's standard output in its hands.
 */
void engine_abandon(struct supervisor *s);

void engine_close(struct engine *g);

/* --- for the tables --- */

/* Of one with a process. */
void engine_child_kill(struct engine *g);

/*
 * configure(), of one whose network is what attach.h asks for: what of the request is the same for
 * every such engine. What it points to lives as long as the options.
 */
void engine_attach_configure(const struct supervisor *s, struct airlock_config *c);

/* Of one without a process: the end is that of the loop. */
int engine_bare_signal(struct engine *g, int signo);
int engine_bare_terminate(struct engine *g);
void engine_bare_kill(struct engine *g);

#endif
