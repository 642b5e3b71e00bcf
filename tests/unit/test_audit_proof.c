/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "audit/proof.h"
#include "audit_folder.h"

static const struct audit_log_options options = {.origin = "sandgate/test/alpha"};

static struct folder make_log(int entries)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);

	for (int i = 0; i < entries; i++)
		assert_int_equal(log_add(l, i), 0);
	audit_log_close(l);
	return f;
}

static int check(const char *proof, const char *line, const char *key, struct err *e)
{
	struct proof_said said;
	int r = proof_check(span_of_string(proof), span_of_string(line), span_of_string(key), &said,
			    e);

	proof_said_free(&said);
	return r;
}

static void every_entry_is_proven_at_every_size(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	char *key = folder_read(f.fd, "key.pub", NULL);

	for (int size = 1; size <= 20; size++) {
		assert_int_equal(log_add(l, size), 0);
		assert_int_equal(audit_log_commit(l, true), 0);
		for (int i = 0; i < size; i++) {
			struct proof_said said;
			struct err e;
			char *text = proof_make(f.fd, (uint64_t)i, &e);

			assert_non_null(text);
			assert_int_equal(proof_check(span_of_string(text), span_of("", 0),
						     span_of_string(key), &said, &e),
					 0);
			assert_int_equal(said.entry.seq, i);
			assert_int_equal(said.under.size, size);
			assert_string_equal(said.under.origin, "sandgate/test/alpha");
			proof_said_free(&said);
			free(text);
		}
	}
	audit_log_close(l);
	free(key);
	folder_remove(&f);
}

/* No octet of a proof can be changed: what it says is signed, or leads to what is. */
static void every_flip_of_a_proof_is_found(void **state)
{
	struct folder f = make_log(11);
	struct err e;
	char *key = folder_read(f.fd, "key.pub", NULL), *text = proof_make(f.fd, 6, &e);

	assert_int_equal(check(text, "", key, &e), 0);
	for (size_t i = 0; text[i]; i++)
		for (int bit = 0; bit < 8; bit++) {
			text[i] = (char)(text[i] ^ 1 << bit);
			/* A NUL would end the string that is checked: the rest is then cut off. */
			if (check(text, "", key, &e) == 0)
				fail_msg("octet %zu, bit %d: not found", i, bit);
			text[i] = (char)(text[i] ^ 1 << bit);
		}
	free(text);
	free(key);
	folder_remove(&f);
}

static void another_line_is_not_proven(void **state)
{
	struct folder f = make_log(4);
	struct err e;
	char *key = folder_read(f.fd, "key.pub", NULL), *text = proof_make(f.fd, 2, &e);

	assert_int_equal(check(text, "{\"seq\":2}", key, &e), -EBADMSG);
	assert_string_equal(e.text, "this entry is not number 2 of the log that was signed");
	free(text);
	free(key);
	folder_remove(&f);
}

static void another_key_does_not_do(void **state)
{
	struct folder f = make_log(4), g = make_log(4);
	struct err e;
	char *key = folder_read(g.fd, "key.pub", NULL), *text = proof_make(f.fd, 2, &e);

	assert_int_equal(check(text, "", key, &e), -EBADMSG);
	assert_string_equal(e.text, "checkpoint: it is not signed with this key");
	assert_int_equal(check(text, "", "rubbish", &e), -EINVAL);
	free(text);
	free(key);
	folder_remove(&f);
	folder_remove(&g);
}

static void what_is_not_signed_is_not_proven(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct err e;

	assert_int_equal(log_add(l, 0), 0);
	assert_int_equal(audit_log_commit(l, true), 0);
	assert_int_equal(log_add(l, 1), 0);
	assert_int_equal(audit_log_commit(l, false), 0);
	assert_null(proof_make(f.fd, 1, &e));
	assert_string_equal(e.text,
			    "entry 1: is not signed yet, or is not there: the latest checkpoint "
			    "has 1 entries, from 0 on");
	audit_log_close(l);
	folder_remove(&f);
}

/* The hashes outlive the entries: with the line from elsewhere a pruned entry is still proven. */
static void a_pruned_entry_is_proven_with_its_line(void **state)
{
	const struct audit_log_options small = {
		.origin = "sandgate/test/alpha", .segment_bytes = 300, .keep_segments = 2};
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &small);
	struct err e;
	char *line, *key, *text;

	assert_int_equal(log_add(l, 0), 0);
	assert_int_equal(audit_log_commit(l, true), 0);
	line = folder_read(f.fd, "00000000000000000000.jsonl", NULL);
	*strchr(line, '\n') = 0;
	for (int i = 1; i < 30; i++) {
		assert_int_equal(log_add(l, i), 0);
		assert_int_equal(audit_log_commit(l, true), 0);
	}
	audit_log_close(l);
	assert_int_not_equal(faccessat(f.fd, "00000000000000000000.jsonl", F_OK, 0), 0);
	key = folder_read(f.fd, "key.pub", NULL);
	text = proof_make(f.fd, 0, &e);
	assert_non_null(text);
	assert_int_equal(check(text, "", key, &e), -EINVAL);
	assert_int_equal(check(text, line, key, &e), 0);
	free(text);
	free(key);
	free(line);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_is_proven_at_every_size),
		cmocka_unit_test(every_flip_of_a_proof_is_found),
		cmocka_unit_test(another_line_is_not_proven),
		cmocka_unit_test(another_key_does_not_do),
		cmocka_unit_test(what_is_not_signed_is_not_proven),
		cmocka_unit_test(a_pruned_entry_is_proven_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
