/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/decide.h"
#include "sandbox/rerun.h"

enum { RULES_NAMED_MAX = 16, ROWS_MAX = 20 };

/* --- what the policy allows --- */

/* "a.example, b.example": the rules of one effect, as many as are named. How many there are. */
static size_t put_rules(FILE *to, const struct policy *p, enum effect effect)
{
	char text[RULE_TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].effect != effect || n++ >= RULES_NAMED_MAX)
			continue;
		fprintf(to, "%s%s", n > 1 ? ", " : "", rule_format(&p->rules[i], text));
	}
	return n;
}

static void put_rest(FILE *to, size_t n)
{
	if (n > RULES_NAMED_MAX)
		fprintf(to, " and %zu more", n - RULES_NAMED_MAX);
}

/* "a.example, b.example and 3 more": the rules that allow, then the host's ports. */
static void put_allowed(FILE *to, const struct policy *p)
{
	size_t n = put_rules(to, p, EFFECT_ALLOW);

	for (size_t i = 0; i < p->n_host_ports; i++) {
		if (n++ >= RULES_NAMED_MAX)
			continue;
		fprintf(to, "%shost.sandgate.internal:%u", n > 1 ? ", " : "",
			(unsigned)p->host_ports[i]);
	}
	put_rest(to, n);
}

static bool has_rule(const struct policy *p, enum effect effect)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].effect == effect)
			return true;
	return false;
}

static bool allows_something(const struct policy *p)
{
	return has_rule(p, EFFECT_ALLOW) || p->n_host_ports > 0;
}

static void put_first_line(FILE *to, const struct policy *p)
{
	if (p->network == NET_ANY) {
		fputs("network UNRESTRICTED, connections are logged", to);
	} else if (p->network == NET_OPEN) {
		fputs("network open to every public address", to);
		if (allows_something(p)) {
			fputs(" and ", to);
			put_allowed(to, p);
		}
		fputs(", connections are logged", to);
	} else if (p->network == NET_NONE || !allows_something(p)) {
		fputs("network denied", to);
	} else {
		fputs("network limited to ", to);
		put_allowed(to, p);
	}
}

/* "allow: a.example, b.example; deny: c.example (deny)", or the base alone. */
static void put_policy(FILE *to, const struct policy *p)
{
	bool allows = allows_something(p), denies = has_rule(p, EFFECT_DENY);

	if (allows) {
		fputs("allow: ", to);
		put_allowed(to, p);
	}
	if (denies) {
		fputs(allows ? "; deny: " : "deny: ", to);
		put_rest(to, put_rules(to, p, EFFECT_DENY));
	}
	fprintf(to, allows || denies ? " (%s)" : "%s", network_base_name(p->network));
}

static char *print_policy(const struct policy *p, void (*put)(FILE *to, const struct policy *p))
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		return NULL;
	put(to, p);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

char *summary_first_line(const struct policy *p)
{
	return print_policy(p, put_first_line);
}

char *summary_policy(const struct policy *p)
{
	return print_policy(p, put_policy);
}

/* --- what was refused --- */

static const char *string_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static json_int_t number_of(const json_t *row, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(row, key));

	return n > 0 ? n : 0;
}

static void put_printable(FILE *to, const char *s)
{
	for (; *s; s++)
		fputc(*s > 0x20 && *s < 0x7f ? *s : '?', to);
}

static const char *sentence_of(const char *word)
{
	for (int r = 0; r < REASONS; r++)
		if (strcmp(reason_word((enum reason)r), word) == 0)
			return reason_sentence((enum reason)r);
	return "it was refused";
}

/* "  db.example.com:5432 (tcp, 2 times): no rule of the policy allows it" */
static void put_row(FILE *to, const json_t *row)
{
	const char *name = string_of(row, "name"), *address = string_of(row, "address");
	const char *proto = string_of(row, "proto");
	json_int_t port = number_of(row, "port"), count = number_of(row, "count");
	bool lookup = strcmp(proto, "dns") == 0;

	fputs("  ", to);
	put_printable(to, *name ? name : *address ? address : "?");
	if (port && !lookup)
		fprintf(to, ":%u", (unsigned)(port & 0xffff));
	if (*name && *address && !lookup) {
		fputs(" at ", to);
		put_printable(to, address);
	}
	fputs(" (", to);
	put_printable(to, lookup ? "lookup" : proto);
	fprintf(to, ", %" JSON_INTEGER_FORMAT " time%s): %s\n", count, count == 1 ? "" : "s",
		sentence_of(string_of(row, "reason")));
}

/* --- the closing --- */

static void put_refusals(FILE *to, const json_t *rows, json_int_t total,
			 const struct run_options *o)
{
	struct rerun again = {0};
	json_int_t shown = 0;
	json_t *row;
	size_t i;

	fprintf(to, "sandgate: refused %" JSON_INTEGER_FORMAT " time%s:\n", total,
		total == 1 ? "" : "s");
	json_array_foreach(rows, i, row)
	{
		rerun_take(&again, string_of(row, "remedy"));
		if (i >= ROWS_MAX)
			continue;
		put_row(to, row);
		shown += number_of(row, "count");
	}
	if (total > shown)
		fprintf(to, "  others (%" JSON_INTEGER_FORMAT " times)\n", total - shown);
	rerun_put(to, &again, o);
	rerun_free(&again);
}

/* A lookup that nobody answered is no refusal: nothing in the policy would change it. */
static void put_failed_lookups(FILE *to, json_int_t n)
{
	if (n)
		fprintf(to,
			"sandgate: the host's resolver did not answer %" JSON_INTEGER_FORMAT
			" lookup%s; see /etc/resolv.conf of the host\n",
			n, n == 1 ? "" : "s");
}

char *summary_closing(const json_t *refusals, const json_t *status, const struct run_options *o)
{
	json_int_t failed = number_of(json_object_get(status, "dns"), "failed");
	const json_t *rows = json_object_get(refusals, "refusals"), *row;
	json_int_t total = number_of(refusals, "other");
	char *text = NULL;
	size_t n = 0, i;
	FILE *to;

	json_array_foreach(rows, i, row) total += number_of(row, "count");
	to = total || failed ? open_memstream(&text, &n) : NULL;
	if (!to)
		return NULL;
	if (total)
		put_refusals(to, rows, total, o);
	put_failed_lookups(to, failed);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
