/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden: runs one table (tests/golden/NAME.txt) and prints each line that differs.
 *
 * A table of decisions begins with `table: decisions`, then a policy in YAML up to
 * a line `---`, then one destination a line and what must come out. The policy is resolved with the
 * catalogue that is compiled in; lines before it may say with what else:
 *
 *     @agent NAME
 *     @languages ID...
 *     @organisation JSON
 *
 * The destinations:
 *
 *     lookup  NAME                                  => VERDICT
 *     connect NAME[@ADDRESS] PORT/PROTO             => VERDICT
 *     inside  NAME@ADDRESS PORT/PROTO METHOD PATH   => VERDICT      a request head
 *     inside  NAME@ADDRESS PORT/PROTO               => VERDICT      a client hello
 *     answer  NAME ADDRESS                          => given | withheld
 *     host    PREFIX...                             what the host has, from here on
 *
 * NAME may be `-`. VERDICT is `allow` or `deny REASON`, then `step N`, `rule R`, `permission ID`,
 * and for an allow the marks check-name, literal, wildcard, default, private; what is left out is
 * not compared, but each mark that is set must be there.
 *
 * A table of refusals begins with `table: refused`; each line is an entry and a piece of the
 * message, parted by ` => `. A table of accepted forms, `table: accepted`, has the canonical form
 * in its place. `\xNN` in an entry is that octet.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/decide.h"
#include "policy/permission.h"
#include "policy/rule.h"

enum { LINE_MAX_OCTETS = 4096, WORDS_MAX = 16 };

struct table {
	const char *file;
	unsigned line, checked, failed;
	struct ruleset *rules;
	struct host_prefixes host;
	const struct agent *agent;
	char **languages;
	struct organisation organisation;
};

static void complain(struct table *t, const char *entry, const char *want, const char *got)
{
	fprintf(stderr, "%s:%u: %s\n    want: %s\n    got:  %s\n", t->file, t->line, entry, want,
		got);
	t->failed++;
}

static void broken(const struct table *t, const char *what)
{
	fprintf(stderr, "%s:%u: the table is broken: %s\n", t->file, t->line, what);
	exit(1);
}

static char *trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = 0;
	return s;
}

/* ---- Decisions ---- */

struct question {
	struct destination d;
	struct name name;
	struct addr addr;
};

static void read_host(const struct table *t, char *word, struct question *q)
{
	char *at = strchr(word, '@');

	if (at)
		*at++ = 0;
	if (at && !addr_parse(at, strlen(at), &q->addr))
		broken(t, "not an address");
	q->d.addr = at ? &q->addr : NULL;
	if (strcmp(word, "-") == 0)
		return;
	if (name_parse(word, strlen(word), &q->name, NULL) != NAME_OK)
		broken(t, "not a name");
	q->d.name = &q->name;
}

static void read_port(const struct table *t, const char *word, struct question *q)
{
	char proto[8] = "";
	unsigned port = 0;

	if (strcmp(word, "icmp") == 0) {
		q->d.proto = PROTO_ICMP;
		return;
	}
	if (sscanf(word, "%5u/%3s", &port, proto) != 2 || port > UINT16_MAX)
		broken(t, "not PORT/PROTO");
	q->d.port = (uint16_t)port;
	q->d.proto = strcmp(proto, "udp") == 0 ? PROTO_UDP : PROTO_TCP;
}

static unsigned split(char *s, char *words[WORDS_MAX])
{
	unsigned n = 0;

	for (char *word = strtok(s, " \t"); word && n < WORDS_MAX; word = strtok(NULL, " \t"))
		words[n++] = word;
	return n;
}

static void read_question(const struct table *t, char *text, struct question *q)
{
	char *words[WORDS_MAX];
	unsigned n = split(text, words);

	memset(q, 0, sizeof(*q));
	if (n < 2)
		broken(t, "no destination");
	read_host(t, words[1], q);
	q->d.kind = strcmp(words[0], "lookup") == 0   ? DEST_LOOKUP
		    : strcmp(words[0], "inside") == 0 ? DEST_SERVER_NAME
						      : DEST_CONNECT;
	if (n > 2)
		read_port(t, words[2], q);
	if (n > 4) {
		q->d.method = words[3];
		q->d.path = words[4];
	}
}

static void add(char *text, size_t size, const char *word)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n ? " " : "", word);
}

/* The verdict in the words of a table; of step and rule only what the table asks for. */
static void show_verdict(const struct verdict *v, const char *want, char *out, size_t size)
{
	char word[RULE_TEXT_MAX + 8], rule[RULE_TEXT_MAX];

	out[0] = 0;
	add(out, size, v->allow ? "allow" : "deny");
	if (!v->allow)
		add(out, size, reason_word(v->reason));
	if (strstr(want, " step ")) {
		snprintf(word, sizeof(word), "step %u", v->step);
		add(out, size, word);
	}
	if (strstr(want, " rule ")) {
		snprintf(word, sizeof(word), "rule %s", v->rule ? rule_format(v->rule, rule) : "-");
		add(out, size, word);
	}
	if (strstr(want, " permission ")) {
		snprintf(word, sizeof(word), "permission %s", v->permission ? v->permission : "-");
		add(out, size, word);
	}
	if (v->check_name)
		add(out, size, "check-name");
	if (v->by_literal_address)
		add(out, size, "literal");
	if (v->by_wildcard)
		add(out, size, "wildcard");
	if (v->by_default)
		add(out, size, "default");
	if (v->private_ok)
		add(out, size, "private");
}

static void check_decision(struct table *t, char *line, const char *want)
{
	char entry[LINE_MAX_OCTETS], got[LINE_MAX_OCTETS];
	struct question q;
	struct verdict v;

	snprintf(entry, sizeof(entry), "%s", line);
	read_question(t, line, &q);
	decide(t->rules, &t->host, &q.d, &v);
	show_verdict(&v, want, got, sizeof(got));
	t->checked++;
	if (strcmp(want, got) != 0)
		complain(t, entry, want, got);
}

static void check_answer(struct table *t, char *line, const char *want)
{
	char entry[LINE_MAX_OCTETS], *words[WORDS_MAX];
	struct question q = {0};
	struct verdict v;
	const char *got;

	snprintf(entry, sizeof(entry), "%s", line);
	if (split(line, words) != 3 || !addr_parse(words[2], strlen(words[2]), &q.addr))
		broken(t, "answer NAME ADDRESS");
	read_host(t, words[1], &q);
	q.d.kind = DEST_LOOKUP;
	decide(t->rules, &t->host, &q.d, &v);
	got = address_admissible(t->rules, &t->host, &v, &q.addr) ? "given" : "withheld";
	t->checked++;
	if (strcmp(want, got) != 0)
		complain(t, entry, want, got);
}

static void set_host(struct table *t, char *line)
{
	char *words[WORDS_MAX];
	unsigned n = split(line, words);

	t->host.n = 0;
	for (unsigned i = 1; i < n; i++)
		if (!prefix_parse(words[i], strlen(words[i]), &t->host.prefix[t->host.n++]))
			broken(t, "not a prefix");
}

static void run_decision(struct table *t, char *line)
{
	char *arrow = strstr(line, "=>");

	if (strncmp(line, "host ", 5) == 0) {
		set_host(t, line);
		return;
	}
	if (!arrow)
		broken(t, "no `=>`");
	*arrow = 0;
	if (strncmp(line, "answer ", 7) == 0)
		check_answer(t, trim(line), trim(arrow + 2));
	else
		check_decision(t, trim(line), trim(arrow + 2));
}

/* ---- Refusals and accepted forms ---- */

/* Replaces \xNN by the octet. Returns the length. */
static size_t unescape(char *s)
{
	char *to = s;
	unsigned octet;

	for (const char *from = s; *from; to++) {
		if (from[0] == '\\' && sscanf(from, "\\x%2x", &octet) == 1) {
			*to = (char)octet;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
	return (size_t)(to - s);
}

static void check_entry(struct table *t, char *entry, const char *want, bool refused)
{
	char shown[LINE_MAX_OCTETS], got[RULE_TEXT_MAX] = "accepted";
	enum effect effect = strncmp(entry, "deny ", 5) == 0 ? EFFECT_DENY : EFFECT_ALLOW;
	struct rule r;
	struct err e;

	snprintf(shown, sizeof(shown), "%s", entry);
	if (effect == EFFECT_DENY)
		entry = trim(entry + 5);
	t->checked++;
	if (rule_parse_short(span_of(entry, unescape(entry)), effect, &r, &e)) {
		if (!refused || !strstr(e.text, want))
			complain(t, shown, want, e.text);
	} else {
		rule_format(&r, got);
		if (refused || strcmp(got, want) != 0)
			complain(t, shown, want, got);
	}
	rule_clear(&r);
}

static void run_entry(struct table *t, char *line, bool refused)
{
	char *arrow = strstr(line, " => ");

	if (!arrow)
		broken(t, "no ` => `");
	*arrow = 0;
	check_entry(t, trim(line), trim(arrow + 4), refused);
}

/* ---- Tables ---- */

static bool next_line(struct table *t, FILE *f, char line[LINE_MAX_OCTETS])
{
	while (fgets(line, LINE_MAX_OCTETS, f)) {
		t->line++;
		line[strcspn(line, "\n")] = 0;
		if (line[0] != '#' && *trim(line) != 0)
			return true;
	}
	return false;
}

/* "@agent claude": what the policy is resolved with. */
static void read_source(struct table *t, char *line)
{
	char *value = strchr(line, ' '), *words[WORDS_MAX];
	struct err e;

	if (!value)
		broken(t, "@WORD VALUE");
	*value++ = 0;
	if (strcmp(line, "@agent") == 0) {
		t->agent = catalogue_agent(catalogue_builtin(), trim(value));
		if (!t->agent)
			broken(t, "no such agent");
	} else if (strcmp(line, "@organisation") == 0) {
		if (organisation_parse(span_of_string(value), t->file, catalogue_builtin(),
				       &t->organisation, &e))
			broken(t, e.text);
	} else if (strcmp(line, "@languages") == 0) {
		for (unsigned n = split(trim(value), words), i = 0; i < n; i++)
			if (string_list_add(&t->languages, words[i]))
				broken(t, "out of memory");
	} else {
		broken(t, "no such source");
	}
}

static void compile(struct table *t, const char *text)
{
	struct policy_sources s = {.catalogue = catalogue_builtin(),
				   .organisation = &t->organisation,
				   .agent = t->agent,
				   .languages = t->languages};
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(text), POLICY_YAML, t->file, &p, &e) ||
	    policy_resolve(&p, &s, &e))
		broken(t, e.text);
	t->rules = ruleset_compile(&p, 1, &e);
	policy_free(&p);
	if (!t->rules)
		broken(t, e.text);
}

static void read_policy(struct table *t, FILE *f)
{
	char text[1 << 16] = "", line[LINE_MAX_OCTETS];

	while (fgets(line, sizeof(line), f) && strcmp(line, "---\n") != 0) {
		t->line++;
		if (line[0] == '@') {
			read_source(t, line);
			continue;
		}
		if (strlen(text) + strlen(line) >= sizeof(text))
			broken(t, "the policy is too long");
		strcat(text, line);
	}
	t->line++;
	compile(t, text);
}

static void run_table(struct table *t, FILE *f)
{
	char line[LINE_MAX_OCTETS];
	bool decisions, refused;

	if (!next_line(t, f, line) || strncmp(line, "table: ", 7) != 0)
		broken(t, "it does not begin with `table:`");
	decisions = strcmp(line + 7, "decisions") == 0;
	refused = strcmp(line + 7, "refused") == 0;
	if (!decisions && !refused && strcmp(line + 7, "accepted") != 0)
		broken(t, "no such kind of table");
	if (decisions)
		read_policy(t, f);
	while (next_line(t, f, line)) {
		if (decisions)
			run_decision(t, line);
		else
			run_entry(t, line, refused);
	}
	ruleset_free(t->rules);
	organisation_free(&t->organisation);
	string_list_free(t->languages);
}

int main(int argc, char **argv)
{
	struct table t = {.file = argc > 1 ? argv[1] : ""};
	FILE *f = fopen(t.file, "r");

	if (!f) {
		perror(t.file);
		return 1;
	}
	run_table(&t, f);
	fclose(f);
	printf("%u checked, %u failed\n", t.checked, t.failed);
	return t.failed || !t.checked ? 1 : 0;
}
