/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gate/search_list.h"

static struct search_list l;
static mono_t now;

static int setup(void **state)
{
	memset(&l, 0, sizeof(l));
	now = (mono_t){1000000000};
	return 0;
}

static struct name name_of(const char *s)
{
	struct name n;

	assert_int_equal(name_parse_ascii(s, strlen(s), &n), NAME_OK);
	return n;
}

static void ask(const char *s)
{
	struct name n = name_of(s);

	search_list_note(&l, &n, now);
}

static const char *suffix_of(const char *s)
{
	struct name n = name_of(s), stem;
	const struct name *suffix = search_list_split(&l, &n, &stem);

	return suffix && search_list_was_asked(&l, &stem) ? suffix->s : NULL;
}

/* gvisor-tap-vsock#474: five suffixes, asked before the name itself (ndots). */
static void suffixes_are_learned_from_a_whole_list(void **state)
{
	ask("api.example.com.ns.svc.cluster.corp");
	ask("api.example.com.svc.cluster.corp");
	ask("api.example.com.corp");
	assert_null(suffix_of("api.example.com.corp"));
	ask("api.example.com");
	assert_string_equal(suffix_of("api.example.com.svc.cluster.corp"), "svc.cluster.corp");
	ask("other.example.org");
	assert_string_equal(suffix_of("other.example.org.ns.svc.cluster.corp"),
			    "ns.svc.cluster.corp");
}

static void suffixes_are_learned_after_the_name_too(void **state)
{
	ask("db");
	ask("db.corp.lan");
	assert_string_equal(suffix_of("db.corp.lan"), "corp.lan");
}

/* A name of its own below a suffix is not taken for a retry: a person has to see it. */
static void names_of_their_own_are_not_retries(void **state)
{
	ask("db");
	ask("db.corp.lan");
	assert_null(suffix_of("secret.corp.lan"));
	assert_null(suffix_of("corp.lan"));
	assert_null(suffix_of("xcorp.lan"));
}

static void names_far_apart_in_time_teach_nothing(void **state)
{
	ask("db");
	now = mono_add_ms(now, 6000);
	ask("db.corp.lan");
	assert_null(suffix_of("db.corp.lan"));
}

static void similar_names_teach_nothing(void **state)
{
	ask("api.example.com");
	ask("api.example.community");
	ask("www.api.example.com");
	assert_null(suffix_of("api.example.community"));
	assert_null(suffix_of("www.api.example.com"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(suffixes_are_learned_from_a_whole_list, setup),
		cmocka_unit_test_setup(suffixes_are_learned_after_the_name_too, setup),
		cmocka_unit_test_setup(names_of_their_own_are_not_retries, setup),
		cmocka_unit_test_setup(names_far_apart_in_time_teach_nothing, setup),
		cmocka_unit_test_setup(similar_names_teach_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
