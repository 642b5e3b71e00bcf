/* SPDX-License-Identifier: Apache-2.0 */
/* What `net permissions` says of a permission that an organisation takes away, and of languages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/permission_model.h"

static const struct permission *permission(const char *id)
{
	const struct permission *p = catalogue_permission(catalogue_builtin(), id);

	assert_non_null(p);
	return p;
}

/* What is built on it goes with it, and so does what it stands for. */
static void test_removed(void **state)
{
	char *removed[] = {"github", "install", NULL};
	const struct permission_view v = {.catalogue = catalogue_builtin(), .removed = removed};
	const struct permission_view none = {.catalogue = catalogue_builtin()};

	assert_true(permission_is_removed(&v, permission("github")));
	assert_true(permission_is_removed(&v, permission("github:push")));
	assert_true(permission_is_removed(&v, permission("install:rust")));
	assert_false(permission_is_removed(&v, permission("install:system")));
	assert_false(permission_is_removed(&v, permission("publish:rust")));
	assert_true(permission_is_on(&none, permission("github")));
	assert_false(permission_is_on(&v, permission("github")));
	assert_true(permission_is_on(&v, permission("update")));
}

static void test_languages(void **state)
{
	char *languages[] = {"install:go", NULL};
	const struct permission_view v = {.catalogue = catalogue_builtin(), .languages = languages};

	assert_true(permission_is_on(&v, permission("install:go")));
	assert_false(permission_is_on(&v, permission("install:rust")));
	assert_false(permission_is_on(&v, permission("install")));
}

/* A host that several agents share is listed once. */
static void test_hosts_are_listed_once(void **state)
{
	const struct permission_view v = {.catalogue = catalogue_builtin()};
	json_t *model = permission_model(&v, permission("update"));
	const json_t *hosts = json_object_get(model, "hosts");

	assert_true(json_array_size(hosts) > 5);
	for (size_t i = 0; i < json_array_size(hosts); i++)
		for (size_t k = 0; k < i; k++)
			assert_false(
				json_equal(json_array_get(hosts, i), json_array_get(hosts, k)));
	json_decref(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_languages),
		cmocka_unit_test(test_hosts_are_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
