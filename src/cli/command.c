/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

enum { WORDS_MAX = 128, GROUPS_MAX = 16 };

/* True when `name` is "WORD" or "WORD something". */
static bool begins_with_word(const char *name, const char *word)
{
	size_t n = strlen(word);

	return n && strncmp(name, word, n) == 0 && (name[n] == 0 || name[n] == ' ');
}

static const struct command *find_exact(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_table[i].name, name) == 0)
			return &command_table[i];
	return NULL;
}

bool command_is_group(const char *word)
{
	for (size_t i = 0; i < command_count; i++)
		if (strchr(command_table[i].name, ' ') &&
		    begins_with_word(command_table[i].name, word))
			return true;
	return false;
}

bool command_is_word(const char *word)
{
	for (size_t i = 0; i < command_count; i++)
		if (begins_with_word(command_table[i].name, word))
			return true;
	return false;
}

void command_print_group(FILE *to, const char *word)
{
	const struct command *own = find_exact(word);

	if (own)
		fprintf(to, "%s\nCommands:\n", own->help);
	for (size_t i = 0; i < command_count; i++)
		if (begins_with_word(command_table[i].name, word))
			fprintf(to, "  sandgate %-16s %s\n", command_table[i].name,
				command_table[i].summary);
}

static void say_unknown(const char *name, struct err *e)
{
	struct nearest near = nearest_to(name);
	char groups[GROUPS_MAX][WORDS_MAX];

	for (size_t i = 0, g = 0; i < command_count; i++) {
		const char *known = command_table[i].name, *space = strchr(known, ' ');

		nearest_offer(&near, known);
		if (space && g < GROUPS_MAX) {
			snprintf(groups[g], WORDS_MAX, "%.*s", (int)(space - known), known);
			nearest_offer(&near, groups[g++]);
		}
	}
	if (near.word)
		err_set(e, "%s: unknown command; did you mean \"sandgate %s\"?", name, near.word);
	else
		err_set(e, "%s: unknown command; \"sandgate help\" lists all", name);
}

/*
 * "net NAME" beside "net allow NAME ITEM": a second word that is no command of the group is an
 * argument, unless a third one shows that a command was meant.
 */
static bool is_argument(size_t n, char *const *words)
{
	return words[1][0] == '-' || n < 3 || words[2][0] == '-';
}

const struct command *command_find(size_t n, char *const *words, size_t *used, struct err *e)
{
	char name[WORDS_MAX];
	const struct command *c;

	*used = n > 1 && command_is_group(words[0]) ? 2 : 1;
	if (*used == 2)
		snprintf(name, sizeof(name), "%s %s", words[0], words[1]);
	else
		snprintf(name, sizeof(name), "%s", words[0]);
	c = find_exact(name);
	if (!c && *used == 2 && is_argument(n, words)) {
		*used = 1;
		c = find_exact(words[0]);
	}
	if (c)
		return c;
	if (command_is_group(name))
		err_set(e, "%s: which of its commands? \"sandgate help %s\" lists them", name,
			name);
	else
		say_unknown(name, e);
	return NULL;
}
