/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args: the command line of one subcommand, taken apart by its option specs.
 *
 * "--x=y" and "--x y" are the same. After "--" nothing is read as an option. Options are spelled
 * in full; what is unknown is refused with the nearest spelling.
 */
#ifndef SG_CLI_ARGS_H
#define SG_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

struct command;

struct option_spec {
	const char *name;  /* without the hyphens */
	const char *value; /* what it takes, for messages; NULL for a switch */
	bool many;	   /* may be given more than once */
	const char *empty; /* what to do instead of giving an empty value; may be NULL */
};

struct args_values {
	const char *
		*values; /* NULL-terminated; NULL when the option was not given. A switch has "" */
	size_t n;
};

struct args {
	const struct command *command;
	struct args_values *options; /* one for each spec of the command, in its order */
	char *const *words;	     /* the positional arguments */
	size_t n_words;
	char *const *rest;    /* what followed "--", NULL-terminated; NULL without a command */
	char *const *written; /* all that stood before the "--" of a command */
	size_t n_written;
	bool help;    /* --help: nothing else was checked */
	char **owned; /* the array behind `words` */
};

/*
 * Takes argv, which ends with a NULL, apart. `out` borrows strings of argv, which must outlive it;
 * args_free() frees the rest, also after a failure. 0 or -1 with the message.
 */
int args_parse(const struct command *c, char *const *argv, struct args *out,
	       struct err *e) sg_must_check;
void args_free(struct args *a);

/* The message of one that wants a command after "--", and has none. -1. */
int args_no_command(const struct command *c, struct err *e);

/* The same by its name; without values when the command has no such option. */
const struct args_values *args_named(const struct args *a, const char *option);

/* The value of an option that is given once; NULL when it was not given. */
const char *args_value(const struct args *a, size_t option);
bool args_has(const struct args *a, size_t option);
/* All values, NULL-terminated; NULL when there is none. */
const char *const *args_values(const struct args *a, size_t option);

#endif
