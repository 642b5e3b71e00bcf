/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor: the parts of one sandbox while it runs, held by the `sandgate run` process itself.
 *
 *	run.c		makes the parts, in the order that keeps it closed
 *	supervisor.c	the loop: ends, signals, a new gate for a dead one, news of the host
 *	broker_watch.c	the broker: when there is one, and a new one for a dead one
 *	stop.c		the end that the person asks for
 *	drain.c		the time between the command's end and the gate's
 *	report.c	the answers of the control socket
 *
 * Private to src/sandbox.
 */
#ifndef SG_SANDBOX_SUPERVISOR_H
#define SG_SANDBOX_SUPERVISOR_H

#include <jansson.h>
#include <signal.h>

#include "airlock/airlock.h"
#include "base/clock.h"
#include "sandbox/broker_link.h"
#include "sandbox/files/ca_bundle.h"
#include "sandbox/log/capture_link.h"
#include "sandbox/control/control.h"
#include "sandbox/engine/engine.h"
#include "sandbox/gate_link.h"
#include "sandbox/host_state.h"
#include "sandbox/control/live_policy.h"
#include "sandbox/log/log_link.h"
#include "sandbox/engine/netns.h"
#include "sandbox/parent_state.h"
#include "sandbox/restarts.h"
#include "sandbox/run.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/secret/secret_fetch.h"
#include "sandbox/secret/secret_keep.h"
#include "sandbox/terminal.h"

struct supervisor {
	const struct run_options *options;
	mono_t started;
	sigset_t person_mask; /* of signals, as sandgate was started */
	int signals;	      /* a signalfd of all that can be had */

	struct runtime_dir dir;
	bool name_is_taken; /* by another; and so nothing was made */
	struct control *control;
	int exec_door;	     /* -1 where commands are not run by `start` */
	struct ca_bundle ca; /* of a networked one */

	struct sealer sealer;
	struct log_link log;
	bool noted_start; /* in the audit log */

	struct live_policy live;
	bool networked; /* false for `none`: what follows is not there */
	struct host_state host;
	mono_t watch_host_at;	    /* when the host's files begin to be watched, once let_go */
	struct airlock_config link; /* as the airlock was asked for */
	struct airlock airlock;
	struct gate_link gate;
	struct capture_link capture; /* of the link, when it was asked for */
	struct gate_publish *publish;
	size_t n_publish;
	struct restarts restarts;  /* of the gate */
	struct broker_link broker; /* none, unless the policy needs one */
	bool broker_knows_full;	   /* that the audit log cannot be written */
	struct restarts broker_restarts;
	struct parent_state parent;
	struct record_totals requests_before; /* what brokers of earlier runs have counted */
	struct secret_keep keep;
	struct secret_fetches fetches;
	uint8_t placeholder_seed[PLACEHOLDER_SEED];

	struct engine engine;
	struct terminal terminal;
	bool stopping; /* its end has been asked for, and at kill_at it is made */
	mono_t kill_at;
	uint64_t held_signals; /* bits: came before the command was there to get them */
	bool let_go;	       /* the command runs */
	int outlived_by; /* readable when it has ended before others that hold the sandbox; or -1 */
	bool outlived;	 /* it has, and `status` is its own */
	bool stopped;	 /* and was stopped, where there is no terminal */
	bool ended;
	bool own_failure; /* and not the command's end; then `why` */
	struct err why;
	char exposed[NETNS_WAYS_MAX]; /* devices that lead out past the gate; "": none */
	int status;		      /* of `sandgate run` */
};

/* Forks a gate from what the supervisor holds. */
int supervisor_start_gate(struct supervisor *s, struct err *e) sg_must_check;

/*
 * Gets rid of the gate, or the broker, whether it has ended or not, and starts another one with the
 * policy in force. When that cannot be, the sandbox is ended.
 */
void supervisor_replace_gate(struct supervisor *s);
void supervisor_replace_broker(struct supervisor *s);

/* Ends the sandbox for a reason of sandgate's own, which is said and goes into the logs. */
void supervisor_fail(struct supervisor *s, const struct err *e);

/* What makes the sandbox, as `ls` and the logs say it. */
const char *supervisor_engine(const struct supervisor *s);

/* Does this signal ask for an end? */
bool supervisor_asks_for_end(int signo);

/* Until the engine has ended; sets status. */
void supervisor_run(struct supervisor *s);

/* SIGTERM to all that runs inside, and after `ms` the end of all of it (stop.c). */
enum { STOP_MS = 10000, STOP_MS_MAX = 3600 * 1000 };
void supervisor_stop(struct supervisor *s, int64_t ms);
/*
 * The answer to {"op":"stop","ms":N}; it comes before the end, which shows in the name's being
 * free.
 */
json_t *supervisor_answer_stop(struct supervisor *s, const json_t *request);
/* When the end is to be made, or false when it is not. */
bool supervisor_next_kill(const struct supervisor *s, mono_t *at);
void supervisor_kill_when_due(struct supervisor *s, mono_t now);

/*
 * After the command's end, what it has sent goes on its way, as it would from the kernel of a host
 * without a gate: returns when no flow is open, when nothing more gets through, or at a signal.
 */
void supervisor_drain(struct supervisor *s);

/* control_answer_fn with the supervisor as context. */
/* What gate and broker refused, as the gate answers "refusals"; NULL without a network. */
json_t *report_refusals(struct supervisor *s, int timeout_ms);
json_t *report_answer(void *ctx, const json_t *request, const struct ucred *who);

/* "sandgate: MESSAGE" on standard error, without control characters. */
void supervisor_say(const struct err *e);

#endif
