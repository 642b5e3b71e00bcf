/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: one model, a jansson value, and its two renderers.
 *
 * Names in a model may come from inside a sandbox. As text no octet of them reaches the terminal
 * as a control; as JSON everything that is not plain ASCII is escaped.
 */
#ifndef SG_CLI_OUTPUT_H
#define SG_CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_HINT,
	STYLE_STRONG,
	STYLES, /* count */
};

struct column {
	const char *key;     /* of the row's object; a string or an integer */
	const char *heading; /* NULL: no line of headings, in no column */
	bool right;	     /* numbers stand at the right */
	/* The words for a person when the value is not shown as it is; may be NULL. */
	void (*words)(const json_t *value, char *out, size_t n);
	/* May be NULL. */
	enum style (*style)(const json_t *value);
};

/* Prints an array of objects as aligned columns; the last one is not padded. */
void output_table(const json_t *rows, const struct column *columns, size_t n);

/* Prints indented JSON and a newline. */
void output_json(const json_t *model);

/* Prints text with its control characters as '?'; nothing for NULL. */
void output_text(const char *text, enum style style);

/* Flushes. False, with a message on standard error, when not all of it could be written. */
bool output_finish(void);

#endif
