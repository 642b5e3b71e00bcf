/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One poll loop. States of the sandbox: starting (the engine does its own work), waiting (it has
 * said that it is there, and what it made is looked at), running (let_go), ended. A signal before running is held for the command, but one that asks for an end ends the
 * engine.
 *
 * Whoever dies:
 *	engine		the sandbox has ended: its exit status is the result
 *	gate		the airlock is sealed by that alone; a new gate is forked with the same
 *			policy, RESTARTS_MAX times in RESTARTS_MS at most, then the
 *			sandbox is ended
 *	broker		what it had is cut, and the gate refuses what has to be seen; a new one
 *			takes over, as often as a gate
 *	keeper		the airlock is gone: the sandbox is ended
 *	sealer		a new one goes on with the logs, as often as a gate; what happens meanwhile
 *			waits in the ring, and is counted in any case
 *	supervisor	the kernel kills engine, gate, broker and keeper (PR_SET_PDEATHSIG); the sealer
 *			seals what there is, and ends
 *
 * All blocking here has a deadline: a request to gate or broker PROCESS_ANSWER_MS, to the keeper 5 s.
 */
#include "sandbox/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "airlock/link.h"
#include "sandbox/attach.h"
#include "sandbox/background.h"
#include "sandbox/broker_watch.h"
#include "sandbox/control/exec_door.h"
#include "sandbox/engine/start_link.h"
#include "sandbox/log/log_notes.h"

enum { SIGNAL_STATUS = 128, SAY_MS = 1000, WATCH_HOST_MS = 100 };

/* Passed on to the command. What the kernel sends by itself (SIGPIPE, SIGSEGV, ...) is not. */
static const int passed_signals[] = {SIGHUP,  SIGINT,  SIGQUIT,	 SIGTERM,
				     SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

/* A standard error that nobody reads must not hold up the sandbox. */
void supervisor_say(const struct err *e)
{
	struct pollfd f = {.fd = STDERR_FILENO, .events = POLLOUT};

	char time[BACKGROUND_TIME_MAX];

	if (poll(&f, 1, SAY_MS) == 1)
		dprintf(STDERR_FILENO, "%ssandgate: %s%s\n", background_time(time),
			background_name(), e->text);
}

void supervisor_fail(struct supervisor *s, const struct err *e)
{
	supervisor_say(e);
	s->why = *e;
	s->own_failure = true;
	s->status = EXIT_SANDGATE;
	s->engine.class->kill(&s->engine);
}

/* --- signals --- */

static void deliver_held(struct supervisor *s)
{
	for (int signo = 1; signo < 64; signo++)
		if (s->held_signals >> signo & 1)
			s->engine.class->signal(&s->engine, signo);
	s->held_signals = 0;
}

static void continue_engine(struct supervisor *s)
{
	s->stopped = false;
	if (s->engine.pid > 0)
		kill(-s->engine.pid, SIGCONT);
}

const char *supervisor_engine(const struct supervisor *s)
{
	return s->options->attach ? s->options->attach->engine : s->engine.class->name;
}

bool supervisor_asks_for_end(int signo)
{
	return signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT;
}

/* No command of this process's own runs in it: what is for one is for the sandbox. */
static bool is_served(const struct supervisor *s)
{
	return !s->options->argv[0] || s->outlived;
}

static void pass_signal(struct supervisor *s, int signo)
{
	if (s->let_go && is_served(s)) {
		if (supervisor_asks_for_end(signo))
			supervisor_stop(s, STOP_MS);
	} else if (s->let_go) {
		s->engine.class->signal(&s->engine, signo);
		if (s->stopped && supervisor_asks_for_end(signo))
			continue_engine(s);
	} else if (supervisor_asks_for_end(signo)) {
		s->own_failure = true;
		s->status = SIGNAL_STATUS + signo;
		s->engine.class->kill(&s->engine);
	} else {
		s->held_signals |= UINT64_C(1) << signo;
	}
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

static void command_ended(struct supervisor *s, int status)
{
	struct err e;

	s->ended = true;
	if (s->own_failure || s->outlived)
		return;
	s->status = exit_status(status);
	if (s->let_go)
		return;
	/* The engine has said why, and `start` or the child before it with this very status. */
	if (s->stopping)
		err_set(&e, "%s: it was stopped while it was made", s->dir.name);
	else
		err_set(&e,
			"the sandbox could not be made: %s says above why; sandgate doctor "
			"shows what this machine lacks",
			s->engine.class->name);
	if (s->stopping || s->status != EXIT_SANDGATE)
		supervisor_say(&e);
	s->own_failure = true;
	s->status = EXIT_SANDGATE;
}

/*
 * The command has ended, and others that `sandgate run` has brought in go on: the sandbox ends with
 * the last of them, or when its person wants it to.
 */
static void hear_outlived(struct supervisor *s)
{
	int status, rc = start_link_outlived(s->outlived_by, &status);
	struct err e;

	if (rc)
		s->outlived_by = -1;
	if (rc != 1)
		return;
	s->outlived = true;
	s->status = exit_status(status);
	terminal_end(&s->terminal, s->status > SIGNAL_STATUS);
	if (s->options->quiet)
		return;
	err_set(&e,
		"the command has ended; others that run in %s go on, and it ends with them, or by: "
		"sandgate stop %s",
		s->dir.name, s->dir.name);
	supervisor_say(&e);
}

/* Where no process is ours there is no status to pass on. */
static void bare_ended(struct supervisor *s)
{
	s->ended = true;
	if (!s->own_failure)
		s->status = 0;
}

/* Without a terminal there is no shell that would see a stopped job and continue it. */
static void engine_stopped(struct supervisor *s, int signo)
{
	if (s->terminal.fd < 0)
		s->stopped = true;
	else if (!terminal_sandbox_stopped(&s->terminal, signo))
		terminal_stop_job(&s->terminal, signo);
}

static void look_at_engine(struct supervisor *s)
{
	int status;

	while (s->engine.pid > 0 && !s->ended &&
	       waitpid(s->engine.pid, &status, WNOHANG | WUNTRACED) == s->engine.pid) {
		if (WIFSTOPPED(status))
			engine_stopped(s, WSTOPSIG(status));
		else
			command_ended(s, status);
	}
}

static void take_signal(struct supervisor *s, int signo)
{
	if (signo == SIGCHLD)
		look_at_engine(s);
	/* A stop of the job: the sandbox first, and then, when that is seen, the supervisor. */
	if (signo == SIGTSTP && s->engine.pid > 0)
		kill(-s->engine.pid, signo);
	if (signo == SIGCONT)
		continue_engine(s);
	for (size_t i = 0; i < sg_array_len(passed_signals); i++)
		if (passed_signals[i] == signo)
			pass_signal(s, signo);
}

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		take_signal(s, (int)info.ssi_signo);
}

/* --- the start of the command --- */

static void let_go(struct supervisor *s)
{
	int rc = s->engine.class->let_go ? s->engine.class->let_go(&s->engine, &s->person_mask) : 0;
	struct err e;

	if (rc) {
		err_set(&e, "starting the command: %s", strerror(-rc));
		supervisor_fail(s, &e);
		return;
	}
	s->let_go = true;
	if (s->engine.class->take_client && s->options->argv[0])
		s->outlived_by = s->engine.news;
	s->watch_host_at = mono_add_ms(mono_now(), WATCH_HOST_MS);
	deliver_held(s);
	if (s->options->ready > 0 &&
	    background_ready(s->dir.name, s->options->lasting, s->options->ready, &e))
		supervisor_fail(s, &e);
	else if (s->options->attach)
		attach_told(s->options->attach);
}

static void hear_engine(struct supervisor *s)
{
	struct err e;
	int rc = s->engine.class->hear(s, &e);

	/* One that will not come ends by itself, and that is where it is said. */
	if (rc == 0)
		s->engine.news = -1;
	else if (rc < 0)
		supervisor_fail(s, &e);
	else if (rc == 1)
		let_go(s);
}

/* --- the gate --- */

int supervisor_start_gate(struct supervisor *s, struct err *e)
{
	struct gate_setup setup = {
		.sandbox = s->dir.name,
		.tun = s->airlock.gate.tun,
		.listen_v4 = s->airlock.gate.listen_v4,
		.listen_v6 = s->airlock.gate.listen_v6,
		.door = s->airlock.door,
		.addresses = s->link.addresses,
		.dhcp = s->airlock.gate.dhcp,
		.router = s->airlock.gate.router,
		.guest_mtu = s->link.mtu		   ? s->link.mtu
			     : s->link.link == AIRLOCK_TAP ? AIRLOCK_TAP_MTU
							   : AIRLOCK_MTU,
		.verdicts = capture_link_for_gate(s),
		.control = -1,
		.publish = s->publish,
		.n_publish = s->n_publish,
		.rules = s->live.rules,
		.host = &s->host.prefixes,
		.resolver = &s->host.resolver,
		.parent = s->parent.proxy.n ? &s->parent.proxy : NULL,
		.catalogue = live_policy_sources(&s->live, s->options).catalogue,
		.ring = s->log.ring,
		.wake = s->log.wake,
	};
	int rc;

	memcpy(setup.guest_mac, s->link.mac ? s->link.mac : link_mac_sandbox,
	       sizeof(setup.guest_mac));
	rc = gate_link_start(&s->gate, &setup, e);
	if (setup.verdicts >= 0)
		close(setup.verdicts);
	airlock_close_gate_fds(&s->airlock.gate);
	return rc;
}

/* Without a broker the new gate would refuse what has to be seen, and the loop replaces it again. */
static void pair_gate(struct supervisor *s)
{
	struct err e;

	if (broker_watch_pair(s, &e))
		supervisor_say(&e);
}

void supervisor_replace_gate(struct supervisor *s)
{
	struct err e;

	process_link_bury(&s->gate.process, &e);
	log_link_mend(&s->log);
	if (s->ended || s->own_failure)
		return;
	log_note_gate_restart(s, &e);
	err_prefix(&e, "connections are cut, nothing leaves");
	supervisor_say(&e);
	if (!restarts_allow(&s->restarts, mono_now())) {
		err_set(&e, "the gate has ended %d times in %d s; the sandbox is ended",
			RESTARTS_MAX + 1, RESTARTS_MS / 1000);
		supervisor_fail(s, &e);
		return;
	}
	if (airlock_renew(&s->airlock, &s->airlock.gate, &e) || supervisor_start_gate(s, &e)) {
		err_prefix(&e, "no new gate can be started, the sandbox is ended");
		supervisor_fail(s, &e);
		return;
	}
	pair_gate(s);
	err_set(&e, "a new gate has taken over, with the same policy");
	supervisor_say(&e);
}

void supervisor_replace_broker(struct supervisor *s)
{
	struct err e;

	if (!s->own_failure && broker_watch_replace(s, &e))
		supervisor_fail(s, &e);
}

/* One that cannot be told goes on with what is no longer true: it is replaced. */
static void tell(struct process_link *to, json_t *request)
{
	json_t *answer = process_link_ask(to, request, PROCESS_ANSWER_MS);

	if (!answer)
		process_link_kill(to);
	json_decref(answer);
}

static void follow_host(struct supervisor *s, bool files, bool links)
{
	int changed = host_state_follow(&s->host, files, links);

	if (changed & HOST_PREFIXES) {
		tell(&s->gate.process, process_link_host_request(&s->host.prefixes));
		if (broker_link_is_there(&s->broker))
			tell(&s->broker.process, process_link_host_request(&s->host.prefixes));
	}
	if (changed & HOST_RESOLVER)
		tell(&s->gate.process, gate_link_resolver_request(&s->host.resolver));
}

/* They were read before, for the gate. */
static bool host_is_unwatched(const struct supervisor *s)
{
	return s->let_go && s->networked && !s->own_failure && !s->host.watched;
}

static bool watch_is_due(const struct supervisor *s)
{
	return host_is_unwatched(s) && !mono_before(mono_now(), s->watch_host_at);
}

static void sealer_ended(struct supervisor *s)
{
	struct err e;

	if (s->own_failure)
		return;
	if (log_link_renew(&s->log, &e)) {
		err_prefix(&e, "the sandbox is ended");
		supervisor_fail(s, &e);
		return;
	}
	err_prefix(&e, "a new sealer keeps the logs");
	supervisor_say(&e);
}

static void keeper_ended(struct supervisor *s)
{
	struct err e;

	if (s->own_failure)
		return;
	err_set(&e, "the keeper of the airlock has ended; the sandbox is ended");
	supervisor_fail(s, &e);
}

/* --- the loop --- */

/* In this order in the table; a descriptor that is not there is -1, which poll passes over. */
enum source {
	SIGNALS,
	NEWS,
	END,
	WATCH,
	EXEC,
	OUTLIVED,
	GATE,
	BROKER,
	BROKER_SAYS,
	KEEPER,
	SEALER,
	SEALED,
	CAPTURE,
	FILES,
	LINKS,
	SOURCES,			      /* then the readers of secrets, */
	FIXED = SOURCES + SECRET_FETCHES_MAX, /* and the clients of the control socket */
};

/* The sooner of two moments that may not be set. */
static void take_sooner(bool set, mono_t at, bool *any, mono_t *soonest)
{
	if (set && (!*any || mono_before(at, *soonest)))
		*soonest = at;
	*any = *any || set;
}

static int poll_timeout(const struct supervisor *s)
{
	mono_t at, soonest;
	bool any = false;
	int64_t ms;

	if (s->engine.ended)
		return 0;
	take_sooner(control_next_deadline(s->control, &at), at, &any, &soonest);
	take_sooner(supervisor_next_kill(s, &at), at, &any, &soonest);
	take_sooner(secret_fetch_next_deadline(&s->fetches, &at), at, &any, &soonest);
	take_sooner(host_is_unwatched(s), s->watch_host_at, &any, &soonest);
	if (!any)
		return -1;
	ms = mono_ms_until(mono_now(), soonest);
	return ms > 0 ? (int)ms : 0;
}

static size_t fill(const struct supervisor *s, struct pollfd *fds)
{
	bool ending = s->own_failure;
	const int sources[SOURCES] = {
		[SIGNALS] = s->signals,
		[NEWS] = s->let_go || ending ? -1 : s->engine.news,
		[END] = s->engine.pid > 0 ? -1 : s->engine.pidfd,
		[WATCH] = s->let_go && !ending ? s->engine.watch : -1,
		[EXEC] = s->let_go && !s->stopping && !ending ? s->exec_door : -1,
		[OUTLIVED] = s->let_go && !ending ? s->outlived_by : -1,
		[GATE] = s->networked && !ending ? s->gate.process.pidfd : -1,
		[BROKER] = ending ? -1 : s->broker.process.pidfd,
		[BROKER_SAYS] = ending ? -1 : s->broker.process.control,
		[KEEPER] = s->networked && !ending ? s->airlock.keeper_pidfd : -1,
		[SEALER] = ending ? -1 : s->sealer.pidfd,
		[SEALED] = ending ? -1 : s->sealer.control,
		[CAPTURE] = s->capture.events,
		[FILES] = s->networked ? s->host.inotify : -1,
		[LINKS] = s->networked ? s->host.links : -1,
	};

	for (size_t i = 0; i < SOURCES; i++)
		fds[i] = (struct pollfd){.fd = sources[i], .events = POLLIN};
	secret_fetch_poll(&s->fetches, fds + SOURCES);
	return FIXED + control_poll(s->control, fds + FIXED);
}

static void dispatch(struct supervisor *s, const struct pollfd *fds, size_t n)
{
	bool files = fds[FILES].revents || watch_is_due(s), links = fds[LINKS].revents;

	if (fds[SIGNALS].revents)
		take_signals(s);
	if ((fds[END].revents || s->engine.ended) && !s->ended)
		bare_ended(s);
	if (fds[NEWS].revents && !s->ended)
		hear_engine(s);
	if (fds[WATCH].revents && !s->ended)
		s->engine.class->look(s);
	if (fds[EXEC].revents && !s->ended)
		exec_door_serve(s->exec_door, &s->engine);
	if (fds[OUTLIVED].revents && !s->ended)
		hear_outlived(s);
	if (fds[KEEPER].revents && !s->ended)
		keeper_ended(s);
	if (fds[GATE].revents && !s->ended)
		supervisor_replace_gate(s);
	if (fds[BROKER].revents && !s->ended)
		supervisor_replace_broker(s);
	else if (fds[BROKER_SAYS].revents && !s->ended)
		broker_watch_hear(s);
	if (fds[SEALER].revents && !s->ended)
		sealer_ended(s);
	else if (fds[SEALED].revents && !s->ended)
		sealer_hear(&s->sealer);
	if (fds[CAPTURE].revents)
		capture_link_serve(s);
	if (!s->ended)
		broker_watch_follow_log(s);
	log_link_anchor(&s->log);
	if (!s->ended && !s->own_failure && (files || links))
		follow_host(s, files, links);
	if (!s->ended && !s->own_failure) {
		secret_fetch_serve(&s->fetches, &s->broker, fds + SOURCES, mono_now());
		broker_watch_act(s);
	}
	control_serve(s->control, fds + FIXED, n - FIXED, mono_now());
	supervisor_kill_when_due(s, mono_now());
}

void supervisor_run(struct supervisor *s)
{
	struct pollfd fds[FIXED + CONTROL_FDS];

	if (s->engine.news < 0)
		let_go(s);
	while (!s->ended) {
		size_t n = fill(s, fds);

		if (poll(fds, (nfds_t)n, poll_timeout(s)) < 0 && errno != EINTR) {
			struct err e;

			err_set(&e, "waiting for the sandbox: %s", strerror(errno));
			supervisor_fail(s, &e);
			if (s->engine.pid > 0)
				waitpid(s->engine.pid, NULL, 0);
			return;
		}
		dispatch(s, fds, n);
	}
}
