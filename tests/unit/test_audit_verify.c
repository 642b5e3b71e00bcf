/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be done to the files of a log, one after the other: found, and named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "audit_folder.h"

enum { ENTRIES = 7 };

/* Some segments of two or three entries each. */
static const struct audit_log_options options = {.origin = "sandgate/test/alpha",
						 .segment_bytes = 250};

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
	struct folder f = log_make(&options, ENTRIES);

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
	/*
	 * The last one's repetition stands behind what is sealed: it is found, and cut at the next
	 * start.
	 */
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
	struct folder f = log_make(&options, ENTRIES), g = folder_make();

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
	struct folder f = log_make(&options, ENTRIES);
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
	struct folder f = log_make(&options, 1);
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
	struct folder f = log_make(&options, 1);
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
	struct folder f = log_make(&options, 1);
	struct audit_verdict v;

	add_line(&f, "{\"action\":\"x\",\"seq\":4,\"time\":\"2999-01-01T00:00:00.000Z\"}\n");
	v = verdict_of(&f);
	assert_false(v.holds);
	assert_string_equal(v.why.text, "entry 1: is missing: entry 4 stands in its place");
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
