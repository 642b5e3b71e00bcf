/* SPDX-License-Identifier: Apache-2.0 */
/* trust.json: what it says, folder by folder, and that a damaged one says nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sandbox/settings/trust.h"

/* SHA-256 of "abc" (FIPS 180-2, B.1). */
#define DIGEST_OF_ABC "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

static const char text[] = "{\"version\": 1, \"folders\": {"
			   "\"/home/u/p\": {\"file\": \"" DIGEST_OF_ABC "\","
			   "  \"languages\": [\"install:node\", \"install:rust\"]},"
			   "\"/home/u/p/sub\": {\"languages\": []},"
			   "\"/home/u/p/file-only\": {\"file\": \"" DIGEST_OF_ABC "\"},"
			   "\"/srv\": {\"languages\": [\"install:go\"]}}}";

static struct trust parsed(void)
{
	struct trust t;
	struct err e;

	if (trust_parse(span_of_string(text), "f", &t, &e))
		fail_msg("%s", e.text);
	return t;
}

static void a_file_counts_by_its_octets_and_its_folder(void **state)
{
	struct trust t = parsed();
	struct span abc = span_of_string("abc"), abd = span_of_string("abd");
	struct digest same = digest_of(&abc, 1), other = digest_of(&abd, 1);

	assert_true(trust_has_file(&t, "/home/u/p", &same));
	assert_false(trust_has_file(&t, "/home/u/p", &other));
	assert_false(trust_has_file(&t, "/home/u/p/sub", &same));
	assert_false(trust_has_file(&t, "/home/u", &same));
	assert_false(trust_has_file(&t, "/home/u/p/", &same));
	assert_true(trust_had_file(&t, "/home/u/p"));
	assert_false(trust_had_file(&t, "/home/u/p/sub"));
	trust_free(&t);
}

static void assert_languages(const struct trust *t, const char *folder, const char *wanted)
{
	const json_t *list = trust_languages(t, folder);
	char *got = list ? json_dumps(list, JSON_COMPACT) : NULL;

	if (!wanted)
		assert_null(list);
	else
		assert_string_equal(got, wanted);
	free(got);
}

static void languages_are_those_of_the_nearest_folder_above(void **state)
{
	struct trust t = parsed();

	assert_languages(&t, "/home/u/p", "[\"install:node\",\"install:rust\"]");
	assert_languages(&t, "/home/u/p/new/deep", "[\"install:node\",\"install:rust\"]");
	assert_languages(&t, "/home/u/p/file-only", "[\"install:node\",\"install:rust\"]");
	assert_languages(&t, "/home/u/p/sub", "[]");
	assert_languages(&t, "/home/u/p/sub/below", "[]");
	assert_languages(&t, "/home/u/psub", NULL);
	assert_languages(&t, "/home/u", NULL);
	assert_languages(&t, "/", NULL);
	assert_languages(&t, "/srv/x", "[\"install:go\"]");
	trust_free(&t);
}

static void what_is_recorded_is_compared_exactly(void **state)
{
	char *both[] = {"install:node", "install:rust", NULL}, *one[] = {"install:node", NULL};
	char *none[] = {NULL};
	struct trust t = parsed();

	assert_true(trust_has_languages(&t, "/home/u/p", both));
	assert_false(trust_has_languages(&t, "/home/u/p", one));
	assert_true(trust_has_languages(&t, "/home/u/p/sub", none));
	assert_false(trust_has_languages(&t, "/home/u/p/new", none));
	trust_free(&t);
}

static void a_damaged_file_is_an_error(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "f:1:0: "},
		{"{", "f:1:1: "},
		{"[]", "damaged"},
		{"{}", "damaged"},
		{"{\"version\": 1}", "damaged"},
		{"{\"version\": 0, \"folders\": {}}", "damaged"},
		{"{\"version\": 1, \"folders\": []}", "damaged"},
		{"{\"version\": 1, \"folders\": {}, \"more\": 1}", "damaged"},
		{"{\"version\": 2, \"folders\": {}}", "needs a newer sandgate"},
		{"{\"version\": 1, \"folders\": {\"relative\": {}}}", "entry of relative"},
		{"{\"version\": 1, \"folders\": {\"/a\": []}}", "entry of /a is damaged"},
		{"{\"version\": 1, \"folders\": {\"/a\": {\"file\": 1}}}",
		 "entry of /a is damaged"},
		{"{\"version\": 1, \"folders\": {\"/a\": {\"file\": \"abc\"}}}", "entry of /a"},
		{"{\"version\": 1, \"folders\": {\"/a\": {\"languages\": [1]}}}", "entry of /a"},
		{"{\"version\": 1, \"folders\": {\"/a\": {\"langauges\": []}}}", "entry of /a"},
		{"{\"version\": 1, \"folders\": {\"/a\": {}, \"/a\": {}}}", "duplicate"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct trust t = {0};
		struct err e;

		if (trust_parse(span_of_string(rows[i].text), "f", &t, &e) == 0)
			fail_msg("accepted: %s", rows[i].text);
		if (!strstr(e.text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, e.text);
		assert_null(t.root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_counts_by_its_octets_and_its_folder),
		cmocka_unit_test(languages_are_those_of_the_nearest_folder_above),
		cmocka_unit_test(what_is_recorded_is_compared_exactly),
		cmocka_unit_test(a_damaged_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
