/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base64.h"

/* RFC 4648, section 10. */
static void the_vectors_of_rfc_4648(void **state)
{
	static const char *const vectors[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char text[16];
		uint8_t octets[16];
		size_t n;

		base64_print(span_of_string(vectors[i][0]), text);
		assert_string_equal(text, vectors[i][1]);
		assert_true(base64_parse(span_of_string(text), octets, sizeof(octets), &n));
		assert_true(span_equal(span_of(octets, n), span_of_string(vectors[i][0])));
	}
}

/* Octets have one text: another one would be a second signature over the same. */
static void only_the_canonical_text_is_taken(void **state)
{
	static const char *const bad[] = {
		"Z",	"Zg",	"Zg=",	  "Zh==", "Zm9=", "Zm8=Zm8=", "Zg==\n", " Zg==",
		"Z===", "====", "Zm9v-_", "Zm9-", "Zm9_", "=Zm9",     "Zm9vZg", "Zm=v",
	};
	uint8_t octets[16];
	size_t n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (base64_parse(span_of_string(bad[i]), octets, sizeof(octets), &n))
			fail_msg("taken: %s", bad[i]);
}

static void what_does_not_fit_is_refused(void **state)
{
	uint8_t octets[3];
	size_t n;

	assert_true(base64_parse(span_of_string("Zm9v"), octets, 3, &n));
	assert_false(base64_parse(span_of_string("Zm9v"), octets, 2, &n));
	assert_true(base64_parse(span_of_string("Zm8="), octets, 2, &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_rfc_4648),
		cmocka_unit_test(only_the_canonical_text_is_taken),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
