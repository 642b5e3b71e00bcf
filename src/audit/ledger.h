/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger: which refusals and requests get an entry of the audit log, and how the others are
 * counted.
 *
 * Of each account (account.h) so many are written in a minute; the rest wait, counted by name, and
 * are in the `suppressed` of the next entry of the account. So, for each account at any entry that
 * has `totals`, over all entries up to it:
 *
 *	entries of the account + their `suppressed` = `totals`
 *
 * which is what verify checks. What the ring's totals count and no record told of (no room, a
 * process that was killed) is part of `suppressed`.
 */
#ifndef SG_AUDIT_LEDGER_H
#define SG_AUDIT_LEDGER_H

#include <jansson.h>

#include "audit/account.h"
#include "audit/event.h"
#include "audit/log.h"
#include "base/clock.h"

enum {
	LEDGER_NAMES = 16,    /* of one account that are counted by themselves */
	LEDGER_REFUSED = 20,  /* entries a minute of one reason */
	LEDGER_ALLOWED = 120, /* of requests with a credential, and of those without */
};

struct ledger;

/* Appends an entry, which is consumed, to the log. 0 or -errno: then it was not written. */
typedef int ledger_append_fn(void *ctx, json_t *entry);

/* `sandbox` and `printer` are borrowed. NULL without memory. */
struct ledger *ledger_new(const char *sandbox, struct event_printer *printer,
			  ledger_append_fn *append, void *ctx);
void ledger_free(struct ledger *l);

/*
 * What the log in the folder `dir` has: of each account, how many are accounted for, and the times
 * of the latest. For a ledger that is new. `size` is that of the log. 0 or -1 with the message.
 */
int ledger_restore(struct ledger *l, int dir, uint64_t size, struct err *e) sg_must_check;

/* What is accounted for. */
void ledger_read_accounted(const struct ledger *l, uint64_t counts[ACCOUNTS]);

/* What came from a ring, was found valid, and is of this account. */
void ledger_take(struct ledger *l, size_t account, const struct record *r, mono_t now);

/* `total` counts what was taken so far and nothing else: what is missing waits from now on. */
void ledger_settle(struct ledger *l, const uint64_t total[ACCOUNTS]);

/* Writes what waits as far as the rate allows; `all`: whatever it allows. 0 or -errno. */
int ledger_flush(struct ledger *l, mono_t now, bool all);

/* When ledger_flush() would write something; false: nothing waits. */
bool ledger_deadline(const struct ledger *l, mono_t *at);

/* {"not-in-policy": 12}: what is accounted for. */
json_t *ledger_totals(const struct ledger *l);

#endif
