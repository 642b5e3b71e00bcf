/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One poll loop over the supervisor's socket and the rings' eventfd. What the rings have goes to the
 * connection log, and refusals and the broker's requests to the ledger, which decides what becomes
 * an entry of the audit log. After records were taken the loop looks again BATCH_MS later without a
 * wake-up, so a writer under load makes no system call for them.
 *
 * Entries are made durable COMMIT_MS after the first of a group, or when there are COMMIT_ENTRIES;
 * the checkpoint is signed every SIGN_MS while there is something new. Then the supervisor is told
 * how many of its entries are sealed.
 *
 * A disk that is full: `stuck` is set, entries of the supervisor wait in `held`, events wait in
 * the ledger, lines of the connection log are dropped and counted. Every RETRY_MS it is tried
 * again; the first entry that finds room tells of it.
 *
 * The stages of isolation are confine.h's: the key is read after all of them.
 */
#include "audit/sealer_main.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "audit/entry.h"
#include "audit/origin.h"
#include "audit/rate.h"
#include "audit/sealer_process.h"

enum {
	BATCH_MS = 10,
	COMMIT_ENTRIES = 64,
	SIGN_MS = 800, /* with the commit, within the second that is promised */
	IDLE_MS = 5000,
};

/* --- the loop --- */

static bool is_due(mono_t at, mono_t now)
{
	return !mono_before(now, at);
}

static void do_what_is_due(struct process *s)
{
	mono_t now = mono_now(), at;

	if (connection_log_deadline(s->connections, &at) && is_due(at, now))
		connection_log_flush(s->connections);
	if (s->stuck) {
		if (is_due(s->retry_at, now))
			sealer_retry(s);
		return;
	}
	/* What cannot be written now has made it stuck. */
	if (ledger_deadline(s->ledger, &at) && is_due(at, now))
		(void)!ledger_flush(s->ledger, now, false);
	sealer_write_totals(s);
	if (audit_log_dirty(s->log) && is_due(mono_add_ms(s->signed_at, SIGN_MS), now))
		sealer_commit(s, true);
	else if (s->group >= COMMIT_ENTRIES || (s->group && is_due(s->commit_at, now)))
		sealer_commit(s, false);
}

static void sooner(mono_t *at, mono_t other)
{
	if (mono_before(other, *at))
		*at = other;
}

static int timeout_ms(struct process *s)
{
	mono_t now = mono_now(), at = mono_add_ms(now, s->busy ? BATCH_MS : IDLE_MS), other;
	int64_t ms;

	if (!s->busy && !sealer_may_sleep(s))
		return 0;
	if (connection_log_deadline(s->connections, &other))
		sooner(&at, other);
	if (s->stuck)
		sooner(&at, s->retry_at);
	else if (ledger_deadline(s->ledger, &other))
		sooner(&at, other);
	if (!s->stuck && s->group)
		sooner(&at, s->commit_at);
	if (!s->stuck && audit_log_dirty(s->log))
		sooner(&at, mono_add_ms(s->signed_at, SIGN_MS));
	ms = mono_ms_until(now, at);
	return ms > 0 ? (int)ms : 0;
}

static void clear_wake(void)
{
	uint64_t n;

	if (read(SEALER_WAKE, &n, sizeof(n)) < 0)
		errno = 0;
}

static void run(struct process *s)
{
	struct pollfd fds[] = {{.fd = SEALER_CONTROL, .events = POLLIN},
			       {.fd = SEALER_WAKE, .events = POLLIN}};

	while (!s->ending) {
		if (poll(fds, sg_array_len(fds), timeout_ms(s)) < 0 && errno != EINTR)
			return;
		if (fds[1].revents)
			clear_wake();
		sealer_drain(s);
		if (fds[0].revents)
			sealer_hear_supervisor(s);
		else if (getppid() != s->parent)
			sealer_supervisor_is_gone(s);
		if (!s->ending)
			do_what_is_due(s);
	}
}

/* --- the start --- */

static int open_logs(struct process *s, const char *origin, struct err *e)
{
	const struct audit_log_options options = {
		.origin = origin,
		.keep_segments = s->setup->keep_segments,
		.fleeting = !s->setup->lasting,
	};

	/* A configuration of OpenSSL's would be one of the files that are out of reach. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	s->connections = connection_log_open(SEALER_CONNECTIONS, s->setup->connections_bytes, e);
	s->log = s->connections ? audit_log_open(SEALER_AUDIT, &options, e) : NULL;
	if (!s->log || ledger_restore(s->ledger, SEALER_AUDIT, audit_log_size(s->log), e))
		return -1;
	if (s->setup->alone)
		sealer_raise_totals(s);
	return 0;
}

static int map_rings(struct process *s, struct err *e)
{
	if (sealer_map_ring(s, SOURCE_GATE, s->setup->ring, e))
		return -1;
	return s->setup->broker_ring < 0
		       ? 0
		       : sealer_map_ring(s, SOURCE_BROKER, s->setup->broker_ring, e);
}

static int make(struct process *s, int *control, struct err *e)
{
	char origin[ORIGIN_MAX];

	origin_make(s->setup->sandbox, origin);
	s->held = json_array();
	s->printer = event_printer_new(s->setup->sandbox, s->setup->catalogue);
	s->ledger = s->printer ? ledger_new(s->setup->sandbox, s->printer, sealer_append_refusal, s)
			       : NULL;
	if (!s->ledger || !s->held)
		return err_set(e, "%s", err_why(ENOMEM));
	if (map_rings(s, e) ||
	    sealer_confine(s->setup->folder, *control, s->setup->wake, s->parent, e))
		return -1;
	*control = SEALER_CONTROL;
	return open_logs(s, origin, e);
}

int sealer_main(const struct sealer_setup *setup, int control, pid_t parent)
{
	struct process s = {.setup = setup, .parent = parent};
	struct err e;

	/* Of jansson's tables, from a file that is out of reach later. */
	json_object_seed(0);
	if (make(&s, &control, &e)) {
		char *text = json_dumps(json_pack("{s:s, s:s}", "op", "failed", "why", e.text), 0);

		/* In the middle of the confinement it may have its new place, or not yet. */
		if (text && send(control, text, strlen(text), MSG_NOSIGNAL) < 0 &&
		    send(SEALER_CONTROL, text, strlen(text), MSG_NOSIGNAL) < 0)
			return EXIT_FAILURE;
		return EXIT_FAILURE;
	}
	sealer_tell(json_pack("{s:s}", "op", "ready"));
	run(&s);
	connection_log_close(s.connections);
	audit_log_close(s.log);
	sealer_tell(json_pack("{s:s}", "op", "stop"));
	return EXIT_SUCCESS;
}
