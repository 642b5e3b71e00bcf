/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * What a ring has is taken up to where its totals are known to belong to (ring_read_settled), and
 * of the two rings the earlier record goes first. So the logs are in the order of time as far as
 * one look at both can tell: what the one writer is late with comes behind what the other had put.
 *
 * The ledger is told how many of each account there ever were. Of a ring whose totals belong to a
 * moment, that is what they were then, and what was taken since; so one that never stands still
 * holds nobody up. Nothing is told before each ring has had such a moment.
 */
#include <string.h>

#include "audit/entry.h"
#include "audit/rate.h"
#include "audit/sealer_process.h"

enum { RECORDS_AT_ONCE = 4096 /* of a ring; then the supervisor has a turn */ };

/* --- a ring --- */

static const char *writer_of(const struct process *s, const struct source *from)
{
	return from == &s->source[SOURCE_BROKER] ? "broker" : "gate";
}

static bool is_broker(const struct process *s, const struct source *from)
{
	return from == &s->source[SOURCE_BROKER];
}

int sealer_map_ring(struct process *s, enum source_of which, int fd, struct err *e)
{
	struct source *from = &s->source[which];
	struct record_totals total;

	from->ring = ring_map(fd, e);
	if (!from->ring)
		return -1;
	ring_read_totals(from->ring, &total);
	from->missed = total.missed;
	return 0;
}

/* What the log has and the broker's ring has not is the gate's. */
void sealer_raise_totals(struct process *s)
{
	struct ring *gate = s->source[SOURCE_GATE].ring, *broker = s->source[SOURCE_BROKER].ring;
	struct record_totals least = {0}, had = {0}, requests = {0};
	uint64_t accounted[ACCOUNTS];

	ledger_read_accounted(s->ledger, accounted);
	if (broker) {
		ring_read_totals(broker, &had);
		requests.with_credential = accounted[ACCOUNT_CREDENTIAL];
		requests.allowed = accounted[ACCOUNT_ALLOWED];
		account_add(&requests.allowed, accounted[ACCOUNT_CREDENTIAL]);
		ring_raise(broker, &requests);
	}
	for (size_t i = 0; i < REASONS; i++)
		if (account_is_refusal(i) && accounted[i] > had.refused[i])
			least.refused[i] = accounted[i] - had.refused[i];
	ring_raise(gate, &least);
}

bool sealer_may_sleep(struct process *s)
{
	bool may = true;

	for (size_t i = 0; i < SOURCES; i++)
		if (s->source[i].ring && !ring_may_sleep(s->source[i].ring))
			may = false;
	return may;
}

/* --- records --- */

/* A gate knows of no credential, and a broker of nothing but requests. */
static bool is_good(const struct process *s, const struct source *from, const struct record *r)
{
	if (!record_valid(r))
		return false;
	return is_broker(s, from) ? r->proto == RECORD_HTTP : !r->credential[0];
}

static void take_record(struct process *s, struct source *from, mono_t now)
{
	const struct record *r = &from->next;
	size_t account;

	if (!is_good(s, from, r)) {
		from->garbled++;
		connection_log_missed(s->connections, 1);
		return;
	}
	connection_log_put(s->connections, s->printer, r, now);
	account = account_of(r, is_broker(s, from));
	if (account == ACCOUNTS)
		return;
	account_add(&from->since[account], 1);
	ledger_take(s->ledger, account, r, now);
}

/* What a hostile process writes has no bound but this, and gets no entry of its own each. */
static void tell_garbled(struct process *s, struct source *from, mono_t now)
{
	json_t *entry;

	if (!from->garbled || s->stuck || mono_before(now, from->garbled_at))
		return;
	entry = json_pack("{s:s, s:s, s:I, s:o}", "sandbox", s->setup->sandbox, "action",
			  "sandgate.audit.garbled", "records", (json_int_t)from->garbled, "why",
			  json_sprintf("the %s wrote records that are none", writer_of(s, from)));
	if (sealer_write_entry(s, entry))
		return;
	from->garbled = 0;
	from->garbled_at = mono_add_ms(now, RATE_MINUTE_MS);
}

/* One of the future would take the time of all entries after it with it. */
static void bound_time(struct record *r, int64_t *wall_ms)
{
	if (r->time_ms > *wall_ms)
		*wall_ms = entry_now_ms();
	if (r->time_ms > *wall_ms)
		r->time_ms = *wall_ms;
}

/* --- a look at both --- */

static bool is_at_end(const struct source *from)
{
	return from->settled && ring_taken(from->ring) == from->put;
}

static void begin_look(struct source *from)
{
	from->looked = 0;
	from->settled = from->ring && ring_read_settled(from->ring, &from->total, &from->put);
}

static void read_next(struct source *from, int64_t *wall_ms)
{
	if (from->has_next || !from->ring || from->looked == RECORDS_AT_ONCE || is_at_end(from))
		return;
	from->has_next = ring_take(from->ring, &from->next);
	if (!from->has_next)
		return;
	from->looked++;
	bound_time(&from->next, wall_ms);
}

static struct source *find_earliest(struct process *s)
{
	struct source *first = NULL;

	for (size_t i = 0; i < SOURCES; i++) {
		struct source *from = &s->source[i];

		if (from->has_next && (!first || from->next.time_ms < first->next.time_ms))
			first = from;
	}
	return first;
}

static void end_look(struct process *s, struct source *from)
{
	uint64_t missed = from->total.missed;

	if (!is_at_end(from))
		return;
	from->known = true;
	memset(from->since, 0, sizeof(from->since));
	memset(from->base, 0, sizeof(from->base));
	account_add_totals(from->base, &from->total, is_broker(s, from));
	if (missed > from->missed)
		connection_log_missed(s->connections, missed - from->missed);
	from->missed = missed;
}

static void settle(struct process *s)
{
	uint64_t total[ACCOUNTS] = {0};

	for (size_t i = 0; i < SOURCES; i++) {
		const struct source *from = &s->source[i];

		if (from->ring && !from->known)
			return;
		for (size_t k = 0; k < ACCOUNTS; k++) {
			account_add(&total[k], from->base[k]);
			account_add(&total[k], from->since[k]);
		}
	}
	ledger_settle(s->ledger, total);
}

void sealer_drain(struct process *s)
{
	int64_t wall_ms = entry_now_ms();
	mono_t now = mono_now();
	struct source *from;

	s->busy = false;
	for (size_t i = 0; i < SOURCES; i++)
		begin_look(&s->source[i]);
	do {
		for (size_t i = 0; i < SOURCES; i++)
			read_next(&s->source[i], &wall_ms);
		from = find_earliest(s);
		if (!from)
			break;
		take_record(s, from, now);
		from->has_next = false;
		s->busy = true;
	} while (true);
	for (size_t i = 0; i < SOURCES; i++)
		end_look(s, &s->source[i]);
	settle(s);
	for (size_t i = 0; i < SOURCES; i++)
		tell_garbled(s, &s->source[i], now);
}

void sealer_drain_all(struct process *s)
{
	size_t rounds = 0;

	do
		sealer_drain(s);
	while (s->busy && ++rounds < 16);
}
