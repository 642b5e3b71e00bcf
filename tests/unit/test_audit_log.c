/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "audit/canonical.h"
#include "audit/entry.h"
#include "audit_folder.h"

static const struct audit_log_options options = {.origin = "sandgate/test/alpha"};
static const char first_segment[] = "00000000000000000000.jsonl";

/* The lines of a log, each with its newline; the caller frees. */
static bool add_text(void *ctx, uint64_t seq, struct span line)
{
	char **all = ctx, *more;

	assert_true(asprintf(&more, "%s%.*s\n", *all, (int)line.n, (const char *)line.p) > 0);
	free(*all);
	*all = more;
	return true;
}

static char *read_entries(const struct folder *f)
{
	char *all = strdup("");
	struct err e;

	assert_int_equal(audit_each(f->fd, 0, add_text, &all, &e), 0);
	return all;
}

/* ---- Opening, writing ---- */

static void a_new_log_holds(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct audit_verdict v;
	struct stat st;

	assert_int_equal(audit_log_size(l), 0);
	assert_false(audit_log_dirty(l));
	audit_log_close(l);
	assert_holds(&f, 0);
	v = verdict_of(&f);
	assert_string_equal(v.origin, "sandgate/test/alpha");
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

/* A log keeps the name that it was made with: the name of its key. */
static void a_log_keeps_its_origin(void **state)
{
	const struct audit_log_options renamed = {.origin = "sandgate/elsewhere/beta"};
	struct folder f = folder_make();
	struct audit_verdict v;

	audit_log_close(log_open(&f, &options));
	audit_log_close(log_open(&f, &renamed));
	v = verdict_of(&f);
	assert_true(v.holds);
	assert_string_equal(v.origin, "sandgate/test/alpha");
	folder_remove(&f);
}

static void a_name_that_is_no_name_is_refused(void **state)
{
	const struct audit_log_options bad = {.origin = "two words"};
	struct folder f = folder_make();
	struct err e;

	assert_null(audit_log_open(f.fd, &bad, &e));
	assert_string_equal(e.text,
			    "audit log: two words: no name for a log's key: no spaces, no plus");
	folder_remove(&f);
}

static void a_log_whose_key_is_gone_is_refused(void **state)
{
	struct folder f = folder_make();
	struct err e;

	audit_log_close(log_open(&f, &options));
	assert_int_equal(unlinkat(f.fd, "key", 0), 0);
	assert_null(audit_log_open(f.fd, &options, &e));
	assert_string_equal(e.text, "audit log: key: it is gone, and nothing can be sealed without "
				    "it; move the log's folder away, and a new one begins");
	assert_int_not_equal(faccessat(f.fd, "key", F_OK, 0), 0);
	folder_remove(&f);
}

static void a_key_that_others_may_read_is_refused(void **state)
{
	struct folder f = folder_make();
	struct err e;

	audit_log_close(log_open(&f, &options));
	assert_int_equal(fchmodat(f.fd, "key", 0644, 0), 0);
	assert_null(audit_log_open(f.fd, &options, &e));
	assert_non_null(strstr(e.text, "others may read it"));
	folder_remove(&f);
}

/* flock is of the open file: a second opening in one process is as good as another process. */
static void one_writer_at_a_time(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct err e;

	assert_null(audit_log_open(f.fd, &options, &e));
	assert_non_null(strstr(e.text, "another process writes to it"));
	/* A reader needs no lock. */
	assert_holds(&f, 0);
	audit_log_close(l);
	audit_log_close(log_open(&f, &options));
	folder_remove(&f);
}

static void entries_are_canonical(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	char *all;

	assert_int_equal(audit_log_append(l, json_pack("{s:s,s:i,s:{s:b,s:n},s:s}", "name",
						       "\303\251\x7f\n\"", "bytes_in", -5, "b", "y",
						       1, "x", "time", "2026-01-02T03:04:05.678Z")),
			 0);
	all = read_entries(&f);
	assert_string_equal(all, "{\"b\":{\"x\":null,\"y\":true},\"bytes_in\":-5,\"name\":"
				 "\"\\u00E9\\u007F\\n\\\"\",\"seq\":0,\"time\":"
				 "\"2026-01-02T03:04:05.678Z\"}\n");
	free(all);
	audit_log_close(l);
	assert_holds(&f, 1);
	folder_remove(&f);
}

static void what_has_no_one_text_is_refused(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	char *big = calloc(1, ENTRY_MAX);

	assert_int_equal(audit_log_append(l, json_pack("{s:f}", "n", 0.5)), -EINVAL);
	assert_int_equal(audit_log_append(l, json_pack("{s:[f]}", "n", 1.0)), -EINVAL);
	assert_int_equal(audit_log_append(l, json_pack("{s:i}", "\303\251", 1)), -EINVAL);
	assert_int_equal(audit_log_append(l, json_pack("[]")), -EINVAL);
	assert_int_equal(audit_log_append(l, NULL), -EINVAL);
	memset(big, 'x', ENTRY_MAX - 1);
	assert_int_equal(audit_log_append(l, json_pack("{s:s}", "n", big)), -EMSGSIZE);
	free(big);
	assert_int_equal(audit_log_size(l), 0);
	audit_log_close(l);
	assert_holds(&f, 0);
	folder_remove(&f);
}

static void texts_that_are_not_canonical_are_no_entries(void **state)
{
	static const char *const bad[] = {
		"{\"b\":1,\"a\":2}",
		"{\"a\": 1}",
		"{\"a\":1.0}",
		"{\"a\":1,\"a\":1}",
		"{\"a\":\"\303\251\"}",
		"{\"a\":\"\\u00e9\"}",
		"{\"a\":\"\\/\"}",
		"{\"a\":-0}",
		"[1]",
		"{\"a\":1} ",
		"",
		"{\"a\":01}",
		"{\"a\":\"\\u000A\"}",
		"{\"a\":\"\x7f\"}",
	};
	struct err e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (canonical_parse(span_of_string(bad[i]), &e))
			fail_msg("taken: %s", bad[i]);
}

/* The clock may be put back; the log's time is not. */
static void time_never_goes_backwards(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	char *all;

	assert_int_equal(
		audit_log_append(l, json_pack("{s:s}", "time", "2999-01-01T00:00:00.000Z")), 0);
	assert_int_equal(
		audit_log_append(l, json_pack("{s:s}", "time", "2001-01-01T00:00:00.000Z")), 0);
	audit_log_close(l);
	l = log_open(&f, &options);
	assert_int_equal(audit_log_append(l, json_pack("{s:s}", "time", "yesterday")), 0);
	audit_log_close(l);
	all = read_entries(&f);
	assert_string_equal(all, "{\"seq\":0,\"time\":\"2999-01-01T00:00:00.000Z\"}\n"
				 "{\"seq\":1,\"time\":\"2999-01-01T00:00:00.000Z\"}\n"
				 "{\"seq\":2,\"time\":\"2999-01-01T00:00:00.000Z\"}\n");
	free(all);
	assert_holds(&f, 3);
	folder_remove(&f);
}

static void times_are_read_as_they_are_printed(void **state)
{
	static const char *const bad[] = {"",
					  "2026-02-30T00:00:00.000Z",
					  "2026-01-01T00:00:60.000Z",
					  "2026-01-01T00:00:00Z",
					  "2026-01-01 00:00:00.000Z",
					  "2026-01-01T00:00:00.000z",
					  "+026-01-01T00:00:00.000Z",
					  "2026-01-01T00:00:00.+00Z"};
	char text[ENTRY_TIME + 1];

	for (int64_t ms = 0; ms < 253402300799999; ms += 86399999911) {
		entry_print_time(ms, text);
		assert_int_equal(entry_parse_time(text), ms);
	}
	entry_print_time(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(entry_parse_time(bad[i]), -1);
}

/* ---- After a crash ---- */

static void add_octets(const struct folder *f, const char *text)
{
	int fd = openat(f->fd, first_segment, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void a_torn_tail_is_cut_and_said(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	char *all;

	assert_int_equal(log_add(l, 0), 0);
	audit_log_close(l);
	add_octets(&f,
		   "{\"action\":\"a\",\"seq\":1,\"time\":\"2999-01-01T00:00:00.000Z\"}\n{\"act");
	audit_log_close(log_open(&f, &options));
	assert_holds(&f, 3);
	all = read_entries(&f);
	assert_non_null(
		strstr(all, "{\"action\":\"a\",\"seq\":1,\"time\":\"2999-01-01T00:00:00.000Z\"}\n"
			    "{\"action\":\"sandgate.audit.recovered\",\"cut_bytes\":5,\"kept\":1,"
			    "\"seq\":2,\"time\":\"2999-01-01T00:00:00.000Z\"}\n"));
	free(all);
	/* Once only. */
	audit_log_close(log_open(&f, &options));
	assert_holds(&f, 3);
	folder_remove(&f);
}

static void a_log_without_a_crash_says_nothing(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);

	assert_int_equal(log_add(l, 0), 0);
	audit_log_close(l);
	audit_log_close(log_open(&f, &options));
	assert_holds(&f, 1);
	folder_remove(&f);
}

static void a_sealed_entry_that_is_missing_is_fatal(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct err e;
	char *text;
	size_t n;

	for (int i = 0; i < 4; i++)
		assert_int_equal(log_add(l, i), 0);
	audit_log_close(l);
	text = folder_read(f.fd, first_segment, &n);
	folder_write(f.fd, first_segment, text, n / 2);
	assert_null(audit_log_open(f.fd, &options, &e));
	assert_string_equal(
		e.text,
		"audit log: entry 2: is missing: the log ends before it, and it was sealed; the "
		"log is left as it is, `sandgate audit verify` says more");
	free(text);
	folder_remove(&f);
}

/* ---- Segments ---- */

static void count_segments(int fd, const char *name, void *ctx)
{
	*(int *)ctx += strstr(name, ".jsonl") != NULL;
}

static int segments_of(const struct folder *f)
{
	int n = 0;

	folder_each(f->fd, count_segments, &n);
	return n;
}

static void rotation_never_starts_the_tree_again(void **state)
{
	const struct audit_log_options small = {.origin = "sandgate/test/alpha",
						.segment_bytes = 400};
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &small);

	for (int i = 0; i < 40; i++) {
		assert_int_equal(log_add(l, i), 0);
		assert_int_equal(audit_log_commit(l, false), 0);
	}
	audit_log_close(l);
	assert_true(segments_of(&f) >= 8);
	assert_holds(&f, 40);
	folder_remove(&f);
}

static void pruning_keeps_the_hashes(void **state)
{
	const struct audit_log_options small = {
		.origin = "sandgate/test/alpha", .segment_bytes = 400, .keep_segments = 3};
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &small);
	struct audit_verdict v;
	char *early;
	struct stat st;
	struct err e;

	assert_int_equal(log_add(l, 0), 0);
	assert_int_equal(audit_log_commit(l, true), 0);
	early = audit_log_checkpoint(f.fd, &e);
	assert_non_null(early);
	for (int i = 1; i < 60; i++) {
		assert_int_equal(log_add(l, i), 0);
		assert_int_equal(audit_log_commit(l, false), 0);
		assert_true(segments_of(&f) <= 3);
	}
	audit_log_close(l);
	/* What was signed before the pruning is still a prefix. */
	assert_int_equal(audit_verify(f.fd, span_of_string(early), span_of("", 0), &v, &e), 0);
	if (!v.holds)
		fail_msg("%s", v.why.text);
	assert_true(v.pruned);
	assert_true(v.first_seq > 40);
	assert_true(v.size > 60);
	assert_int_equal(fstatat(f.fd, "hashes", &st, 0), 0);
	assert_int_equal(st.st_size, v.size * 32);
	free(early);
	folder_remove(&f);
}

static void a_segment_that_was_not_pruned_is_missed(void **state)
{
	const struct audit_log_options small = {.origin = "sandgate/test/alpha",
						.segment_bytes = 400};
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &small);
	struct audit_verdict v;

	for (int i = 0; i < 12; i++) {
		assert_int_equal(log_add(l, i), 0);
		assert_int_equal(audit_log_commit(l, false), 0);
	}
	audit_log_close(l);
	assert_int_equal(unlinkat(f.fd, first_segment, 0), 0);
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 0);
	assert_non_null(strstr(v.why.text, "no more than what is before entry 0 was pruned"));
	folder_remove(&f);
}

/* ---- A disk that is full ---- */

static int enter_small_disk(const char *path)
{
	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", path, "tmpfs", 0, "size=64k") != 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Fills what is left. */
static void fill_disk(int fd)
{
	static const char block[4096];
	int file = openat(fd, "ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(file, block, sizeof(block)) == sizeof(block))
		;
	while (write(file, block, 1) == 1)
		;
	close(file);
}

static int on_a_full_disk(const char *path)
{
	struct folder f = {.fd = enter_small_disk(path)};
	struct audit_log *l;
	int taken = 0, r = 0;

	assert_true(f.fd >= 0);
	l = log_open(&f, &options);
	assert_int_equal(log_add(l, taken++), 0);
	assert_int_equal(audit_log_commit(l, true), 0);
	fill_disk(f.fd);
	/* The last page of the segment takes some more, and then no more. */
	while (r == 0 && taken < 1000) {
		r = log_add(l, taken);
		taken += r == 0;
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(audit_log_commit(l, true), -ENOSPC);
	assert_int_equal(audit_log_size(l), taken);
	assert_true(verdict_of(&f).holds);
	/* There is room again: it goes on where it was. */
	assert_int_equal(unlinkat(f.fd, "ballast", 0), 0);
	assert_int_equal(audit_log_commit(l, true), 0);
	assert_holds(&f, (uint64_t)taken);
	assert_int_equal(log_add(l, taken++), 0);
	audit_log_close(l);
	assert_holds(&f, (uint64_t)taken);
	return 0;
}

static void a_full_disk_loses_nothing(void **state)
{
	struct folder f = folder_make();
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(on_a_full_disk(f.path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_log_holds),
		cmocka_unit_test(entries_are_kept_over_openings),
		cmocka_unit_test(a_log_keeps_its_origin),
		cmocka_unit_test(a_name_that_is_no_name_is_refused),
		cmocka_unit_test(a_log_whose_key_is_gone_is_refused),
		cmocka_unit_test(a_key_that_others_may_read_is_refused),
		cmocka_unit_test(one_writer_at_a_time),
		cmocka_unit_test(entries_are_canonical),
		cmocka_unit_test(what_has_no_one_text_is_refused),
		cmocka_unit_test(texts_that_are_not_canonical_are_no_entries),
		cmocka_unit_test(time_never_goes_backwards),
		cmocka_unit_test(times_are_read_as_they_are_printed),
		cmocka_unit_test(a_torn_tail_is_cut_and_said),
		cmocka_unit_test(a_log_without_a_crash_says_nothing),
		cmocka_unit_test(a_sealed_entry_that_is_missing_is_fatal),
		cmocka_unit_test(rotation_never_starts_the_tree_again),
		cmocka_unit_test(pruning_keeps_the_hashes),
		cmocka_unit_test(a_segment_that_was_not_pruned_is_missed),
		cmocka_unit_test(a_full_disk_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
