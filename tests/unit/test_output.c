/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/output.h"

/* Standard output goes to a file while something is printed, and is read back. */
static int saved;
static FILE *file;

static void capture(void)
{
	fflush(stdout);
	file = tmpfile();
	assert_non_null(file);
	saved = dup(STDOUT_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
}

static void assert_captured(const char *wanted)
{
	char got[4096];
	size_t n;

	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(file);
	n = fread(got, 1, sizeof(got) - 1, file);
	got[n] = 0;
	fclose(file);
	assert_string_equal(got, wanted);
}

static void controls_do_not_reach_a_terminal(void **state)
{
	capture();
	output_text("a\33[31mb\a\177\r\n", STYLE_PLAIN);
	assert_captured("a?[31mb???\n");
	/* U+009B is a control sequence introducer of one character. */
	capture();
	output_text("x\302\233y \303\251", STYLE_PLAIN);
	assert_captured("x?y \303\251");
	/* A lead octet at the end is no reason to read on. */
	capture();
	output_text("z\302", STYLE_PLAIN);
	assert_captured("z\302");
}

static void unit_words(const json_t *value, char *out, size_t n)
{
	snprintf(out, n, "%d s", (int)json_integer_value(value));
}

static void columns_are_aligned(void **state)
{
	static const struct column columns[] = {
		{.key = "name", .heading = "NAME"},
		{.key = "n", .heading = "COUNT", .right = true},
		{.key = "t", .heading = "TIME", .words = unit_words},
	};
	json_t *rows =
		json_pack("[{s:s,s:i,s:i},{s:s,s:i,s:i},{s:s}]", "name", "\303\251t\303\251", "n",
			  7, "t", 1, "name", "longer", "n", 123456, "t", 20, "name", "");

	capture();
	output_table(rows, columns, sg_array_len(columns));
	assert_captured("NAME     COUNT  TIME\n"
			"\303\251t\303\251          7  1 s\n"
			"longer  123456  20 s\n"
			"                0 s\n");
	json_decref(rows);
}

static void headings_may_be_left_out(void **state)
{
	static const struct column columns[] = {{.key = "a"}, {.key = "b"}};
	json_t *rows = json_pack("[{s:s,s:s},{s:s,s:s}]", "a", "1", "b", "x", "a", "222", "b", "y");

	capture();
	output_table(rows, columns, sg_array_len(columns));
	assert_captured("1    x\n222  y\n");
	json_decref(rows);
}

static void json_is_plain_ascii(void **state)
{
	json_t *rows = json_pack("[s]", "\303\251\33");

	capture();
	output_json(rows);
	assert_captured("[\n  \"\\u00E9\\u001B\"\n]\n");
	json_decref(rows);
	rows = json_array();
	capture();
	output_json(rows);
	assert_captured("[]\n");
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_do_not_reach_a_terminal),
		cmocka_unit_test(columns_are_aligned),
		cmocka_unit_test(headings_may_be_left_out),
		cmocka_unit_test(json_is_plain_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
