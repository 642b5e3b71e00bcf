/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be done to the files of a log, one after the other: found, and named. */
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

enum { ENTRIES = 7 };

/* Some segments of two or three entries each. */
static const struct audit_log_options options = {.origin = "sandgate/test/alpha",
						 .segment_bytes = 250};

static void fill(const struct folder *f, int entries)
{
	struct audit_log *l = log_open(f, &options);

	for (int i = 0; i < entries; i++) {
		assert_int_equal(log_add(l, i), 0);
		assert_int_equal(audit_log_commit(l, true), 0);
	}
	audit_log_close(l);
}

static struct folder make_log(int entries)
{
	struct folder f = folder_make();

	fill(&f, entries);
	return f;
}

/* Of the folder, which does not hold; it does not open either. */
static struct audit_verdict bad_verdict(const struct folder *f)
{
	struct audit_verdict v = verdict_of(f);
	struct err e;

	assert_true(!v.holds && v.why.text[0]);
	if (audit_log_open(f->fd, &options, &e))
		fail_msg("it opens, although: %s", v.why.text);
	return v;
}

static void assert_bad(const struct folder *f, uint64_t seq, const char *why)
{
	struct audit_verdict v = bad_verdict(f);

	if (v.bad_seq != seq || !strstr(v.why.text, why))
		fail_msg("wanted entry %" PRIu64 ", \"%s\"; got entry %" PRIu64 ", \"%s\"", seq,
			 why, v.bad_seq, v.why.text);
}

/* ---- Every flip of every octet ---- */

static bool is_segment(const char *name)
{
	return strstr(name, ".jsonl") != NULL;
}

/* The number of the entry that octet `at` of a segment belongs to. */
static uint64_t entry_at(const char *name, const char *text, size_t at)
{
	uint64_t seq = strtoull(name, NULL, 10);

	for (size_t i = 0; i < at; i++)
		seq += text[i] == '\n';
	return seq;
}

static void assert_flip_named(const struct folder *f, const char *name, const char *text, size_t at,
			      int bit)
{
	/* To open it each time would take as long again. */
	struct audit_verdict v = bit == (int)at % 8 ? bad_verdict(f) : verdict_of(f);
	uint64_t seq = AUDIT_NO_SEQ;

	if (is_segment(name))
		seq = entry_at(name, text, at);
	else if (strcmp(name, "hashes") == 0)
		seq = at / 32;
	else if (strncmp(v.why.text, name, strlen(name)) != 0 &&
		 strncmp(v.why.text, "checkpoint: it is not signed", 28) != 0)
		fail_msg("%s, octet %zu: %s", name, at, v.why.text);
	if (v.holds || v.bad_seq != seq)
		fail_msg("%s, octet %zu: entry %" PRIu64 " is named, not %" PRIu64 ": %s", name, at,
			 v.bad_seq, seq, v.why.text);
}

static void flip_all_of(int fd, const char *name, void *ctx)
{
	const struct folder *f = ctx;
	size_t n;
	char *text;

	/* The private key says nothing about the log, and the lock is empty. */
	if (strcmp(name, "key") == 0 || strcmp(name, "lock") == 0)
		return;
	text = folder_read(fd, name, &n);
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			char was = text[i];

			text[i] = (char)(was ^ 1 << bit);
			folder_write(fd, name, text, n);
			text[i] = was;
			assert_flip_named(f, name, text, i, bit);
		}
	folder_write(fd, name, text, n);
	free(text);
}

static void every_flip_is_found_and_named(void **state)
{
	struct folder f = make_log(ENTRIES);

	folder_each(f.fd, flip_all_of, &f);
	assert_holds(&f, ENTRIES);
	folder_remove(&f);
}

/* ---- Every change of whole entries ---- */

struct lines {
	char *text;
	char *at[16];
	size_t n;
};

static const char first_segment[] = "00000000000000000000.jsonl";

static struct lines read_lines(int fd)
{
	struct lines l = {.text = folder_read(fd, first_segment, NULL)};

	for (char *s = strtok(l.text, "\n"); s; s = strtok(NULL, "\n"))
		l.at[l.n++] = s;
	return l;
}

static void write_lines(int fd, const struct lines *l)
{
	char all[8192] = "";

	for (size_t i = 0; i < l->n; i++) {
		strcat(all, l->at[i]);
		strcat(all, "\n");
	}
	folder_write(fd, first_segment, all, strlen(all));
}

/* One segment of five entries, changed by `change` at each place. */
static void change_each(size_t upto, void (*change)(struct lines *l, size_t i),
			uint64_t (*bad_seq)(size_t i), const char *why)
{
	const struct audit_log_options whole = {.origin = "sandgate/test/alpha"};
	struct folder f = folder_make(), g = folder_make();
	struct audit_log *l = log_open(&f, &whole);

	for (int i = 0; i < 5; i++)
		assert_int_equal(log_add(l, i), 0);
	audit_log_close(l);
	for (size_t i = 0; i < upto; i++) {
		struct lines lines;

		folder_copy(&f, &g);
		lines = read_lines(g.fd);
		assert_int_equal(lines.n, 5);
		change(&lines, i);
		write_lines(g.fd, &lines);
		free(lines.text);
		assert_bad(&g, bad_seq(i), why);
	}
	folder_remove(&f);
	folder_remove(&g);
}

static uint64_t at_it(size_t i)
{
	return i;
}

static uint64_t after_it(size_t i)
{
	return i + 1;
}

static void drop(struct lines *l, size_t i)
{
	memmove(&l->at[i], &l->at[i + 1], (l->n - i - 1) * sizeof(l->at[0]));
	l->n--;
}

static void swap(struct lines *l, size_t i)
{
	char *kept = l->at[i];

	l->at[i] = l->at[i + 1];
	l->at[i + 1] = kept;
}

static void repeat(struct lines *l, size_t i)
{
	memmove(&l->at[i + 1], &l->at[i], (l->n - i) * sizeof(l->at[0]));
	l->n++;
}

static void cut_line(struct lines *l, size_t i)
{
	l->at[i][strlen(l->at[i]) - 1] = 0;
}

static void cut_log(struct lines *l, size_t i)
{
	l->n = i;
}

static void put_in(struct lines *l, size_t i)
{
	repeat(l, i);
	l->at[i] = "{\"action\":\"sandgate.test.forged\"}";
}

static void every_dropped_entry_is_found(void **state)
{
	change_each(5, drop, at_it, "is missing");
}

static void every_swapped_entry_is_found(void **state)
{
	change_each(4, swap, at_it, "is missing: entry ");
}

static void every_repeated_entry_is_found(void **state)
{
	const struct audit_log_options whole = {.origin = "sandgate/test/alpha"};
	struct folder f = folder_make();
	struct audit_log *l;
	struct lines lines;
	struct audit_verdict v;

	change_each(4, repeat, after_it, "again");
	/* The last one's repetition stands behind what is sealed: it is found, and cut at the next start. */
	l = log_open(&f, &whole);
	for (int i = 0; i < 3; i++)
		assert_int_equal(log_add(l, i), 0);
	audit_log_close(l);
	lines = read_lines(f.fd);
	repeat(&lines, 2);
	write_lines(f.fd, &lines);
	free(lines.text);
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 3);
	assert_string_equal(v.why.text, "entry 3: is missing: entry 2 stands in its place again");
	audit_log_close(log_open(&f, &whole));
	assert_holds(&f, 4);
	folder_remove(&f);
}

static void every_truncated_entry_is_found(void **state)
{
	change_each(5, cut_line, at_it, "was changed");
}

static void every_shorter_log_is_found(void **state)
{
	change_each(5, cut_log, at_it, "is missing");
}

static void every_inserted_entry_is_found(void **state)
{
	change_each(5, put_in, at_it, "no entry any more");
}

/* ---- Files that are gone ---- */

static void every_missing_file_is_found(void **state)
{
	static const struct {
		const char *name;
		uint64_t seq;
		const char *why;
	} gone[] = {
		{first_segment, 0, "is missing"},
		{"hashes", 0, "there is no file \"hashes\""},
		{"edge", AUDIT_NO_SEQ, "edge: missing"},
		{"checkpoint", AUDIT_NO_SEQ, "checkpoint: missing"},
		{"key.pub", AUDIT_NO_SEQ, "key.pub: missing"},
	};
	struct folder f = make_log(ENTRIES), g = folder_make();

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		folder_copy(&f, &g);
		assert_int_equal(unlinkat(g.fd, gone[i].name, 0), 0);
		assert_bad(&g, gone[i].seq, gone[i].why);
	}
	folder_remove(&f);
	folder_remove(&g);
}

static void a_missing_segment_is_found_by_its_entries(void **state)
{
	struct folder f = make_log(ENTRIES);
	struct audit_verdict v;

	/* Two entries of 125 octets and more fill a segment. */
	assert_int_equal(unlinkat(f.fd, "00000000000000000003.jsonl", 0), 0);
	v = bad_verdict(&f);
	assert_int_equal(v.bad_seq, 3);
	folder_remove(&f);
}

static void a_folder_without_a_log_is_not_judged(void **state)
{
	struct folder f = folder_make();
	struct audit_verdict v;
	struct err e;

	assert_int_equal(audit_verify(f.fd, span_of(NULL, 0), span_of(NULL, 0), &v, &e), -1);
	assert_string_equal(e.text, "no audit log there");
	folder_remove(&f);
}

/* ---- What is behind the edge ---- */

static void add_line(const struct folder *f, const char *line)
{
	int fd = openat(f->fd, first_segment, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	close(fd);
}

static void what_is_not_sealed_is_counted(void **state)
{
	struct folder f = make_log(1);
	struct audit_verdict v;

	add_line(&f, "{\"action\":\"x\",\"seq\":1,\"time\":\"2999-01-01T00:00:00.000Z\"}\n");
	add_line(&f, "{\"action\":\"to");
	v = verdict_of(&f);
	assert_true(v.holds);
	assert_int_equal(v.size, 1);
	assert_int_equal(v.unsealed, 1);
	assert_int_equal(v.torn, 13);
	folder_remove(&f);
}

static void time_going_backwards_is_found(void **state)
{
	struct folder f = make_log(1);
	struct audit_verdict v;

	add_line(&f, "{\"action\":\"x\",\"seq\":1,\"time\":\"1999-01-01T00:00:00.000Z\"}\n");
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 1);
	assert_non_null(
		strstr(v.why.text, "time goes backwards: 1999-01-01T00:00:00.000Z, after 2"));
	folder_remove(&f);
}

static void a_gap_is_found(void **state)
{
	struct folder f = make_log(1);
	struct audit_verdict v;

	add_line(&f, "{\"action\":\"x\",\"seq\":4,\"time\":\"2999-01-01T00:00:00.000Z\"}\n");
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_string_equal(v.why.text, "entry 1: is missing: entry 4 stands in its place");
	folder_remove(&f);
}

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
	struct folder f = make_log(3), g = make_log(2);
	char *early = folder_read(f.fd, "checkpoint", NULL), *late, all[4096];
	struct audit_verdict v;

	fill(&f, 2);
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
	struct folder f = make_log(3), before = folder_make();
	char *anchor;
	struct audit_verdict v;

	folder_copy(&f, &before);
	fill(&f, 2);
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

/* Put back to an older state and then written on with the same key: it proves itself, and is a fork. */
static void a_forked_log_is_found_by_its_anchor(void **state)
{
	struct folder f = make_log(3), fork = folder_make();
	char *both, *anchor, *early = folder_read(f.fd, "checkpoint", NULL);
	struct audit_verdict v;

	folder_copy(&f, &fork);
	fill(&f, 2);
	fill(&fork, 4);
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
	struct folder f = make_log(3), other = make_log(3);
	char *anchor = folder_read(f.fd, "checkpoint", NULL),
	     *key = folder_read(f.fd, "key.pub", NULL);
	struct audit_verdict v;

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
	struct folder f = make_log(1), g = folder_make();
	struct audit_verdict v;
	struct err e;
	char *anchor;

	audit_log_close(log_open(&g, &beta));
	anchor = folder_read(g.fd, "checkpoint", NULL);
	assert_int_equal(audit_verify(f.fd, span_of_string(anchor), span_of("", 0), &v, &e), -1);
	assert_string_equal(e.text, "anchor: no checkpoint of sandgate/test/alpha is in it");
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
	assert_string_equal(v.why.text, "entry 7: 1011 refusals as not-in-policy are written or "
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
	const struct timespec pause = {.tv_nsec = 300000};
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
	struct folder f = make_log(1);
	struct audit_verdict v;
	uint64_t before = 0;
	pid_t pid = fork();
	struct err e;

	assert_true(pid >= 0);
	if (pid == 0)
		write_and_prune(&f);
	for (int i = 0; i < 400; i++) {
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
		cmocka_unit_test(every_flip_is_found_and_named),
		cmocka_unit_test(every_dropped_entry_is_found),
		cmocka_unit_test(every_swapped_entry_is_found),
		cmocka_unit_test(every_repeated_entry_is_found),
		cmocka_unit_test(every_truncated_entry_is_found),
		cmocka_unit_test(every_shorter_log_is_found),
		cmocka_unit_test(every_inserted_entry_is_found),
		cmocka_unit_test(every_missing_file_is_found),
		cmocka_unit_test(a_missing_segment_is_found_by_its_entries),
		cmocka_unit_test(a_folder_without_a_log_is_not_judged),
		cmocka_unit_test(what_is_not_sealed_is_counted),
		cmocka_unit_test(time_going_backwards_is_found),
		cmocka_unit_test(a_gap_is_found),
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
