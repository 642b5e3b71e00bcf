/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/rerun.h"

#include <string.h>

/* Beyond that a line helps nobody, and the words are left to the person. */
enum { WORDS_SHOWN_MAX = 1000, RERUN_ITEMS_MAX = 32 };

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Each once, in the order in which they were first wanted. */
struct words {
	const char *v[RERUN_ITEMS_MAX];
	size_t n;
};

/* --- what the remedies say --- */

static void add_once(struct words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->v[i], word) == 0)
			return;
	if (w->n < RERUN_ITEMS_MAX)
		w->v[w->n++] = word;
}

/* On a command line of its own a name with a dot needs no "site:" to be told from a permission. */
static const char *without_site(const char *item)
{
	static const char site[] = "site:";

	return strncmp(item, site, sizeof(site) - 1) == 0 && strchr(item, '.')
		       ? item + sizeof(site) - 1
		       : item;
}

static struct words items_of(const struct suggestions *s)
{
	struct words w = {.n = 0};

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n_items; k++)
			add_once(&w, s->v[i].items[k]);
	return w;
}

static bool wants_net_deny(const struct suggestions *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].net_deny)
			return true;
	return false;
}

/* One name stands for the host, so it is one suggestion that has them all. */
static void put_host_ports(FILE *to, const struct suggestions *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n_host_ports; k++)
			fprintf(to, " --host-port %u", (unsigned)s->v[i].host_ports[k]);
}

static bool has_remedy(const struct suggestions *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (suggestion_has_remedy(&s->v[i]))
			return true;
	return false;
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
static void put_written(FILE *to, bool net_deny, const struct run_options *o)
{
	size_t from = 0, skipped;

	for (size_t i = 0; i < o->n_written; i += skipped ? skipped : 1) {
		skipped = net_deny ? takes(o->written[i], "--net") : 0;
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

void rerun_put(FILE *to, const struct suggestions *s, const struct run_options *o)
{
	struct words items = items_of(s);
	bool net_deny = wants_net_deny(s);
	size_t n = 0;

	if (!has_remedy(s))
		return;
	/* A machine is the one other command that ends with this line. */
	fprintf(to, "sandgate: to allow it: sandgate %s", o->machine ? "vm-net" : "run");
	put_written(to, net_deny, o);
	if (net_deny)
		fputs(" --net deny", to);
	for (size_t i = 0; i < items.n; i++)
		fprintf(to, "%s%s", i ? "," : allow_option(o), without_site(items.v[i]));
	put_host_ports(to, s);
	if (*o->argv)
		fputs(" --", to);
	while (o->argv[n])
		n++;
	put_words(to, o->argv, n);
	fputc('\n', to);
}

void rerun_put_change(FILE *to, const struct suggestions *s, const char *name)
{
	struct words items = items_of(s);

	if (!items.n || wants_net_deny(s))
		return;
	fprintf(to, "sandgate: to allow it: sandgate net allow %s", name);
	for (size_t i = 0; i < items.n; i++)
		fprintf(to, " %s", items.v[i]);
	fputc('\n', to);
}
