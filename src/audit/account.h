/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account: the kinds of events that the audit log has all of, written or counted: refusals by their
 * reason, and requests that the broker let through, with a credential and without.
 */
#ifndef SG_AUDIT_ACCOUNT_H
#define SG_AUDIT_ACCOUNT_H

#include <jansson.h>

#include "audit/record.h"

enum {
	ACCOUNT_ALLOWED = REASON_NONE, /* between it and ACCOUNT_CREDENTIAL: by enum reason */
	ACCOUNT_CREDENTIAL = REASONS,
	ACCOUNTS,
};

/* Its key among "totals": "allowed", "not-in-policy", "credential-used". */
const char *account_word(size_t account);
static inline bool account_is_refusal(size_t account)
{
	return account != ACCOUNT_ALLOWED && account != ACCOUNT_CREDENTIAL;
}

/* ACCOUNTS: none. Of what was allowed only what the broker carried has one. */
size_t account_of(const struct record *r, bool by_broker);

/* The word of an entry's account, borrowed; NULL: it has none. */
const char *account_word_of_entry(const json_t *entry);

/* To the largest number that an entry has and not beyond. */
void account_add(uint64_t *to, uint64_t n);

/* What a ring has counted, added to `to`. */
void account_add_totals(uint64_t to[ACCOUNTS], const struct record_totals *t, bool by_broker);

/* {"not-in-policy": 12}: without those that are 0. */
json_t *account_print(const uint64_t counts[ACCOUNTS]);

#endif
