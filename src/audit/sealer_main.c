/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One poll loop over the supervisor's socket and the ring's eventfd. What the ring has goes to the
 * connection log, and refusals to the ledger, which decides what becomes an entry of the audit log.
 * After records were taken the loop looks again BATCH_MS later without a wake-up, so a gate under
 * load makes no system call for them.
 *
 * Entries are made durable COMMIT_MS after the first of a group, or when there are COMMIT_ENTRIES;
 * the checkpoint is signed every SIGN_MS while there is something new. Then the supervisor is told
 * how many of its entries are sealed.
 *
 * A disk that is full: `stuck` is set, entries of the supervisor wait in `held`, refusals wait in
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
	RECORDS_AT_ONCE = 4096, /* then the supervisor has a turn */
};

/* --- records --- */

static void take_record(struct process *s, const struct record *r, mono_t now)
{
	if (!record_valid(r)) {
		s->garbled++;
		connection_log_missed(s->connections, 1);
		return;
	}
	connection_log_put(s->connections, s->printer, r, now);
	if (r->kind == RECORD_DENY)
		ledger_take(s->ledger, r, now);
}

/* What a hostile gate writes has no bound but this, and gets no entry of its own each. */
static void tell_garbled(struct process *s, mono_t now)
{
	json_t *entry;

	if (!s->garbled || s->stuck || mono_before(now, s->garbled_at))
		return;
	entry = json_pack("{s:s, s:s, s:I, s:s}", "sandbox", s->setup->sandbox, "action",
			  "sandgate.audit.garbled", "records", (json_int_t)s->garbled, "why",
			  "the gate wrote records that are none");
	if (sealer_write_entry(s, entry))
		return;
	s->garbled = 0;
	s->garbled_at = mono_add_ms(now, RATE_MINUTE_MS);
}

static void settle(struct process *s, const struct record_totals *total)
{
	ledger_settle(s->ledger, total);
	if (total->missed > s->missed)
		connection_log_missed(s->connections, total->missed - s->missed);
	s->missed = total->missed;
}

/* One of the future would take the time of all entries after it with it. */
static void bound_time(struct record *r, int64_t *wall_ms)
{
	if (r->time_ms > *wall_ms)
		*wall_ms = entry_now_ms();
	if (r->time_ms > *wall_ms)
		r->time_ms = *wall_ms;
}

static void drain(struct process *s)
{
	int64_t wall_ms = entry_now_ms();
	mono_t now = mono_now();
	struct record_totals total;
	struct record r;
	uint64_t put;
	bool settled = ring_read_settled(s->ring, &total, &put);
	size_t n = 0;

	while (n < RECORDS_AT_ONCE && !(settled && ring_taken(s->ring) == put) &&
	       ring_take(s->ring, &r)) {
		bound_time(&r, &wall_ms);
		take_record(s, &r, now);
		n++;
	}
	if (settled && ring_taken(s->ring) == put)
		settle(s, &total);
	s->busy = n > 0;
	tell_garbled(s, now);
}

void sealer_drain_all(struct process *s)
{
	size_t rounds = 0;

	do
		drain(s);
	while (s->busy && ++rounds < 16);
}

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

	if (!s->busy && !ring_may_sleep(s->ring))
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
		drain(s);
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
	uint64_t refused[REASONS];

	/* A configuration of OpenSSL's would be one of the files that are out of reach. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	s->connections = connection_log_open(SEALER_CONNECTIONS, s->setup->connections_bytes, e);
	s->log = s->connections ? audit_log_open(SEALER_AUDIT, &options, e) : NULL;
	if (!s->log || ledger_restore(s->ledger, SEALER_AUDIT, audit_log_size(s->log), e))
		return -1;
	ledger_read_accounted(s->ledger, refused);
	if (s->setup->alone)
		ring_raise(s->ring, refused);
	return 0;
}

static int make(struct process *s, int *control, struct err *e)
{
	char origin[ORIGIN_MAX];
	struct record_totals total;

	origin_make(s->setup->sandbox, origin);
	s->held = json_array();
	s->printer = event_printer_new(s->setup->sandbox, s->setup->catalogue);
	s->ledger = s->printer ? ledger_new(s->setup->sandbox, s->printer, sealer_append_refusal, s)
			       : NULL;
	if (!s->ledger || !s->held)
		return err_set(e, "%s", err_why(ENOMEM));
	s->ring = ring_map(s->setup->ring, e);
	if (!s->ring || sealer_confine(s->setup->folder, *control, s->setup->wake, s->parent, e))
		return -1;
	*control = SEALER_CONTROL;
	if (open_logs(s, origin, e))
		return -1;
	ring_read_totals(s->ring, &total);
	s->missed = total.missed;
	return 0;
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
