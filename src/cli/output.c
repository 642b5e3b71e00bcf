/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/printable.h"

enum { CELL_MAX = 512, COLUMNS_MAX = 8 };

static const char *const style_codes[] = {
	[STYLE_PLAIN] = "",	  [STYLE_GOOD] = "\33[32m",  [STYLE_BAD] = "\33[1;31m",
	[STYLE_HINT] = "\33[33m", [STYLE_STRONG] = "\33[1m",
};
static_assert(sg_array_len(style_codes) == STYLES, "one code for each style");

/* NO_COLOR counts when it is present and not empty (no-color.org). */
static bool is_coloured(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

void output_text(const char *text, enum style style)
{
	bool coloured = style != STYLE_PLAIN && is_coloured();

	if (!text)
		return;
	if (coloured)
		fputs(style_codes[style], stdout);
	for (const char *s = text; *s;) {
		size_t control = *s == '\n' ? 0 : printable_control(s);

		putchar(control ? '?' : (unsigned char)*s);
		s += control ? control : 1;
	}
	if (coloured)
		fputs("\33[0m", stdout);
}

static void cell_text(const struct column *c, const json_t *row, char out[CELL_MAX])
{
	const json_t *value = json_object_get(row, c->key);

	if (c->words)
		c->words(value, out, CELL_MAX);
	else if (json_is_string(value))
		snprintf(out, CELL_MAX, "%s", json_string_value(value));
	else if (json_is_integer(value))
		snprintf(out, CELL_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		out[0] = 0;
}

/* Characters, not octets: continuation octets of UTF-8 take no room. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_cell(const char *text, enum style style, size_t room, bool right, bool last)
{
	size_t n = width(text), padding = n < room ? room - n : 0;

	if (right)
		printf("%*s", (int)padding, "");
	output_text(text, style);
	if (!right && !last)
		printf("%*s", (int)padding, "");
	fputs(last ? "\n" : "  ", stdout);
}

static size_t column_width(const json_t *rows, const struct column *c)
{
	size_t most = c->heading ? width(c->heading) : 0, i;
	json_t *row;
	char text[CELL_MAX];

	json_array_foreach(rows, i, row)
	{
		size_t n;

		cell_text(c, row, text);
		n = width(text);
		if (n > most)
			most = n;
	}
	return most;
}

static void print_headings(const struct column *columns, const size_t *widths, size_t n)
{
	for (size_t c = 0; c < n; c++)
		print_cell(columns[c].heading, STYLE_STRONG, widths[c], columns[c].right,
			   c + 1 == n);
}

static void print_row(const json_t *row, const struct column *columns, const size_t *widths,
		      size_t n)
{
	char text[CELL_MAX];

	for (size_t c = 0; c < n; c++) {
		const struct column *col = &columns[c];
		enum style style = STYLE_PLAIN;

		if (col->style)
			style = col->style(json_object_get(row, col->key));
		cell_text(col, row, text);
		print_cell(text, style, widths[c], col->right, c + 1 == n);
	}
}

void output_table(const json_t *rows, const struct column *columns, size_t n)
{
	size_t widths[COLUMNS_MAX], i;
	json_t *row;

	if (n > COLUMNS_MAX)
		n = COLUMNS_MAX;
	for (size_t c = 0; c < n; c++)
		widths[c] = column_width(rows, &columns[c]);
	if (columns[0].heading)
		print_headings(columns, widths, n);
	json_array_foreach(rows, i, row) print_row(row, columns, widths, n);
}

void output_json(const json_t *model)
{
	json_dumpf(model, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	putchar('\n');
}

bool output_finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "sandgate: cannot write the output: %s\n", strerror(errno));
	return false;
}
