/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/entry.h"
#include "audit/log.h"
#include "cli/audit_where.h"
#include "cli/cli.h"
#include "cli/log_text.h"
#include "cli/output.h"
#include "cli/since.h"
#include "sandbox/run.h"

struct showing {
	char since[ENTRY_TIME + 1]; /* empty: from the beginning */
	const char *action;	    /* a pattern; NULL: all */
	bool sandboxes;		    /* of many */
	bool json;
};

/* Keys that stand at their place in the line. The verdict is in the action. */
static const char *const placed[] = {"seq", "time", "action", "sandbox", "verdict"};

static bool is_wanted(const struct showing *s, const struct entry *en)
{
	const char *action = json_string_value(json_object_get(en->value, "action"));

	if (strcmp(en->time, s->since) < 0)
		return false;
	return !s->action || (action && fnmatch(s->action, action, 0) == 0);
}

static bool is_placed(const char *key)
{
	for (size_t i = 0; i < sg_array_len(placed); i++)
		if (strcmp(placed[i], key) == 0)
			return true;
	return false;
}

/* A word as it is, where it is one; anything else as JSON, which has no control in it. */
static void print_value(const json_t *value)
{
	const char *text = json_string_value(value);
	char *dump;

	if (text && *text && !strpbrk(text, " \"\n\t")) {
		output_text(text, STYLE_PLAIN);
		return;
	}
	dump = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	output_text(dump, STYLE_PLAIN);
	free(dump);
}

static void print_keys(const json_t *entry)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)entry, key, value)
	{
		if (is_placed(key))
			continue;
		printf("  ");
		output_text(key, STYLE_PLAIN);
		putchar('=');
		print_value(value);
	}
}

/* What happened on the network reads as in `net log`. */
static void print_event(const json_t *entry)
{
	const json_t *names = json_object_get(entry, "suppressed_names");

	printf("  ");
	output_text(json_string_value(json_object_get(entry, "proto")), STYLE_PLAIN);
	printf("  ");
	log_text_print_what(entry);
	if (names) {
		printf("  suppressed_names=");
		print_value(names);
	}
}

static void print_line(const struct showing *s, const struct entry *en)
{
	const char *sandbox = json_string_value(json_object_get(en->value, "sandbox"));
	const char *verdict = json_string_value(json_object_get(en->value, "verdict"));
	const char *action = json_string_value(json_object_get(en->value, "action"));
	bool refused = verdict && strcmp(verdict, "deny") == 0;

	printf("%llu  %s  ", (unsigned long long)en->seq, en->time);
	output_text(action ? action : "-", refused ? STYLE_BAD : STYLE_STRONG);
	if (sandbox && s->sandboxes) {
		fputs("  ", stdout);
		output_text(sandbox, STYLE_PLAIN);
	}
	if (json_is_string(json_object_get(en->value, "proto")))
		print_event(en->value);
	else
		print_keys(en->value);
	putchar('\n');
}

/* A line that is no entry is left to verify. */
static bool show_entry(void *ctx, uint64_t seq, struct span line)
{
	const struct showing *s = ctx;
	struct entry en;
	struct err why;

	if (entry_parse(line, &en, &why) < 0) {
		fprintf(stderr, "sandgate: entry %llu cannot be shown: %s\n",
			(unsigned long long)seq, why.text);
		return true;
	}
	if (is_wanted(s, &en)) {
		if (s->json)
			printf("%.*s\n", (int)line.n, (const char *)line.p);
		else
			print_line(s, &en);
	}
	entry_free(&en);
	/* When nobody reads any more there is nothing to show. */
	return !ferror(stdout);
}

static int read_since(struct showing *s, const char *text, struct err *e)
{
	struct timespec now;
	int64_t ms;

	if (!text)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	if (since_parse(text, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, &ms, e))
		return -1;
	entry_print_time(ms, s->since);
	return 0;
}

int cmd_audit_show(const struct args *a)
{
	const struct audit_where where = {.name = a->n_words ? a->words[0] : NULL,
					  .dir = args_value(a, AUDIT_SHOW_DIR),
					  .host = args_has(a, AUDIT_SHOW_HOST)};
	struct showing s = {.action = args_value(a, AUDIT_SHOW_ACTION),
			    .sandboxes = !where.name,
			    .json = args_has(a, AUDIT_SHOW_JSON)};
	_cleanup_fd_ int dir = -1;
	struct err e;

	if (audit_where_check(&where, &e) < 0 ||
	    read_since(&s, args_value(a, AUDIT_SHOW_SINCE), &e))
		return cli_fail(EXIT_USAGE, &e);
	dir = audit_where_open(&where, &e);
	if (dir < 0 || audit_each(dir, 0, show_entry, &s, &e) < 0)
		return cli_fail(EXIT_SANDGATE, &e);
	return 0;
}
