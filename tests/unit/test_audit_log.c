/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "audit_folder.h"

static const struct audit_log_options options = {.origin = "sandgate/test/alpha"};

static void a_new_log_holds(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct stat st;

	assert_int_equal(audit_log_size(l), 0);
	audit_log_close(l);
	assert_holds(&f, 0);
	assert_int_equal(fstatat(f.fd, "key", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	folder_remove(&f);
}

static void entries_are_kept_over_openings(void **state)
{
	struct folder f = folder_make();

	for (int i = 0; i < 5; i++) {
		struct audit_log *l = log_open(&f, &options);

		assert_int_equal(audit_log_size(l), i * 3);
		for (int k = 0; k < 3; k++)
			assert_int_equal(log_add(l, i * 3 + k), 0);
		assert_true(audit_log_dirty(l));
		assert_int_equal(audit_log_commit(l, true), 0);
		assert_false(audit_log_dirty(l));
		audit_log_close(l);
		assert_holds(&f, (uint64_t)i * 3 + 3);
	}
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_log_holds),
		cmocka_unit_test(entries_are_kept_over_openings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
