/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Of each account, `accounted` is the sum of what the log has: entries and their `suppressed`.
 * `waiting` is what happened and is not in it. An entry that is written accounts for all that
 * waited; one that cannot be written leaves everything as it was, so nothing is lost with a disk
 * that is full. The last event that waits is kept, for it becomes the entry when the minute is
 * over.
 *
 * Nothing else is kept anywhere: after a restart the log itself says what it accounts for.
 */
#include "audit/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/entry.h"
#include "audit/rate.h"

/*
 * An entry with totals is written at least every so many (sealer_main.c), so a look at the last
 * ones finds one; and a minute's entries of all reasons are no more.
 */
enum { LOOK_BACK = 2048 };
_Static_assert(LOOK_BACK >= REASONS * LEDGER_REFUSED + 2 * LEDGER_ALLOWED,
	       "a minute's entries are looked at");
_Static_assert((int)RATE_MOST >= (int)LEDGER_ALLOWED && (int)RATE_MOST >= (int)LEDGER_REFUSED,
	       "rates have room");

struct counted_name {
	char text[NAME_MAX_OCTETS + 1];
	uint64_t n;
};

struct account {
	uint64_t accounted, waiting;
	struct rate rate;
	bool has_last;
	struct record last; /* that waits */
	struct counted_name names[LEDGER_NAMES];
};

struct ledger {
	const char *sandbox;
	struct event_printer *printer;
	ledger_append_fn *append;
	void *ctx;
	struct account of[ACCOUNTS];
};

struct ledger *ledger_new(const char *sandbox, struct event_printer *printer,
			  ledger_append_fn *append, void *ctx)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (l) {
		l->sandbox = sandbox;
		l->printer = printer;
		l->append = append;
		l->ctx = ctx;
	}
	return l;
}

void ledger_free(struct ledger *l)
{
	free(l);
}

static unsigned most_of(size_t account)
{
	return account_is_refusal(account) ? LEDGER_REFUSED : LEDGER_ALLOWED;
}

/* --- what waits --- */

/* A credential's place names the host as well. */
static const char *name_of(const struct record *r, char address[ADDR_TEXT_MAX])
{
	if (r->kind == RECORD_ALLOW && r->credential[0])
		return r->credential;
	if (r->has_name)
		return r->name.s;
	return r->has_addr ? addr_format(&r->addr, address) : NULL;
}

/* When all places are taken, the rest of `suppressed` is that of other names. */
static void count_name(struct account *a, const struct record *r)
{
	char address[ADDR_TEXT_MAX];
	const char *text = name_of(r, address);

	for (size_t i = 0; text && i < LEDGER_NAMES; i++) {
		struct counted_name *c = &a->names[i];

		if (c->n == 0)
			snprintf(c->text, sizeof(c->text), "%s", text);
		else if (strcmp(c->text, text) != 0)
			continue;
		c->n++;
		return;
	}
}

static void forget_waiting(struct account *a)
{
	a->waiting = 0;
	a->has_last = false;
	for (size_t i = 0; i < LEDGER_NAMES; i++)
		a->names[i].n = 0;
}

/* --- entries --- */

static json_t *of_record(const struct ledger *l, const struct record *r)
{
	char text[EVENT_MAX];
	struct buf b = buf_of(text, sizeof(text));

	buf_put_u8(&b, '{');
	event_print(l->printer, r, &b);
	buf_put_u8(&b, '}');
	return b.full ? NULL : json_loadb(text, b.n, 0, NULL);
}

/* Nothing is known of them but that they were. */
static json_t *of_account(const struct ledger *l, size_t account)
{
	bool refused = account_is_refusal(account);
	json_t *entry = json_pack("{s:s, s:s, s:s}", "sandbox", l->sandbox, "action",
				  event_action(refused ? RECORD_DENY : RECORD_ALLOW), "verdict",
				  refused ? "deny" : "allow");

	if (refused)
		json_object_set_new(entry, "reason", json_string(account_word(account)));
	else if (account == ACCOUNT_CREDENTIAL)
		json_object_set_new(entry, "credential", json_string("one that is not known"));
	return entry;
}

static json_t *names_of(const struct account *a)
{
	json_t *names = json_object();

	for (size_t i = 0; i < LEDGER_NAMES && a->names[i].n; i++)
		json_object_set_new(names, a->names[i].text,
				    json_integer((json_int_t)a->names[i].n));
	return names;
}

/* `r` is one of those that wait, and is not counted under its name; NULL: none is known. */
static int write_entry(struct ledger *l, size_t account, const struct record *r, mono_t now)
{
	struct account *a = &l->of[account];
	json_t *entry = r ? of_record(l, r) : of_account(l, account);
	int rc;

	if (!entry)
		return -ENOMEM;
	if (a->waiting > 1) {
		json_object_set_new(entry, "suppressed", json_integer((json_int_t)a->waiting - 1));
		if (a->names[0].n)
			json_object_set_new(entry, "suppressed_names", names_of(a));
	}
	rc = l->append(l->ctx, entry);
	if (rc)
		return rc;
	account_add(&a->accounted, a->waiting);
	rate_note(&a->rate, most_of(account), now);
	forget_waiting(a);
	return 0;
}

static void keep(struct account *a, const struct record *r)
{
	if (a->has_last)
		count_name(a, &a->last);
	a->last = *r;
	a->has_last = true;
}

void ledger_take(struct ledger *l, size_t account, const struct record *r, mono_t now)
{
	struct account *a = &l->of[account];

	a->waiting++;
	if (!rate_allows(&a->rate, most_of(account), now)) {
		keep(a, r);
		return;
	}
	if (a->has_last)
		count_name(a, &a->last);
	a->has_last = false;
	if (write_entry(l, account, r, now))
		keep(a, r);
}

void ledger_settle(struct ledger *l, const uint64_t total[ACCOUNTS])
{
	for (size_t i = 0; i < ACCOUNTS; i++) {
		struct account *a = &l->of[i];
		uint64_t most = total[i] < INT64_MAX ? total[i] : INT64_MAX;

		/* Never less than records told of: one that takes them back does not count. */
		if (most > a->accounted && most - a->accounted > a->waiting)
			a->waiting = most - a->accounted;
	}
}

int ledger_flush(struct ledger *l, mono_t now, bool all)
{
	int rc = 0;

	for (size_t i = 0; i < ACCOUNTS && rc == 0; i++) {
		struct account *a = &l->of[i];

		if (a->waiting && (all || rate_allows(&a->rate, most_of(i), now)))
			rc = write_entry(l, i, a->has_last ? &a->last : NULL, now);
	}
	return rc;
}

bool ledger_deadline(const struct ledger *l, mono_t *at)
{
	bool any = false;

	for (size_t i = 0; i < ACCOUNTS; i++) {
		mono_t next = rate_next(&l->of[i].rate, most_of(i));

		if (l->of[i].waiting == 0 || (any && !mono_before(next, *at)))
			continue;
		*at = next;
		any = true;
	}
	return any;
}

json_t *ledger_totals(const struct ledger *l)
{
	uint64_t counts[ACCOUNTS];

	ledger_read_accounted(l, counts);
	return account_print(counts);
}

/* --- what the log has --- */

static bool find_account(const char *word, size_t *account)
{
	for (*account = 0; word && *account < ACCOUNTS; ++*account)
		if (strcmp(account_word(*account), word) == 0)
			return true;
	return false;
}

static void read_totals(struct ledger *l, const json_t *totals)
{
	for (size_t i = 0; i < ACCOUNTS; i++) {
		const json_t *n = json_object_get(totals, account_word(i));

		/* Of those that never were, nothing is touched: their memory stays unused. */
		if (!n && !l->of[i].accounted)
			continue;
		l->of[i].accounted = 0;
		account_add(&l->of[i].accounted, (uint64_t)json_integer_value(n));
	}
}

/* As long ago as the wall clock says, and at most a minute: it may have been set since. */
static mono_t when(const char *time)
{
	int64_t ago = entry_now_ms() - entry_parse_time(time);

	ago = ago < 0 ? 0 : ago > RATE_MINUTE_MS ? RATE_MINUTE_MS : ago;
	return mono_add_ms(mono_now(), -ago);
}

static bool restore_entry(void *ctx, uint64_t seq, struct span line)
{
	struct ledger *l = ctx;
	struct entry en;
	struct err e;
	size_t i;

	if (entry_parse(line, &en, &e))
		return true;
	if (find_account(account_word_of_entry(en.value), &i)) {
		const json_t *more = json_object_get(en.value, "suppressed");

		account_add(&l->of[i].accounted, 1);
		account_add(&l->of[i].accounted, (uint64_t)json_integer_value(more));
		rate_note(&l->of[i].rate, most_of(i), when(en.time));
	}
	if (json_object_get(en.value, "totals"))
		read_totals(l, json_object_get(en.value, "totals"));
	entry_free(&en);
	return true;
}

int ledger_restore(struct ledger *l, int dir, uint64_t size, struct err *e)
{
	return audit_each(dir, size > LOOK_BACK ? size - LOOK_BACK : 0, restore_entry, l, e);
}

void ledger_read_accounted(const struct ledger *l, uint64_t counts[ACCOUNTS])
{
	for (size_t i = 0; i < ACCOUNTS; i++)
		counts[i] = l->of[i].accounted;
}
