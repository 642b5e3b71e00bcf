/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: makes the parts of a sandbox, in the order that keeps it closed, and takes them down.
 *
 * Nothing of the command runs before the airlock stands and the gate has said that it is isolated
 * and ready; the engine makes its mounts meanwhile and waits. A failure on the way takes down what
 * was made, says why, and is status 125.
 */
#include "sandbox/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/credential_use.h"
#include "sandbox/broker_watch.h"
#include "sandbox/control/exec_door.h"
#include "sandbox/log/log_notes.h"
#include "sandbox/engine/netns_claim.h"
#include "sandbox/engine/publish_ports.h"
#include "sandbox/refused.h"
#include "sandbox/state_dir.h"
#include "sandbox/summary.h"
#include "sandbox/supervisor.h"
#include "sandbox/settings/trust.h"

extern char **environ;

enum { CLOSING_MS = 3000 };

/* --- the parts --- */

/* A descriptor that is opened later must never be taken for standard input or output. */
static int hold_standard_descriptors(struct err *e)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return err_set(e, "/dev/null: %s", err_why(errno));
	close(fd);
	return 0;
}

/*
 * Everything that can be is blocked: signals are read in the loop, and children are born without a
 * moment in which one would end them half-made.
 */
static int hold_signals(struct supervisor *s, struct err *e)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &s->person_mask);
	sigdelset(&all, SIGPIPE);
	s->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? err_set(e, "a descriptor for signals: %s", err_why(errno)) : 0;
}

static int check_policy(const struct policy *p, struct err *e)
{
	if (p->network == NET_NONE && p->n_publish)
		return err_set(e, "--publish: the network `none` has no link to a published port; "
				  "take --net deny");
	if (p->network == NET_NONE && p->n_host_ports)
		return err_set(e, "--host-port: the network `none` has no link to the host; take "
				  "--net deny");
	return 0;
}

/* What a sandbox may have written is asked only where the person's variables name files. */
static int open_ca_bundle(struct supervisor *s, const char *cwd, struct err *e)
{
	struct host_bundle_request r = {.host = &host_tree,
					.person = environ,
					.workdir = cwd,
					.was_shared = trust_says_shared};
	char path[PATH_MAX];
	struct trust trust = {0};
	int rc;

	if (host_bundle_is_named(environ) && trust_read_if_kept(&trust, e) < 0)
		return -1;
	r.was_shared_ctx = &trust;
	rc = path_join(s->dir.registry.path, s->dir.name, path)
		     ? ca_bundle_open(&s->ca, &r, s->dir.fd, path, e)
		     : err_set(e, "%s: the path is too long", s->dir.registry.path);
	trust_free(&trust);
	return rc;
}

/* The keeper works while the rest is planned and the engine makes its mounts. */
static int begin_airlock(struct supervisor *s, struct err *e)
{
	const struct engine_class *engine = s->engine.class;

	s->link = (struct airlock_config){
		.uid = geteuid(),
		.gid = getegid(),
		.door = s->options->policy->n_publish > 0,
		.link = engine->link,
		.netns = -1,
		.capture = s->options->pcap.file != NULL,
	};
	if (engine->configure && engine->configure(s, &s->link, e))
		return -1;
	return airlock_begin(&s->link, &s->airlock, e);
}

/* The sealer opens the logs while the rest is made. */
static int begin_logs(struct supervisor *s, struct err *e)
{
	if (log_link_open(&s->log, &s->sealer, &s->dir, s->options->lasting, s->options->sources,
			  e))
		return -1;
	sealer_set_on(&s->sealer, s->live.policy.resolved.on);
	return 0;
}

/* What goes out of this process is a child's: nothing may be forked before. */
static int take_secrets(struct supervisor *s, struct err *e)
{
	if (getrandom(s->placeholder_seed, sizeof(s->placeholder_seed), 0) !=
	    sizeof(s->placeholder_seed))
		return err_set(e, "random octets for placeholders: %s", err_why(errno));
	s->fetches.parent_from = s->options->sources->settings.upstream_proxy_from;
	return secret_keep_take(&s->keep, policy_credentials(&s->live.policy),
				s->fetches.parent_from, e);
}

/* Before there is a keeper: whoever lists addresses waits while the kernel makes its link. */
static int read_host(struct supervisor *s, struct err *e)
{
	return s->networked ? host_state_open(&s->host, &s->options->sources->settings, e) : 0;
}

static int read_parent(struct supervisor *s, struct err *e)
{
	return s->networked ? parent_state_read(&s->parent, &s->options->sources->settings, e) : 0;
}

/*
 * It makes itself ready while the engine and the keeper work, and takes no CPU of the plan that the
 * engine waits for.
 */
static int begin_broker(struct supervisor *s, struct err *e)
{
	if (!broker_watch_is_missing(s, &s->live.policy, s->options->sources->catalogue))
		return 0;
	return broker_watch_begin(s, s->live.rules, s->options->sources->catalogue, e);
}

static int make_gate(struct supervisor *s, struct err *e)
{
	if (begin_broker(s, e) || publish_ports_open(s->options, &s->publish, &s->n_publish, e) ||
	    airlock_await_ready(&s->airlock, e))
		return -1;
	netns_claim_note_airlock(&s->dir, s->airlock.keeper);
	/* Where there is a log already, the sealer puts the totals right before a gate counts. */
	if (s->options->lasting && sealer_await_ready(&s->sealer, e))
		return -1;
	if (s->log.broker_ring)
		ring_read_totals(s->log.broker_ring, &s->requests_before);
	if (capture_link_begin(s, e) || supervisor_start_gate(s, e) ||
	    broker_watch_await_ready(s, e))
		return -1;
	return broker_watch_pair(s, e);
}

/* --- what is said --- */

static void say_first_lines(const struct supervisor *s)
{
	struct policy_sources sources = live_policy_sources(&s->live, s->options);
	char *line = summary_first_line(&s->live.policy, &sources);
	struct err e;

	if (!s->options->quiet && line) {
		err_set(&e, "%s", line);
		supervisor_say(&e);
	}
	if (s->engine.class->say_start)
		s->engine.class->say_start(s);
	if (credentials_note_idle(s->live.rules, &e))
		supervisor_say(&e);
	for (char *const *note = s->ca.host.notes; *note; note++) {
		err_set(&e, "%s", *note);
		supervisor_say(&e);
	}
	free(line);
}

static void say_refusals(struct supervisor *s)
{
	json_t *answer = report_refusals(s, CLOSING_MS);
	json_t *status = gate_link_counted(&s->gate, "status", CLOSING_MS);
	struct suggestions refused = {
		.catalogue = live_policy_sources(&s->live, s->options).catalogue,
		.on = s->live.policy.resolved.on,
		.rules = s->live.rules,
	};
	struct summary_end end = {
		.refused = &refused,
		.others = refused_read(answer, &refused),
		.status = status,
		.o = s->options,
		.lasting = s->options->lasting ? s->dir.name : NULL,
	};
	char *text = summary_closing(&end);

	if (text)
		dprintf(STDERR_FILENO, "%s", text);
	free(text);
	suggest_free(&refused);
	json_decref(answer);
	json_decref(status);
}

static void say_closing(struct supervisor *s)
{
	if (s->options->quiet || !s->let_go || s->options->attach)
		return;
	if (s->networked)
		say_refusals(s);
	if (s->engine.class->say_end)
		s->engine.class->say_end(s);
}

/* --- from start to end --- */

static bool begins_early(const struct supervisor *s)
{
	return s->networked && s->engine.class->turn != ENGINE_FIRST;
}

/*
 * Who has the name keeps `create` from it (registry_while_free()), so the look comes after: nothing
 * is kept of such a sandbox, and its logs would be looked for in the other's.
 */
static int take_name(struct supervisor *s, const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;
	_cleanup_fd_ int kept = -1;
	struct err ignored;
	int rc;

	rc = runtime_dir_claim(&s->dir, o->name, o->name_from ? o->name_from : cwd, e);
	s->name_is_taken = rc == -EEXIST;
	if (o->lock > 0)
		close(o->lock);
	if (rc)
		return -1;
	if (o->name && !o->lasting)
		kept = state_dir_open_sandbox(o->name, false, &ignored);
	return kept < 0 ? 0
			: err_set(e, "%s: a sandbox of that name is kept; take another name",
				  o->name);
}

/*
 * What can be found wrong before the engine is started. Who finds the name taken may try again in this
 * process, so secrets are taken after it.
 */
static int make_plan(struct supervisor *s, const char *cwd, struct err *e)
{
	const struct run_options *o = s->options;

	if (check_policy(o->policy, e))
		return -1;
	if (live_policy_begin(&s->live, o, e) || take_name(s, cwd, e) || take_secrets(s, e))
		return -1;
	if (capture_link_prepare(s, &o->pcap, geteuid(), e))
		return -1;
	if (read_host(s, e) || (begins_early(s) && begin_airlock(s, e)))
		return -1;
	if (s->networked && open_ca_bundle(s, cwd, e))
		return -1;
	return begin_logs(s, e) || read_parent(s, e) ? -1 : 0;
}

static int start_in_turn(struct supervisor *s, enum engine_turn turn, struct err *e)
{
	return s->engine.class->turn == turn ? engine_start(s, e) : 0;
}

static int make_network(struct supervisor *s, struct err *e)
{
	if (!begins_early(s) && s->networked && begin_airlock(s, e))
		return -1;
	if (!s->networked)
		return 0;
	if (airlock_await_namespaces(&s->airlock, e))
		return -1;
	if (s->airlock.sandbox_netns >= 0)
		netns_claim_note(&s->dir, s->airlock.sandbox_netns);
	return 0;
}

/* An early engine is at work while the airlock is finished and the gate started (engine.h). */
static int make_sandbox(struct supervisor *s, struct err *e)
{
	if (start_in_turn(s, ENGINE_FIRST, e) || make_network(s, e) ||
	    start_in_turn(s, ENGINE_EARLY, e) || (s->networked && make_gate(s, e)) ||
	    start_in_turn(s, ENGINE_LAST, e) || start_in_turn(s, ENGINE_NEVER, e))
		return -1;
	return sealer_await_ready(&s->sealer, e);
}

/*
 * Whatever the engine's turn, it waits for the word to go on, which only the loop gives
 * (supervisor.c), after all of this.
 */
static int make_parts(struct supervisor *s, struct err *e)
{
	/* Who sees the control socket knows that the other one is there, or will not be. */
	if (s->engine.class->take_client && (s->exec_door = exec_door_open(s->dir.fd, e)) < 0)
		return -1;
	s->control = control_open(s->dir.fd, report_answer, s, e);
	if (!s->control)
		return -1;
	if (make_sandbox(s, e)) {
		engine_abandon(s);
		return -1;
	}
	log_note_start(s);
	say_first_lines(s);
	return 0;
}

/* 0, or the exit status with the message. */
static int make_all(struct supervisor *s, struct err *e)
{
	const char *workdir = s->options->workdir;
	_cleanup_free_ char *cwd = workdir ? strdup(workdir) : getcwd(NULL, 0);
	int status;

	if (!cwd || *cwd != '/') {
		err_set(e, "the working directory: %s; go to one that exists",
			cwd ? "it cannot be reached" : strerror(errno));
		return EXIT_SANDGATE;
	}
	if (make_plan(s, cwd, e))
		return EXIT_SANDGATE;
	status = s->engine.class->plan ? s->engine.class->plan(s, cwd, e) : 0;
	if (status == 0 && make_parts(s, e))
		status = EXIT_SANDGATE;
	return status;
}

/*
 * Closing the last descriptor of an inotify instance, or of a network namespace, waits for a grace
 * period of the kernel's. A child that holds copies of them is killed by the end of this process
 * and waits in its place.
 */
static void leave_slow_closes_behind(void)
{
	pid_t self = getpid();

	if (fork() != 0)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != self)
		_exit(EXIT_SUCCESS);
	setsid();
	/* Whoever reads what the command writes is waiting for its end. */
	close_range(STDIN_FILENO, STDERR_FILENO, 0);
	for (;;)
		pause();
}

static void take_down(struct supervisor *s)
{
	if (s->networked && !s->name_is_taken)
		leave_slow_closes_behind();
	control_close(s->control);
	if (s->exec_door >= 0)
		close(s->exec_door);
	engine_close(&s->engine);
	broker_watch_end(s);
	json_decref(process_link_ask(&s->gate.process, json_pack("{s:s}", "op", "stop"),
				     PROCESS_ANSWER_MS));
	process_link_leave(&s->gate.process);
	capture_link_close(s);
	log_link_close(&s->log, log_note_stop(s));
	airlock_close(&s->airlock);
	publish_ports_close(s->publish, s->n_publish);
	host_state_close(&s->host);
	secret_keep_free(&s->keep);
	live_policy_free(&s->live);
	ca_bundle_close(&s->ca);
	runtime_dir_release(&s->dir);
	if (s->signals >= 0)
		close(s->signals);
}

static void begin(struct supervisor *s, const struct run_options *o)
{
	*s = (struct supervisor){
		.options = o,
		.started = mono_now(),
		.signals = -1,
		.exec_door = -1,
		.outlived_by = -1,
		.sealer = SEALER_NONE,
		.log = LOG_LINK_NONE,
		.dir = {.registry.fd = -1, .fd = -1, .lock = -1},
		.ca = CA_BUNDLE_NONE,
		.networked = o->policy->network != NET_NONE,
		.host = {.inotify = -1, .links = -1},
		.airlock = AIRLOCK_NONE,
		.gate = GATE_LINK_NONE,
		.capture = CAPTURE_LINK_NONE,
		.broker = BROKER_LINK_NONE,
		.engine = ENGINE_NONE(o->engine ? o->engine : engine_default()),
		.terminal = {.fd = -1},
	};
}

int sandbox_run(const struct run_options *o)
{
	struct supervisor s;
	bool yields = false;
	struct err e;
	int status;

	begin(&s, o);
	if (s.engine.class->check && s.engine.class->check(o, &e)) {
		supervisor_say(&e);
		return EXIT_SANDGATE;
	}
	if (hold_standard_descriptors(&e) || hold_signals(&s, &e)) {
		supervisor_say(&e);
		return EXIT_SANDGATE;
	}
	terminal_open(&s.terminal);
	status = make_all(&s, &e);
	if (status) {
		yields = s.name_is_taken && o->yields;
		if (!yields)
			supervisor_say(&e);
	} else {
		supervisor_run(&s);
		status = s.status;
		terminal_end(&s.terminal, s.own_failure || status > 128);
		/* Without a process that has ended, those who send go on elsewhere. */
		if (s.networked && !s.own_failure && !s.engine.ended)
			supervisor_drain(&s);
		say_closing(&s);
	}
	take_down(&s);
	if (yields) {
		sigprocmask(SIG_SETMASK, &s.person_mask, NULL);
		return RUN_NAME_TAKEN;
	}
	/* Signals stay blocked: a pending one (SIGPIPE, a late ^C) must not change the status. */
	return status;
}
