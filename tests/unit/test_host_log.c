/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/log.h"
#include "sandbox/log/host_log.h"

enum { WRITERS = 24 };

/* A state folder of this process's own, empty: root's has one place only. */
static int own_state(void **state)
{
	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return -1;
	return 0;
}

static int empty_state(void **state)
{
	if (mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755") != 0)
		return -1;
	return setenv("XDG_STATE_HOME", "/var/lib", 1);
}

static int end_state(void **state)
{
	return umount2("/var/lib", MNT_DETACH);
}

static void append(json_t *entry)
{
	struct err e;

	if (host_log_append(entry, &e) < 0)
		fail_msg("%s", e.text);
}

static struct audit_verdict verify(void)
{
	struct audit_verdict v;
	struct err e;
	int dir = host_log_open(&e);

	assert_true(dir >= 0);
	if (audit_verify(dir, span_of(NULL, 0), span_of(NULL, 0), &v, &e) < 0)
		fail_msg("%s", e.text);
	close(dir);
	return v;
}

static void there_is_none_at_first(void **state)
{
	struct err e;
	json_t *known = host_log_read_known(&e);

	assert_int_equal(host_log_open(&e), -ENOENT);
	assert_int_equal(json_object_size(known), 0);
	json_decref(known);
}

static void it_is_made_and_grows(void **state)
{
	append(json_pack("{s:s}", "action", "sandgate.setting.change"));
	append(json_pack("{s:s}", "action", "sandgate.setting.change"));
	assert_true(verify().holds);
	assert_int_equal(verify().size, 2);
}

/* Commands that end at the same time take turns; none of what they write is lost. */
static void many_write_at_the_same_time(void **state)
{
	struct err e;

	for (int i = 0; i < WRITERS; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(host_log_append(json_pack("{s:s,s:i}", "action",
							"sandgate.setting.change", "n", i),
					      &e) < 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_true(verify().holds);
	assert_int_equal(verify().size, WRITERS);
}

static void event(const char *action, const char *sandbox, const char *checkpoint, int kept)
{
	append(json_pack("{s:s,s:s,s:s?,s:b}", "action", action, "sandbox", sandbox, "checkpoint",
			 checkpoint, "kept", kept));
}

static void assert_known(const json_t *known, const char *sandbox, const char *checkpoint,
			 bool removed)
{
	const json_t *one = json_object_get(known, sandbox);

	assert_non_null(one);
	assert_string_equal(json_string_value(json_object_get(one, "checkpoint")), checkpoint);
	assert_int_equal(json_is_true(json_object_get(one, "removed")), removed);
	assert_non_null(json_string_value(json_object_get(one, "time")));
}

static void it_knows_the_last_of_each_sandbox(void **state)
{
	struct err e;
	json_t *known;

	event("sandgate.sandbox.create", "one", NULL, 0);
	event("sandgate.sandbox.stop", "one", "first", 1);
	event("sandgate.sandbox.stop", "one", "second", 1);
	/* Its log went with it, and says nothing about one of its name that is kept. */
	event("sandgate.sandbox.stop", "passing", "third", 0);
	event("sandgate.sandbox.stop", "gone", "fourth", 1);
	event("sandgate.sandbox.remove", "gone", "fifth", 0);
	event("sandgate.sandbox.remove", "again", "sixth", 0);
	event("sandgate.sandbox.create", "again", NULL, 0);
	known = host_log_read_known(&e);
	assert_int_equal(json_object_size(known), 2);
	assert_known(known, "one", "second", false);
	assert_known(known, "gone", "fifth", true);
	/* All of them: a log that is begun anew signs the later ones as well. */
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(known, "one"), "checkpoints")), 2);
	json_decref(known);
}

int main(void)
{
#define WITH_STATE(f) cmocka_unit_test_setup_teardown(f, empty_state, end_state)
	const struct CMUnitTest tests[] = {
		WITH_STATE(there_is_none_at_first),
		WITH_STATE(it_is_made_and_grows),
		WITH_STATE(many_write_at_the_same_time),
		WITH_STATE(it_knows_the_last_of_each_sandbox),
	};

	return cmocka_run_group_tests(tests, own_state, NULL);
}
