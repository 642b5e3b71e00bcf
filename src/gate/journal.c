/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A record is filled in one place and copied into the ring; only what is set in it is written, so
 * that a short event costs no kilobyte of zeros. The text of a rule is made when a record first
 * names the rule and kept in a small table by the rule's address, which is its identity as long as
 * its ruleset lives; with another ruleset the table is emptied.
 *
 * What stands in a record is printable ASCII: everything else in a path is shown as '?'.
 */
#include "gate/journal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT_TEXTS = 128 };

struct rule_text {
	const struct rule *rule;
	char text[RECORD_RULE_MAX];
};

struct journal {
	struct refusals *refusals;
	struct ring *ring;
	int wake;
	struct verdicts verdicts;
	struct record record;
	struct rule_text kept[KEPT_TEXTS];
};

struct journal *journal_new(struct refusals *refusals, struct ring *ring, int wake)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->refusals = refusals;
	j->ring = ring;
	j->wake = wake;
	j->verdicts.fd = -1;
	return j;
}

void journal_free(struct journal *j)
{
	free(j);
}

void journal_set_generation(struct journal *j, uint64_t generation)
{
	j->record.generation = generation;
	for (size_t i = 0; i < KEPT_TEXTS; i++)
		j->kept[i].rule = NULL;
}

static int64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char *text_of_rule(struct journal *j, const struct rule *r)
{
	struct rule_text *kept = &j->kept[(uintptr_t)r / sizeof(*r) % KEPT_TEXTS];
	char text[RULE_TEXT_MAX];

	if (kept->rule != r) {
		record_put_text(kept->text, sizeof(kept->text),
				span_of_string(rule_format(r, text)));
		kept->rule = r;
	}
	return kept->text;
}

static void put_rule(struct journal *j, const struct rule *r)
{
	const char *permission = r && r->detail ? r->detail->permission : NULL;

	j->record.rule[0] = 0;
	if (r)
		strcpy(j->record.rule, text_of_rule(j, r));
	record_put_text(j->record.permission, sizeof(j->record.permission),
			span_of_string(permission ? permission : ""));
}

static void put_record(struct journal *j, const struct event *e)
{
	struct record *r = &j->record;

	r->time_ms = wall_ms();
	r->kind = (uint8_t)e->kind;
	r->proto = (uint8_t)e->proto;
	r->reason = (uint8_t)e->reason;
	r->bytes_out = e->bytes_out;
	r->bytes_in = e->bytes_in;
	r->duration_ms = e->duration_ms;
	r->port = e->port;
	r->status = e->status;
	r->has_name = e->name != NULL;
	if (e->name)
		memcpy(&r->name, e->name, offsetof(struct name, s) + e->name->n + 1u);
	r->has_addr = e->addr != NULL;
	if (e->addr)
		r->addr = *e->addr;
	record_put_text(r->method, sizeof(r->method), span_of_string(e->method ? e->method : ""));
	record_put_path(r->path, sizeof(r->path), e->path);
	put_rule(j, e->rule);
	ring_put(j->ring, j->wake, r);
}

/* ---- for a capture ---- */

void journal_follow_recorder(struct journal *j, int fd)
{
	verdicts_follow(&j->verdicts, fd);
}

bool journal_is_recorded(const struct journal *j)
{
	return j->verdicts.fd >= 0;
}

void journal_tell(struct journal *j, const struct event *e, enum verdict_kind kind,
		  const char *what)
{
	struct told t = {.kind = kind, .reason = e->reason, .what = what, .name = e->name};

	if (j->verdicts.fd < 0)
		return;
	put_rule(j, e->rule);
	t.rule = j->record.rule;
	t.permission = j->record.permission;
	verdicts_tell(&j->verdicts, &e->exchange, &t);
}

/* The end of a flow is a verdict when something has cut it. */
static void tell_event(struct journal *j, const struct event *e)
{
	if (e->kind == RECORD_ALLOW)
		journal_tell(j, e, VERDICT_ALLOW, NULL);
	else if (e->kind == RECORD_DENY || e->reason != REASON_NONE)
		journal_tell(j, e, VERDICT_DENY, NULL);
}

/* ---- events ---- */

void journal_note(struct journal *j, const struct event *e)
{
	struct refusal what = {.proto = e->proto,
			       .reason = e->reason,
			       .name = e->counted_as ? e->counted_as : e->name,
			       .addr = e->addr,
			       .port = e->port};

	if (e->kind == RECORD_DENY)
		refusals_note(j->refusals, &what);
	if (j->ring)
		put_record(j, e);
	if (j->verdicts.fd >= 0)
		tell_event(j, e);
}
