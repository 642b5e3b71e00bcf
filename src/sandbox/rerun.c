/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/rerun.h"

#include <stdlib.h>
#include <string.h>

#include "policy/decide.h"

/* Beyond that a line helps nobody, and the words are left to the person. */
enum { WORDS_SHOWN_MAX = 1000 };

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* --- what the remedies say --- */

static bool is_plain_word(const char *s)
{
	return *s && s[strspn(s, LETTERS_AND_DIGITS "._:/[]-")] == 0;
}

static void add_once(char **list, size_t *n, const char *word)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(list[i], word) == 0)
			return;
	if (*n < RERUN_ITEMS_MAX && (list[*n] = strdup(word)))
		(*n)++;
}

static void take_option(struct rerun *r, const char *option, const char *value)
{
	if (strcmp(option, "--allow") == 0)
		add_once(r->items, &r->n_items, value);
	else if (strcmp(option, "--host-port") == 0)
		add_once(r->ports, &r->n_ports, value);
	else if (strcmp(option, "--net") == 0)
		r->net_deny = strcmp(value, "deny") == 0;
}

void rerun_take(struct rerun *r, const char *remedy)
{
	char copy[REMEDY_MAX], *save = NULL, *option, *value;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", remedy) >= sizeof(copy))
		return;
	for (option = strtok_r(copy, " ", &save); option; option = strtok_r(NULL, " ", &save)) {
		if (strncmp(option, "--", 2) != 0)
			continue;
		value = strtok_r(NULL, " ", &save);
		if (value && is_plain_word(value))
			take_option(r, option, value);
	}
}

void rerun_free(struct rerun *r)
{
	for (size_t i = 0; i < r->n_items; i++)
		free(r->items[i]);
	for (size_t i = 0; i < r->n_ports; i++)
		free(r->ports[i]);
	*r = (struct rerun){0};
}

/* --- what was written --- */

/* Whether the words can be shown: printable ASCII, and not too many. */
static bool are_shown(char *const *words, size_t n)
{
	size_t octets = 0;

	for (size_t i = 0; i < n; i++)
		for (const char *s = words[i]; *s; s++)
			if (*s < 0x20 || *s >= 0x7f || ++octets > WORDS_SHOWN_MAX)
				return false;
	return true;
}

/* As a shell reads it back. */
static void put_word(FILE *to, const char *word)
{
	fputc(' ', to);
	if (*word && word[strspn(word, LETTERS_AND_DIGITS "._:/-=,+@%")] == 0) {
		fputs(word, to);
		return;
	}
	fputc('\'', to);
	for (const char *s = word; *s; s++)
		if (*s == '\'')
			fputs("'\\''", to);
		else
			fputc(*s, to);
	fputc('\'', to);
}

static void put_words(FILE *to, char *const *words, size_t n)
{
	if (!are_shown(words, n)) {
		fputs(" ...", to);
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_word(to, words[i]);
}

/* How many words the option `name` takes here, with its value: 0 when it is another. */
static size_t takes(const char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) != 0 ? 0 : word[n] == '=' ? 1 : word[n] == 0 ? 2 : 0;
}

/* The options, without the base when it would contradict the remedy. */
static void put_written(FILE *to, const struct rerun *r, const struct run_options *o)
{
	size_t from = 0, skipped;

	for (size_t i = 0; i < o->n_written; i += skipped ? skipped : 1) {
		skipped = r->net_deny ? takes(o->written[i], "--net") : 0;
		if (!skipped)
			continue;
		put_words(to, o->written + from, i - from);
		from = i + skipped;
	}
	put_words(to, o->written + from, o->n_written - from);
}

/* `--only` stands for all that is allowed: what is added goes there as well. */
static const char *allow_option(const struct run_options *o)
{
	for (size_t i = 0; i < o->n_written; i++)
		if (takes(o->written[i], "--only"))
			return " --only ";
	return " --allow ";
}

void rerun_put(FILE *to, const struct rerun *r, const struct run_options *o)
{
	size_t n = 0;

	if (!r->n_items && !r->n_ports)
		return;
	fputs("sandgate: to allow it: sandgate run", to);
	put_written(to, r, o);
	if (r->net_deny)
		fputs(" --net deny", to);
	for (size_t i = 0; i < r->n_items; i++)
		fprintf(to, "%s%s", i ? "," : allow_option(o), r->items[i]);
	for (size_t i = 0; i < r->n_ports; i++)
		fprintf(to, " --host-port %s", r->ports[i]);
	fputs(" --", to);
	while (o->argv[n])
		n++;
	put_words(to, o->argv, n);
	fputc('\n', to);
}
