/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that prove themselves, and are not what they should be; and one that is written meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "audit_folder.h"

enum { READS_MAX = 100000 };

static const struct audit_log_options options = {.origin = "sandgate/test/alpha",
						 .segment_bytes = 250};

/* ---- Anchors and keys ---- */

static struct audit_verdict verdict_against(const struct folder *f, const char *anchor,
					    const char *key)
{
	struct audit_verdict v;
	struct err e;

	if (audit_verify(f->fd, span_of_string(anchor), span_of_string(key), &v, &e) < 0)
		fail_msg("%s", e.text);
	return v;
}

static void a_log_that_only_grew_holds_against_its_anchors(void **state)
{
	struct folder f = log_make(&options, 3), g = log_make(&options, 2);
	char *early = folder_read(f.fd, "checkpoint", NULL), *late, all[4096];
	struct audit_verdict v;

	log_fill(&f, &options, 2);
	late = folder_read(f.fd, "checkpoint", NULL);
	/* As a file has them that many logs are anchored in, in no order. */
	snprintf(all, sizeof(all), "%s\n%s\n", late, early);
	v = verdict_against(&f, all, "");
	assert_true(v.holds);
	assert_int_equal(v.anchors, 2);
	assert_int_equal(v.size, 5);
	free(early);
	free(late);
	folder_remove(&f);
	folder_remove(&g);
}

static void a_rolled_back_log_is_found_by_its_anchor(void **state)
{
	struct folder f = log_make(&options, 3), before = folder_make();
	char *anchor;
	struct audit_verdict v;

	folder_copy(&f, &before);
	log_fill(&f, &options, 2);
	anchor = folder_read(f.fd, "checkpoint", NULL);
	assert_holds(&before, 3);
	v = verdict_against(&before, anchor, "");
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 3);
	assert_non_null(strstr(v.why.text, "rolled back: the anchor has 5 entries, the log 3"));
	free(anchor);
	folder_remove(&f);
	folder_remove(&before);
}

/*
 * Put back to an older state and then written on with the same key: it proves itself, and is a
 * fork.
 */
static void a_forked_log_is_found_by_its_anchor(void **state)
{
	struct folder f = log_make(&options, 3), fork = folder_make();
	char *both, *anchor, *early = folder_read(f.fd, "checkpoint", NULL);
	struct audit_verdict v;

	folder_copy(&f, &fork);
	log_fill(&f, &options, 2);
	log_fill_from(&fork, &options, 10, 4);
	anchor = folder_read(f.fd, "checkpoint", NULL);
	assert_holds(&fork, 7);
	assert_true(asprintf(&both, "%s%s", early, anchor) > 0);
	v = verdict_against(&fork, both, "");
	assert_false(v.holds);
	/* The first anchor narrows it down. */
	assert_int_equal(v.bad_seq, 3);
	assert_non_null(strstr(v.why.text, "not the one of the anchor"));
	free(both);
	free(anchor);
	free(early);
	folder_remove(&f);
	folder_remove(&fork);
}

static void a_log_in_the_place_of_another_is_found(void **state)
{
	struct folder f = log_make(&options, 3), other = folder_make();
	char *anchor = folder_read(f.fd, "checkpoint", NULL),
	     *key = folder_read(f.fd, "key.pub", NULL);
	struct audit_verdict v;

	log_fill_from(&other, &options, 10, 3);
	assert_holds(&other, 3);
	v = verdict_against(&other, anchor, "");
	assert_false(v.holds);
	assert_non_null(strstr(v.why.text, "the log is not the one of the anchor"));
	v = verdict_against(&other, "", key);
	assert_false(v.holds);
	assert_string_equal(v.why.text, "checkpoint: it is not signed with this key");
	/* The same key as PEM alone, as openssl prints it. */
	v = verdict_against(&f, anchor, strchr(key, '\n') + 1);
	assert_true(v.holds);
	free(anchor);
	free(key);
	folder_remove(&f);
	folder_remove(&other);
}

static void an_anchor_of_other_logs_only_is_no_anchor(void **state)
{
	const struct audit_log_options beta = {.origin = "sandgate/test/beta"};
	struct folder f = log_make(&options, 1), g = folder_make();
	struct audit_verdict v;
	struct err e;
	char *anchor;

	audit_log_close(log_open(&g, &beta));
	anchor = folder_read(g.fd, "checkpoint", NULL);
	assert_int_equal(audit_verify(f.fd, span_of_string(anchor), span_of("", 0), &v, &e), -1);
	assert_string_equal(e.text, "anchor: no whole checkpoint of sandgate/test/alpha is in it");
	free(anchor);
	folder_remove(&f);
	folder_remove(&g);
}

/* ---- Totals ---- */

static void refuse(struct audit_log *l, const char *reason, int suppressed)
{
	json_t *entry = json_pack("{s:s,s:s,s:s}", "action", "sandgate.egress.deny", "verdict",
				  "deny", "reason", reason);

	if (suppressed)
		json_object_set_new(entry, "suppressed", json_integer(suppressed));
	assert_int_equal(audit_log_append(l, entry), 0);
}

static void say_totals(struct audit_log *l, int policy, int special)
{
	assert_int_equal(
		audit_log_append(l, json_pack("{s:s,s:{s:i,s:i}}", "action",
					      "sandgate.audit.totals", "totals", "not-in-policy",
					      policy, "special-address", special)),
		0);
}

static void suppressed_refusals_add_up(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct audit_verdict v;

	refuse(l, "not-in-policy", 0);
	refuse(l, "special-address", 0);
	refuse(l, "not-in-policy", 998);
	say_totals(l, 1000, 1);
	refuse(l, "special-address", 6);
	say_totals(l, 1000, 8);
	assert_int_equal(audit_log_commit(l, true), 0);
	assert_holds(&f, 6);
	refuse(l, "not-in-policy", 10);
	say_totals(l, 1010, 8);
	audit_log_close(l);
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 7);
	assert_string_equal(v.why.text, "entry 7: 1011 events as not-in-policy are written or "
					"counted, its total says 1010");
	folder_remove(&f);
}

static void a_reason_without_a_total_does_not_add_up(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct audit_verdict v;

	refuse(l, "sni-mismatch", 0);
	say_totals(l, 0, 0);
	audit_log_close(l);
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 1);
	folder_remove(&f);
}

/* The host's own log has the end of each sandbox with its totals, and not its refusals. */
static void totals_of_others_are_theirs(void **state)
{
	const struct audit_log_options host = {.origin = "sandgate/test"};
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &host);

	assert_int_equal(audit_log_append(l, json_pack("{s:s,s:s,s:{s:i}}", "action",
						       "sandgate.sandbox.stop", "sandbox", "test",
						       "totals", "not-in-policy", 12)),
			 0);
	audit_log_close(l);
	assert_holds(&f, 1);
	folder_remove(&f);
}

/* ---- While it is written ---- */

static bool count_entry(void *ctx, uint64_t seq, struct span line)
{
	++*(uint64_t *)ctx;
	return true;
}

static void write_and_prune(const struct folder *f)
{
	const struct audit_log_options small = {.origin = "sandgate/test/alpha",
						.segment_bytes = 500,
						.keep_segments = 2,
						.fleeting = true};
	/* The hashes of all stay: one that writes as fast as it can outruns who reads. */
	const struct timespec pause = {.tv_nsec = 500000};
	struct audit_log *l = log_open(f, &small);

	/* Whatever becomes of the test. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	for (int i = 0;; i++) {
		if (log_add(l, i) < 0 || (i % 3 == 0 && audit_log_commit(l, i % 6 == 0) < 0))
			_exit(1);
		nanosleep(&pause, NULL);
	}
}

static void a_reader_never_sees_it_broken(void **state)
{
	struct folder f = log_make(&options, 1);
	struct audit_verdict v = {.pruned = false};
	uint64_t before = 0;
	pid_t pid = fork();
	struct err e;

	assert_true(pid >= 0);
	if (pid == 0)
		write_and_prune(&f);
	/* Until the writer, who may not run at all meanwhile, has pruned. */
	for (int i = 0; i < 400 || (!v.pruned && i < READS_MAX); i++) {
		uint64_t n = 0;

		v = verdict_of(&f);
		if (!v.holds)
			fail_msg("after %d times: %s", i, v.why.text);
		assert_true(v.size >= before);
		before = v.size;
		if (audit_each(f.fd, 0, count_entry, &n, &e) < 0)
			fail_msg("after %d times: %s", i, e.text);
		assert_true(n > 0);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	v = verdict_of(&f);
	assert_true(v.holds && v.pruned);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_only_grew_holds_against_its_anchors),
		cmocka_unit_test(a_rolled_back_log_is_found_by_its_anchor),
		cmocka_unit_test(a_forked_log_is_found_by_its_anchor),
		cmocka_unit_test(a_log_in_the_place_of_another_is_found),
		cmocka_unit_test(an_anchor_of_other_logs_only_is_no_anchor),
		cmocka_unit_test(suppressed_refusals_add_up),
		cmocka_unit_test(a_reason_without_a_total_does_not_add_up),
		cmocka_unit_test(totals_of_others_are_theirs),
		cmocka_unit_test(a_reader_never_sees_it_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
