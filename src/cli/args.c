/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <string.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "sandbox/run.h"

static void *checked(void *p)
{
	if (!p)
		die(EXIT_SANDGATE, "out of memory");
	return p;
}

static void append(struct args_values *v, const char *s)
{
	v->values = checked(realloc(v->values, (v->n + 2) * sizeof(*v->values)));
	v->values[v->n++] = s;
	v->values[v->n] = NULL;
}

static int unknown_option(const struct command *c, const char *written, size_t n, struct err *e)
{
	char name[64];
	struct nearest near;

	snprintf(name, sizeof(name), "%.*s", (int)n, written);
	near = nearest_to(name);
	for (size_t i = 0; i < c->n_options; i++)
		nearest_offer(&near, c->options[i].name);
	if (near.word)
		return err_set(e, "%s: unknown option --%s; did you mean --%s?", c->name, name,
			       near.word);
	return err_set(e, "%s: unknown option --%s; \"sandgate help %s\" lists all", c->name, name,
		       c->name);
}

static int take_value(const struct option_spec *o, const char *value, struct args_values *v,
		      struct err *e)
{
	if (v->n && !o->many)
		return err_set(e, "--%s: given twice; leave one out", o->name);
	if (!o->value) {
		append(v, "");
		return 0;
	}
	if (!*value && o->empty)
		return err_set(e, "--%s: %s", o->name, o->empty);
	if (!*value)
		return err_set(e, "--%s: the value is empty; write --%s %s", o->name, o->name,
			       o->value);
	append(v, value);
	return 0;
}

/* Reads the option at argv[*at], and its value; leaves *at at the last word that was used. */
static int take_option(struct args *a, char *const *argv, size_t *at, struct err *e)
{
	const struct command *c = a->command;
	const char *name = argv[*at] + 2, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name), i = 0;
	const struct option_spec *o;

	while (i < c->n_options &&
	       !(strlen(c->options[i].name) == n && memcmp(c->options[i].name, name, n) == 0))
		i++;
	if (i == c->n_options)
		return unknown_option(c, name, n, e);
	o = &c->options[i];
	if (!o->value && value)
		return err_set(e, "--%s: takes no value; write --%s", o->name, o->name);
	if (o->value && !value) {
		value = argv[*at + 1];
		if (!value || strncmp(value, "--", 2) == 0)
			return err_set(e, "--%s: the value is missing; write --%s %s", o->name,
				       o->name, o->value);
		++*at;
	} else if (o->value) {
		value++;
	}
	return take_value(o, value, &a->options[i], e);
}

static int take_word(struct args *a, char *const *argv, size_t at, struct err *e)
{
	const struct command *c = a->command;

	if (argv[at][0] == '-' && argv[at][1])
		return err_set(e,
			       "%s: unknown option %s; options are written in full, see "
			       "\"sandgate help %s\"%s",
			       c->name, argv[at], c->name,
			       c->most ? "; a word that begins with a hyphen stands after \"--\""
				       : "");
	if (c->takes_command && a->n_words >= c->most)
		return err_set(e,
			       "%s: \"%s\" is no option; put \"--\" before the command: sandgate "
			       "%s ... -- %s",
			       c->name, argv[at], c->name, argv[at]);
	a->owned[a->n_words++] = argv[at];
	return 0;
}

int args_no_command(const struct command *c, struct err *e)
{
	return err_set(e, "%s: no command to run; put it after \"--\": sandgate %s ... -- COMMAND",
		       c->name, c->name);
}

static int check_counts(const struct args *a, struct err *e)
{
	const struct command *c = a->command;

	if (c->needs_command && (!a->rest || !a->rest[0]))
		return args_no_command(c, e);
	if (a->n_words < c->fewest)
		return err_set(e, "%s: an argument is missing; see \"sandgate help %s\"", c->name,
			       c->name);
	if (a->n_words > c->most)
		return err_set(e, "%s: \"%s\" is one argument too many; see \"sandgate help %s\"",
			       c->name, a->words[c->most], c->name);
	return 0;
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int args_parse(const struct command *c, char *const *argv, struct args *out, struct err *e)
{
	size_t n = 0, at = 0;

	while (argv[n])
		n++;
	*out = (struct args){.command = c, .written = argv};
	out->options = checked(calloc(c->n_options + 1, sizeof(*out->options)));
	out->owned = checked(calloc(n + 1, sizeof(*out->owned)));
	out->words = out->owned;
	for (; at < n && strcmp(argv[at], "--") != 0; at++) {
		int r;

		if (asks_for_help(argv[at])) {
			out->help = true;
			return 0;
		}
		r = strncmp(argv[at], "--", 2) == 0 ? take_option(out, argv, &at, e)
						    : take_word(out, argv, at, e);
		if (r)
			return -1;
	}
	out->n_written = at;
	if (at < n && c->takes_command)
		out->rest = argv + at + 1;
	else
		for (at++; at < n; at++)
			out->owned[out->n_words++] = argv[at];
	return check_counts(out, e);
}

void args_free(struct args *a)
{
	for (size_t i = 0; a->options && i < a->command->n_options; i++)
		free(a->options[i].values);
	free(a->options);
	free(a->owned);
	*a = (struct args){.command = a->command};
}

const struct args_values *args_named(const struct args *a, const char *option)
{
	static const struct args_values none;

	for (size_t i = 0; i < a->command->n_options; i++)
		if (strcmp(a->command->options[i].name, option) == 0)
			return &a->options[i];
	return &none;
}

const char *args_value(const struct args *a, size_t option)
{
	return a->options[option].n ? a->options[option].values[0] : NULL;
}

bool args_has(const struct args *a, size_t option)
{
	return a->options[option].n > 0;
}

const char *const *args_values(const struct args *a, size_t option)
{
	return (const char *const *)a->options[option].values;
}
