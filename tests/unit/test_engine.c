/* SPDX-License-Identifier: Apache-2.0 */
/* What --engine names, and how a container's first process is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/container_pid.h"
#include "sandbox/engine/engine.h"

static void assert_refused(const char *name, const char *says)
{
	struct err e;

	assert_null(engine_find(name, &e));
	if (!strstr(e.text, says))
		fail_msg("%s: %s", name, e.text);
}

static void an_engine_has_a_name(void **state)
{
	struct err e;

	assert_ptr_equal(engine_find(NULL, &e), &engine_bwrap);
	assert_ptr_equal(engine_find("bwrap", &e), &engine_bwrap);
	assert_ptr_equal(engine_default(), &engine_bwrap);
	assert_string_equal(engine_name(NULL), "bwrap");
	assert_string_equal(engine_name("other"), "other");
}

static void an_unknown_engine_is_refused_with_the_nearest(void **state)
{
	assert_refused("bwarp", "did you mean bwrap? There are bwrap, podman, qemu");
	assert_refused("kubernetes",
		       "is unknown; there are bwrap, podman, qemu; leave it out for bwrap");
	assert_refused("", "is unknown");
	assert_refused("docker", "see sandgate attach");
	assert_refused("containerd", "see sandgate attach");
	assert_refused("netns", "by sandgate attach");
}

static void what_was_attached_is_not_chosen_or_kept(void **state)
{
	assert_false(engine_attached.chosen);
	assert_false(engine_attached.kept);
	assert_int_equal(engine_attached.link, AIRLOCK_NETNS);
	assert_non_null(engine_attached.no_exec);
}

static void the_end_of_one_without_a_process_is_asked_for(void **state)
{
	struct engine g = ENGINE_NONE(&engine_attached);

	assert_int_equal(engine_bare_signal(&g, SIGUSR1), 0);
	assert_false(g.ended);
	assert_int_equal(engine_bare_terminate(&g), 0);
	assert_true(g.ended);
	g = ENGINE_NONE(&engine_attached);
	engine_bare_kill(&g);
	assert_true(g.ended);
}

static pid_t parse(const char *said)
{
	return container_pid_parse(span_of_string(said));
}

static void the_answer_of_inspect_is_one_number(void **state)
{
	assert_int_equal(parse("4711\n"), 4711);
	assert_int_equal(parse("4711"), 4711);
	assert_int_equal(parse("0\n"), 0);
	assert_int_equal(parse("2147483647\n"), 2147483647);
	for (const char *const *p =
		     (const char *const[]){"", "\n", "-1\n", "12 \n", "1\n2\n", "x", "1x",
					   "2147483648\n", "99999999999999999999\n", NULL};
	     *p; p++)
		assert_int_equal(parse(*p), -1);
}

static void a_container_s_name_is_no_option(void **state)
{
	char longest[257];

	assert_true(container_pid_is_name("web"));
	assert_true(container_pid_is_name("0a1b2c"));
	assert_true(container_pid_is_name("a_b.c-d"));
	assert_false(container_pid_is_name(""));
	assert_false(container_pid_is_name("-f"));
	assert_false(container_pid_is_name("--help"));
	assert_false(container_pid_is_name(".x"));
	assert_false(container_pid_is_name("a b"));
	assert_false(container_pid_is_name("a/b"));
	assert_false(container_pid_is_name("a\x1b[31m"));
	memset(longest, 'a', 256);
	longest[256] = 0;
	assert_false(container_pid_is_name(longest));
	longest[255] = 0;
	assert_true(container_pid_is_name(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_has_a_name),
		cmocka_unit_test(an_unknown_engine_is_refused_with_the_nearest),
		cmocka_unit_test(what_was_attached_is_not_chosen_or_kept),
		cmocka_unit_test(the_end_of_one_without_a_process_is_asked_for),
		cmocka_unit_test(the_answer_of_inspect_is_one_number),
		cmocka_unit_test(a_container_s_name_is_no_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
