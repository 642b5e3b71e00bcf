/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cli/cli.h"
#include "sandbox/sandbox_name.h"

enum { WORDS = 16 };

/* A command line of up to WORDS - 1 words, parsed as that of the command it names. */
struct line {
	char *argv[WORDS];
	const struct command *command;
	struct args args;
	struct err e;
	int result;
};

#define parse(l, ...) parse_words(l, (char *[]){__VA_ARGS__, NULL})

static int parse_words(struct line *l, char **words)
{
	size_t n = 0, used;

	for (; words[n]; n++)
		l->argv[n] = words[n];
	l->argv[n] = NULL;
	l->e.text[0] = 0;
	l->command = command_find(n, l->argv, &used, &l->e);
	assert_non_null(l->command);
	l->result = args_parse(l->command, l->argv + used, &l->args, &l->e);
	return l->result;
}

static void assert_refused(struct line *l, const char *message)
{
	assert_int_equal(l->result, -1);
	assert_string_equal(l->e.text, message);
	args_free(&l->args);
}

static void both_spellings_of_a_value_are_the_same(void **state)
{
	struct line l;

	assert_int_equal(parse(&l, "run", "--net=deny", "--name", "a", "--", "true"), 0);
	assert_string_equal(args_value(&l.args, RUN_NET), "deny");
	assert_string_equal(args_value(&l.args, RUN_NAME), "a");
	assert_null(args_value(&l.args, RUN_POLICY));
	assert_false(args_has(&l.args, RUN_QUIET));
	args_free(&l.args);

	assert_int_equal(parse(&l, "run", "--env=A=b=c", "--env", "B=", "--", "true"), 0);
	assert_string_equal(args_values(&l.args, RUN_ENV)[0], "A=b=c");
	assert_string_equal(args_values(&l.args, RUN_ENV)[1], "B=");
	assert_null(args_values(&l.args, RUN_ENV)[2]);
	args_free(&l.args);
}

static void what_follows_the_dashes_is_the_command(void **state)
{
	struct line l;

	assert_int_equal(parse(&l, "run", "--quiet", "--", "ls", "--net", "--", "-x"), 0);
	assert_string_equal(l.args.rest[0], "ls");
	assert_string_equal(l.args.rest[1], "--net");
	assert_string_equal(l.args.rest[2], "--");
	assert_string_equal(l.args.rest[3], "-x");
	assert_null(l.args.rest[4]);
	assert_false(args_has(&l.args, RUN_NET));
	args_free(&l.args);
	/* A switch that the command has, not sandgate. */
	assert_int_equal(parse(&l, "run", "--", "tool", "--help"), 0);
	assert_false(l.args.help);
	args_free(&l.args);
}

static void a_command_without_dashes_is_refused(void **state)
{
	struct line l;

	parse(&l, "run", "--quiet", "curl", "x");
	assert_refused(
		&l, "run: \"curl\" is no option; put \"--\" before the command: sandgate run ... "
		    "-- curl");
	/* `run` says the same where the engine brings no command of its own. */
	parse(&l, "exec", "box");
	assert_refused(&l, "exec: no command to run; put it after \"--\": sandgate exec ... -- "
			   "COMMAND");
	parse(&l, "exec", "box", "--");
	assert_refused(&l, "exec: no command to run; put it after \"--\": sandgate exec ... -- "
			   "COMMAND");
}

static void an_unknown_option_is_refused_with_the_nearest(void **state)
{
	struct line l;

	parse(&l, "run", "--alow", "x", "--", "true");
	assert_refused(&l, "run: unknown option --alow; did you mean --allow?");
	parse(&l, "run", "--quite", "--", "true");
	assert_refused(&l, "run: unknown option --quite; did you mean --quiet?");
	parse(&l, "ls", "--frobnicate");
	assert_refused(&l, "ls: unknown option --frobnicate; \"sandgate help ls\" lists all");
	parse(&l, "ls", "-j");
	assert_refused(
		&l, "ls: unknown option -j; options are written in full, see \"sandgate help ls\"");
	/* No abbreviations: what is not known today may mean something else tomorrow. */
	assert_int_equal(parse(&l, "run", "--quie", "--", "true"), -1);
	args_free(&l.args);
}

static void values_are_missing_empty_or_too_many(void **state)
{
	struct line l;

	parse(&l, "run", "--name");
	assert_refused(&l, "--name: the value is missing; write --name NAME");
	parse(&l, "run", "--allow", "--", "true");
	assert_refused(&l, "--allow: the value is missing; write --allow ITEM,...");
	parse(&l, "run", "--allow", "--deny", "x", "--", "true");
	assert_refused(&l, "--allow: the value is missing; write --allow ITEM,...");
	parse(&l, "run", "--allow=", "--", "true");
	assert_refused(&l, "--allow: an empty list allows nothing; write --net deny");
	parse(&l, "run", "--rw", "", "--", "true");
	assert_refused(&l, "--rw: the value is empty; write --rw DIR");
	parse(&l, "run", "--quiet=yes", "--", "true");
	assert_refused(&l, "--quiet: takes no value; write --quiet");
	parse(&l, "run", "--net", "deny", "--net", "none", "--", "true");
	assert_refused(&l, "--net: given twice; leave one out");
	/* A permission may be taken away: one hyphen is no option here. */
	assert_int_equal(parse(&l, "run", "--allow", "-error-reports", "--", "true"), 0);
	args_free(&l.args);
}

static void arguments_are_counted(void **state)
{
	struct line l;

	parse(&l, "egress");
	assert_refused(&l, "egress: an argument is missing; see \"sandgate help egress\"");
	parse(&l, "policy", "check", "a", "b");
	assert_refused(&l,
		       "policy check: \"b\" is one argument too many; see \"sandgate help policy "
		       "check\"");
	assert_int_equal(parse(&l, "policy", "check", "--json", "--", "--odd"), 0);
	assert_string_equal(l.args.words[0], "--odd");
	args_free(&l.args);
	assert_int_equal(parse(&l, "policy", "check", "-"), 0);
	assert_string_equal(l.args.words[0], "-");
	args_free(&l.args);
}

static void words_may_stand_before_a_command(void **state)
{
	struct line l;

	assert_int_equal(parse(&l, "exec", "--cwd", "/tmp", "box", "--", "ls", "--", "-l"), 0);
	assert_string_equal(l.args.words[0], "box");
	assert_string_equal(l.args.rest[1], "--");
	assert_int_equal(args_named(&l.args, "cwd")->n, 1);
	assert_int_equal(args_named(&l.args, "no-such")->n, 0);
	args_free(&l.args);
	parse(&l, "exec", "box", "ls", "--", "x");
	assert_refused(&l,
		       "exec: \"ls\" is no option; put \"--\" before the command: sandgate exec "
		       "... -- ls");
	parse(&l, "exec", "--", "ls");
	assert_refused(&l, "exec: an argument is missing; see \"sandgate help exec\"");
	parse(&l, "exec", "box");
	assert_refused(&l, "exec: no command to run; put it after \"--\": sandgate exec ... -- "
			   "COMMAND");
}

static void help_is_an_option_of_every_command(void **state)
{
	for (size_t i = 0; i < command_count; i++) {
		char *argv[] = {"--help", NULL};
		struct args a;
		struct err e;

		assert_int_equal(args_parse(&command_table[i], argv, &a, &e), 0);
		assert_true(a.help);
		args_free(&a);
	}
}

static void assert_unknown(const char *message, size_t n, char **words)
{
	struct err e;
	size_t used;

	assert_null(command_find(n, words, &used, &e));
	assert_string_equal(e.text, message);
}

static void commands_are_found_by_one_word_or_two(void **state)
{
	struct err e;
	size_t used;

	assert_string_equal(command_find(1, (char *[]){"ls"}, &used, &e)->name, "ls");
	assert_int_equal(used, 1);
	assert_string_equal(command_find(3, (char *[]){"net", "explain", "x"}, &used, &e)->name,
			    "net explain");
	assert_int_equal(used, 2);
	assert_unknown("rnu: unknown command; did you mean \"sandgate run\"?", 1,
		       (char *[]){"rnu"});
	assert_unknown("polcy: unknown command; did you mean \"sandgate policy\"?", 2,
		       (char *[]){"polcy", "check"});
	assert_unknown("frobnicate: unknown command; \"sandgate help\" lists all", 2,
		       (char *[]){"frobnicate", "x"});
	assert_unknown("net explian: unknown command; did you mean \"sandgate net explain\"?", 3,
		       (char *[]){"net", "explian", "x"});
	assert_unknown("policy: which of its commands? \"sandgate help policy\" lists them", 1,
		       (char *[]){"policy"});
	assert_string_equal(command_find(2, (char *[]){"net", "box"}, &used, &e)->name, "net");
	assert_int_equal(used, 1);
	assert_unknown(": unknown command; \"sandgate help\" lists all", 1, (char *[]){""});
}

/* "net NAME" beside "net explain ...": a word that is no command is a name, unless more follows. */
static void a_command_may_have_commands_below_it(void **state)
{
	struct err e;
	size_t used;

	assert_string_equal(command_find(2, (char *[]){"net", "box"}, &used, &e)->name, "net");
	assert_int_equal(used, 1);
	assert_string_equal(command_find(3, (char *[]){"net", "box", "--json"}, &used, &e)->name,
			    "net");
	assert_string_equal(command_find(3, (char *[]){"net", "--json", "box"}, &used, &e)->name,
			    "net");
	assert_string_equal(command_find(1, (char *[]){"net"}, &used, &e)->name, "net");
	assert_unknown("net alow: unknown command; did you mean \"sandgate net allow\"?", 3,
		       (char *[]){"net", "alow", "box"});
}

static void command_words_are_no_names(void **state)
{
	for (size_t i = 0; i < command_count; i++) {
		const char *name = command_table[i].name;
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, " "), name);
		assert_true(command_is_word(word));
		assert_false(sandbox_name_valid(word));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_spellings_of_a_value_are_the_same),
		cmocka_unit_test(what_follows_the_dashes_is_the_command),
		cmocka_unit_test(a_command_without_dashes_is_refused),
		cmocka_unit_test(an_unknown_option_is_refused_with_the_nearest),
		cmocka_unit_test(values_are_missing_empty_or_too_many),
		cmocka_unit_test(arguments_are_counted),
		cmocka_unit_test(words_may_stand_before_a_command),
		cmocka_unit_test(help_is_an_option_of_every_command),
		cmocka_unit_test(commands_are_found_by_one_word_or_two),
		cmocka_unit_test(a_command_may_have_commands_below_it),
		cmocka_unit_test(command_words_are_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
