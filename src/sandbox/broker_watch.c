/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	none --begin--> starting --await_ready--> running --its end--> none, and begun anew
 *
 * It is begun before the gate, and makes its keys and reads the host's certificates while airlock
 * and engine are made. Each broker has an authority of its own, which never leaves it; what clients
 * inside trust is in the bundle (ca_bundle.h), written before the first connection can come.
 *
 * Gate and broker speak over a socket of their own, made anew at each start of either. Without one
 * the gate refuses what has to be seen, and the broker resets what it has: nothing passes unseen.
 *
 * A broker holds no secret when it is begun: those that this process keeps lie in memory that a
 * child finds empty (secret_keep.h).
 */
#include "sandbox/broker_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "policy/inspects.h"
#include "sandbox/attach.h"
#include "sandbox/log/log_notes.h"
#include "sandbox/files/shared_trust.h"

/* A sandbox that runs for longer gets a new authority with its next broker. */
enum { AUTHORITY_DAYS = 397 };

bool broker_watch_is_missing(const struct supervisor *s, const struct policy *p,
			     const struct catalogue *c)
{
	return s->networked && !broker_link_is_there(&s->broker) &&
	       (s->parent.proxy.n || policy_needs_broker(p, c));
}

/* ---- Start ---- */

int broker_watch_begin(struct supervisor *s, struct ruleset *rules, const struct catalogue *c,
		       struct err *e)
{
	struct broker_setup setup = {
		.sandbox = s->dir.name,
		.control = -1,
		.rules = rules,
		.host = &s->host.prefixes,
		.catalogue = c,
		.bundle = ca_bundle_host(&s->ca),
		.parent = s->parent.broker,
		.authority_days = AUTHORITY_DAYS,
		.wake = s->log.wake,
		.patience = PATIENCE_USUAL,
	};

	if (log_link_prepare_broker(&s->log, e))
		return -1;
	setup.ring = s->log.broker_ring;
	s->broker_knows_full = false;
	memcpy(setup.placeholder_seed, s->placeholder_seed, sizeof(setup.placeholder_seed));
	return broker_link_begin(&s->broker, &setup, e);
}

static int share_authority(const struct supervisor *s, struct span pem, struct err *e)
{
	const struct attach_request *r = s->options->attach;

	if (!r || !r->shared_trust)
		return 0;
	return shared_trust_put(r->shared_trust, s->dir.name, &s->ca.host, pem, e);
}

/* What is not just certificates is refused there: the broker reads the sandbox's octets. */
int broker_watch_trust_authority(struct supervisor *s, struct err *e)
{
	_cleanup_free_ char *pem = broker_link_take_authority(&s->broker);

	if (pem && (ca_bundle_set_authority(&s->ca, span_of_string(pem), e) ||
		    share_authority(s, span_of_string(pem), e)))
		return err_prefix(e, "the authority of the broker");
	return 0;
}

int broker_watch_await_ready(struct supervisor *s, struct err *e)
{
	if (!broker_link_is_there(&s->broker))
		return 0;
	if (broker_link_await_ready(&s->broker, e))
		return -1;
	if (broker_watch_trust_authority(s, e) == 0)
		return 0;
	broker_watch_drop(s);
	return -1;
}

void broker_watch_drop(struct supervisor *s)
{
	struct err how;

	secret_fetch_abandon(&s->fetches);
	if (broker_link_is_there(&s->broker))
		broker_link_bury(&s->broker, &how);
}

/* ---- Gate and broker ---- */

/* One that does not take it goes on alone with what is no longer true: it is replaced. */
static int tell(struct process_link *l, const char *op, int fd, struct err *e)
{
	if (process_link_tell(l, json_pack("{s:s}", "op", op), fd, e) == 0)
		return 0;
	process_link_kill(l);
	return -1;
}

/* The broker first: when the gate knows of it, it hands connections over. */
int broker_watch_pair(struct supervisor *s, struct err *e)
{
	int pair[2], rc;

	if (!s->broker.ready || s->gate.process.pid <= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return err_set(e, "a socket between gate and broker: %s", err_why(errno));
	rc = tell(&s->broker.process, "gate", pair[0], e);
	if (rc == 0)
		rc = tell(&s->gate.process, "broker", pair[1], e);
	close(pair[0]);
	close(pair[1]);
	capture_link_pair_broker(s);
	return rc;
}

/* ---- While it runs ---- */

void broker_watch_hear(struct supervisor *s)
{
	process_link_hear(&s->broker.process);
}

/* Whoever waits for the secret has an answer with the same; the person outside has not. */
static void tell_failures(struct supervisor *s)
{
	const struct credential_list *list = &s->broker.credentials;
	char text[CREDENTIAL_TEXT_MAX];
	size_t number;
	struct err why;

	while (broker_link_take_failure(&s->broker, mono_now(), &number, &why)) {
		credential_describe(&list->v[number], text);
		log_note_credential_failure(s, text, &why);
		err_prefix(&why, "no secret for %s", text);
		supervisor_say(&why);
	}
}

static void tell_parent_trouble(struct supervisor *s)
{
	struct err why;

	if (!broker_link_take_parent_trouble(&s->broker, mono_now(), &why))
		return;
	log_note_credential_failure(s, "upstream_proxy", &why);
	err_prefix(&why, "nothing leaves through the parent proxy (upstream_proxy)");
	supervisor_say(&why);
}

void broker_watch_act(struct supervisor *s)
{
	struct err e;

	if (!s->broker.ready)
		return;
	if (broker_watch_trust_authority(s, &e)) {
		supervisor_say(&e);
		process_link_kill(&s->broker.process);
	}
	secret_fetch_begin(&s->fetches, &s->broker, &s->keep, &s->live.policy, mono_now());
	tell_failures(s);
	tell_parent_trouble(s);
}

void broker_watch_follow_log(struct supervisor *s)
{
	bool full = s->sealer.full && !s->options->sources->settings.audit_continue;
	struct err e;

	if (!s->broker.ready || full == s->broker_knows_full)
		return;
	s->broker_knows_full = full;
	if (process_link_tell(&s->broker.process,
			      json_pack("{s:s, s:b}", "op", "log", "writable", !full), -1, &e))
		process_link_kill(&s->broker.process);
}

/* One that ends while it starts has ended as well; one that hangs is not waited for twice. */
static int start_again(struct supervisor *s, const struct catalogue *c, struct err *e)
{
	mono_t until = mono_add_ms(mono_now(), PROCESS_START_MS);

	do {
		if (!restarts_allow(&s->broker_restarts, mono_now()))
			return err_set(
				e, "the broker has ended %d times in %d s; the sandbox is ended",
				RESTARTS_MAX + 1, RESTARTS_MS / 1000);
		if (broker_watch_begin(s, s->live.rules, c, e) == 0 &&
		    broker_watch_await_ready(s, e) == 0)
			return 0;
	} while (mono_before(mono_now(), until));
	return err_prefix(e, "no new broker can be started, the sandbox is ended");
}

static int begin_again(struct supervisor *s, const struct catalogue *c, struct err *e)
{
	if (start_again(s, c, e))
		return -1;
	/* A gate or a broker that did not take it has been ended, and its end comes here again. */
	if (broker_watch_pair(s, e))
		supervisor_say(e);
	return 0;
}

int broker_watch_replace(struct supervisor *s, struct err *e)
{
	const struct catalogue *c = live_policy_sources(&s->live, s->options).catalogue;

	broker_link_bury(&s->broker, e);
	secret_fetch_abandon(&s->fetches);
	log_note_broker_restart(s, e);
	err_prefix(e, "connections whose requests are seen are cut");
	supervisor_say(e);
	if (!broker_watch_is_missing(s, &s->live.policy, c))
		return 0;
	if (begin_again(s, c, e))
		return -1;
	err_set(e, "a new broker has taken over, with the same policy and a new authority");
	supervisor_say(e);
	return 0;
}

void broker_watch_end(struct supervisor *s)
{
	secret_fetch_abandon(&s->fetches);
	if (broker_link_is_there(&s->broker))
		broker_link_leave(&s->broker);
}
