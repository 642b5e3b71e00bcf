/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/tally.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "audit/account.h"

enum { WORD_ROOM = 64 };

void tally_init(struct tally *t, const char *origin, bool pruned)
{
	const char *host = strchr(origin, '/'), *name = host ? strchr(host + 1, '/') : NULL;

	snprintf(t->sandbox, sizeof(t->sandbox), "%s", name ? name + 1 : "");
	t->counts = json_object();
	t->partly = pruned;
}

void tally_free(struct tally *t)
{
	json_decref(t->counts);
	t->counts = NULL;
}

/* Up to the largest number and not beyond, as the writer does: it may be of a hostile process's
 * making. */
static void count(struct tally *t, const char *word, json_int_t n)
{
	json_int_t before = json_integer_value(json_object_get(t->counts, word));
	json_int_t sum;

	if (n <= 0)
		return;
	if (__builtin_add_overflow(before, n, &sum))
		sum = INT64_MAX;
	json_object_set_new(t->counts, word, json_integer(sum));
}

static void count_entry(struct tally *t, const json_t *entry)
{
	const char *word = account_word_of_entry(entry);

	if (!word)
		return;
	count(t, word, 1);
	count(t, word, json_integer_value(json_object_get(entry, "suppressed")));
}

static int check_totals(const json_t *counts, const json_t *totals, struct err *e)
{
	const char *word;
	json_t *n;

	json_object_foreach((json_t *)totals, word, n)
	{
		json_int_t is = json_integer_value(json_object_get(counts, word));

		if (is != json_integer_value(n))
			return err_set(e,
				       "%lld events as %.*s are written or counted, its total "
				       "says %lld",
				       (long long)is, WORD_ROOM, word,
				       (long long)json_integer_value(n));
	}
	json_object_foreach((json_t *)counts, word, n)
	{
		if (json_integer_value(n) && !json_object_get(totals, word))
			return err_set(e, "%lld events as %.*s are written, its totals have none",
				       (long long)json_integer_value(n), WORD_ROOM, word);
	}
	return 0;
}

static bool is_of_another(const struct tally *t, const json_t *entry)
{
	const char *sandbox = json_string_value(json_object_get(entry, "sandbox"));

	return sandbox && strcmp(sandbox, t->sandbox) != 0;
}

int tally_add(struct tally *t, const json_t *entry, struct err *e)
{
	const json_t *totals = json_object_get(entry, "totals");

	if (is_of_another(t, entry))
		return 0;
	count_entry(t, entry);
	if (!json_is_object(totals))
		return 0;
	if (!t->partly)
		return check_totals(t->counts, totals, e);
	t->partly = false;
	json_object_clear(t->counts);
	return json_object_update(t->counts, (json_t *)totals);
}
