/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/account.h"

#include "audit/event.h"

static const char credential_word[] = "credential-used";

const char *account_word(size_t account)
{
	return account == ACCOUNT_CREDENTIAL ? credential_word : reason_word((enum reason)account);
}

size_t account_of(const struct record *r, bool by_broker)
{
	if (r->kind == RECORD_DENY)
		return r->reason;
	if (r->kind != RECORD_ALLOW || !by_broker)
		return ACCOUNTS;
	return r->credential[0] ? ACCOUNT_CREDENTIAL : ACCOUNT_ALLOWED;
}

const char *account_word_of_entry(const json_t *entry)
{
	const char *action = json_string_value(json_object_get(entry, "action"));

	if (action && strcmp(action, event_action(RECORD_DENY)) == 0)
		return json_string_value(json_object_get(entry, "reason"));
	if (!action || strcmp(action, event_action(RECORD_ALLOW)) != 0)
		return NULL;
	return json_object_get(entry, "credential") ? credential_word
						    : account_word(ACCOUNT_ALLOWED);
}

void account_add(uint64_t *to, uint64_t n)
{
	uint64_t room = INT64_MAX - *to;

	*to += n < room ? n : room;
}

void account_add_totals(uint64_t to[ACCOUNTS], const struct record_totals *t, bool by_broker)
{
	for (size_t i = 0; i < REASONS; i++)
		if (account_is_refusal(i))
			account_add(&to[i], t->refused[i]);
	if (!by_broker)
		return;
	account_add(&to[ACCOUNT_CREDENTIAL], t->with_credential);
	if (t->allowed > t->with_credential)
		account_add(&to[ACCOUNT_ALLOWED], t->allowed - t->with_credential);
}

json_t *account_print(const uint64_t counts[ACCOUNTS])
{
	json_t *o = json_object();

	for (size_t i = 0; i < ACCOUNTS; i++)
		if (counts[i])
			json_object_set_new(o, account_word(i),
					    json_integer((json_int_t)counts[i]));
	return o;
}
