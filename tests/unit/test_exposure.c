/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox may have had a hand in: by its folder, by a link on the way, by a variable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/engine/exposure.h"

static char top[64];
static struct exposure x;

static const char *at(const char *path)
{
	static char text[8][256];
	static unsigned i;

	i = (i + 1) % 8;
	snprintf(text[i], sizeof(text[i]), "%s/%s", top, path);
	return text[i];
}

static int begin(void **state)
{
	char text[256];
	struct err e;

	strcpy(top, "/tmp/sandgate-exposure-XXXXXX");
	if (!mkdtemp(top) || mkdir(at("project"), 0700) || mkdir(at("own"), 0700) ||
	    symlink("../project", at("own/in")) || symlink("../own", at("project/out")) ||
	    symlink("round", at("own/round")))
		return -1;
	snprintf(text, sizeof(text), "{\"version\":1,\"folders\":{\"%s\":{\"languages\":[]}}}",
		 at("project"));
	return trust_parse(span_of_string(text), "f", &x.trust, &e);
}

static int end(void **state)
{
	char command[128];

	exposure_free(&x);
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

static void a_path_is_exposed_by_its_folder_or_a_link(void **state)
{
	static const struct {
		const char *path;
		bool exposed;
	} rows[] = {
		{"project/a", true},	    {"project/none/a", true}, {"own/a", false},
		{"own/in/a", true},	    {"project/out/a", true},  {"own/round", true},
		{"own/../project/a", true}, {"projects/a", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (exposure_has(&x, at(rows[i].path)) != rows[i].exposed)
			fail_msg("%s", rows[i].path);
}

static void a_path_of_programs_loses_what_is_exposed(void **state)
{
	char *before = strdup(getenv("PATH")), *clean, text[1024];

	snprintf(text, sizeof(text), "%s:bin::%s:.:%s:%s:/usr/bin:", at("project/bin"), at("own"),
		 at("own/in"), at("project"));
	setenv("PATH", text, 1);
	clean = exposure_clean_path(&x);
	snprintf(text, sizeof(text), "%s:/usr/bin", at("own"));
	assert_string_equal(clean, text);
	free(clean);
	setenv("PATH", "", 1);
	clean = exposure_clean_path(&x);
	assert_string_equal(clean, "");
	free(clean);
	setenv("PATH", before, 1);
	free(before);
}

static void variables_that_lead_there_are_dropped(void **state)
{
	static const struct {
		const char *value; /* P: the project; O: the person's own */
		bool kept;
	} rows[] = {
		{"P", false},
		{"O:P/lib", false},
		{"--require P/hook.js", false},
		{"unix:path=P/s", false},
		{"a,P", false},
		{"O", true},
		{"O/in", false},
		{"", true},
		{"words: a/b = c", true},
		{"O:relative", true},
		{"'P/a b'", false},
		{"/", true},
	};
	char *before = strdup(getenv("PATH"));

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char value[512] = "";

		for (const char *s = rows[i].value; *s; s++)
			snprintf(value + strlen(value), sizeof(value) - strlen(value), "%s",
				 *s == 'P'   ? at("project")
				 : *s == 'O' ? at("own")
					     : (const char[]){*s, 0});
		setenv("SG_TEST_A", value, 1);
		setenv("SG_TEST_B", "kept", 1);
		assert_int_equal(exposure_clean_environment(&x), 0);
		if (!getenv("SG_TEST_A") == rows[i].kept)
			fail_msg("%s", value);
		assert_string_equal(getenv("SG_TEST_B"), "kept");
	}
	setenv("PATH", before, 1);
	free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_exposed_by_its_folder_or_a_link),
		cmocka_unit_test(a_path_of_programs_loses_what_is_exposed),
		cmocka_unit_test(variables_that_lead_there_are_dropped),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
