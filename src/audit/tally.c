/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/tally.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { REASON_ROOM = 64 };

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

/* Up to the largest number and not beyond, as the writer does: it may be of a hostile gate's
 * making. */
static void count(struct tally *t, const char *reason, json_int_t n)
{
	json_int_t before = json_integer_value(json_object_get(t->counts, reason));
	json_int_t sum;

	if (n <= 0)
		return;
	if (__builtin_add_overflow(before, n, &sum))
		sum = INT64_MAX;
	json_object_set_new(t->counts, reason, json_integer(sum));
}

static bool is_refusal(const json_t *entry)
{
	const char *action = json_string_value(json_object_get(entry, "action"));

	return action && strcmp(action, "sandgate.egress.deny") == 0;
}

static void count_refusal(struct tally *t, const json_t *entry)
{
	const char *reason = json_string_value(json_object_get(entry, "reason"));

	if (!reason || !is_refusal(entry))
		return;
	count(t, reason, 1);
	count(t, reason, json_integer_value(json_object_get(entry, "suppressed")));
}

static int check_totals(const json_t *counts, const json_t *totals, struct err *e)
{
	const char *reason;
	json_t *n;

	json_object_foreach((json_t *)totals, reason, n)
	{
		json_int_t is = json_integer_value(json_object_get(counts, reason));

		if (is != json_integer_value(n))
			return err_set(e,
				       "%lld refusals as %.*s are written or counted, its total "
				       "says %lld",
				       (long long)is, REASON_ROOM, reason,
				       (long long)json_integer_value(n));
	}
	json_object_foreach((json_t *)counts, reason, n)
	{
		if (json_integer_value(n) && !json_object_get(totals, reason))
			return err_set(e, "%lld refusals as %.*s are written, its totals have none",
				       (long long)json_integer_value(n), REASON_ROOM, reason);
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
	count_refusal(t, entry);
	if (!json_is_object(totals))
		return 0;
	if (!t->partly)
		return check_totals(t->counts, totals, e);
	t->partly = false;
	json_object_clear(t->counts);
	return json_object_update(t->counts, (json_t *)totals);
}
