/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: the table of subcommands.
 *
 * The table is made from docs/commands.yaml, together with the help, the man pages and the
 * completions: a command has one description, and a handler that is missing does not link.
 */
#ifndef SG_CLI_COMMAND_H
#define SG_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/args.h"

struct command {
	const char *name;		  /* one word or two, "net explain" */
	int (*run)(const struct args *a); /* returns the exit status */
	const char *summary;
	size_t fewest, most; /* positional arguments */
	bool takes_command;  /* "-- COMMAND..." may follow, */
	bool needs_command;  /* or must */
	const struct option_spec *options;
	size_t n_options;
	const char *help; /* all of it, ends with a newline */
};

extern const struct command command_table[];
extern const size_t command_count;

/* What `sandgate help` prints. */
extern const char command_overview[];

/*
 * Finds the command that the first words name. `used` gets how many words that were. NULL when
 * there is none; then the message says what there is, with the nearest spelling.
 */
const struct command *command_find(size_t n, char *const *words, size_t *used, struct err *e);

/* True when at least one command begins with this word and goes on ("net"). */
bool command_is_group(const char *word);

/*
 * Prints the commands of a group, each with its summary, after the help of the word itself if it is
 * one.
 */
void command_print_group(FILE *to, const char *word);

/* True for the first word of a command, of this version or a later one: no name for a sandbox. */
bool command_is_word(const char *word);

#endif
