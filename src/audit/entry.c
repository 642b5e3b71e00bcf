/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/entry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/canonical.h"

static const int64_t time_last = 253402300799999; /* 9999-12-31T23:59:59.999Z */

int64_t entry_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void entry_print_time(int64_t ms, char out[ENTRY_TIME + 1])
{
	char whole[64];
	struct tm tm;
	time_t s;

	ms = ms < 0 ? 0 : ms > time_last ? time_last : ms;
	s = ms / 1000;
	gmtime_r(&s, &tm);
	strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, ENTRY_TIME + 1, "%.19s.%03dZ", whole, (int)(ms % 1000));
}

int64_t entry_parse_time(const char *text)
{
	char again[ENTRY_TIME + 1];
	struct tm tm = {.tm_isdst = 0};
	int used = 0, ms = 0;
	int64_t at;

	if (strlen(text) != ENTRY_TIME)
		return -1;
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &used) != 7 ||
	    used != ENTRY_TIME)
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	at = (int64_t)timegm(&tm) * 1000 + ms;
	/* The 31st of February, a sign, a space: none of them prints as it was. */
	entry_print_time(at, again);
	return strcmp(again, text) == 0 ? at : -1;
}

int entry_parse(struct span line, struct entry *out, struct err *e)
{
	const json_t *seq;
	const char *when;

	out->value = canonical_parse(line, e);
	if (!out->value)
		return -1;
	seq = json_object_get(out->value, "seq");
	when = json_string_value(json_object_get(out->value, "time"));
	if (!json_is_integer(seq) || json_integer_value(seq) < 0) {
		err_set(e, "no sequence number (\"seq\")");
	} else if (!when || entry_parse_time(when) < 0) {
		err_set(e, "no time (\"time\") as 2026-01-31T23:59:59.999Z");
	} else {
		out->seq = (uint64_t)json_integer_value(seq);
		memcpy(out->time, when, sizeof(out->time));
		return 0;
	}
	entry_free(out);
	return -1;
}

void entry_free(struct entry *en)
{
	json_decref(en->value);
	en->value = NULL;
}

bool entry_says_pruned(const json_t *entry, uint64_t *first)
{
	const char *action = json_string_value(json_object_get(entry, "action"));

	if (!action || strcmp(action, ENTRY_PRUNE) != 0)
		return false;
	*first = (uint64_t)json_integer_value(json_object_get(entry, "first_seq"));
	return true;
}
