/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static const char *near(const char *written)
{
	static const char *const words[] = {"any",
					    "allow",
					    "deny",
					    "network",
					    "dns",
					    "limits",
					    "a-sandbox-with-a-name-that-says-all-of-it"};
	struct nearest n = nearest_to(written);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_offer(&n, words[i]);
	return n.word ? n.word : "";
}

static void test_one_letter(void **state)
{
	assert_string_equal(near("alow"), "allow");
	assert_string_equal(near("alllow"), "allow");
	assert_string_equal(near("allaw"), "allow");
	assert_string_equal(near("allwo"), "allow");
	assert_string_equal(near("newtork"), "network");
	assert_string_equal(near("dn"), "dns");
}

static void test_the_first_letter_decides(void **state)
{
	assert_string_equal(near("dny"), "deny");
	assert_string_equal(near("ny"), "any");
}

static void test_a_long_name(void **state)
{
	assert_string_equal(near("a-sandbox-with-a-name-that-says-al-of-it"),
			    "a-sandbox-with-a-name-that-says-all-of-it");
}

static void test_what_is_not_meant(void **state)
{
	assert_string_equal(near(""), "");
	assert_string_equal(near("xyz"), "");
	assert_string_equal(near("permissions"), "");
	assert_string_equal(near("allowallowallowallowallowallowallow"
				 "allowallowallowallowallowallowallow"),
			    "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_letter),
		cmocka_unit_test(test_the_first_letter_decides),
		cmocka_unit_test(test_a_long_name),
		cmocka_unit_test(test_what_is_not_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
