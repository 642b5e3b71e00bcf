/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "audit/refusals.h"

static struct name name_number(unsigned i)
{
	struct name n = {0};
	char text[32];
	int len = snprintf(text, sizeof(text), "host%u.example", i);

	assert_int_equal(name_parse_ascii(text, (size_t)len, &n), NAME_OK);
	return n;
}

static void sum(void *ctx, const struct refusal *what, uint64_t count)
{
	*(uint64_t *)ctx += count;
}

static void totals_stay_exact_beyond_the_table(void **state)
{
	struct refusals *r = refusals_new();
	uint64_t in_groups = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct name n = name_number(i % 1000);
		struct refusal what = {
			.proto = RECORD_DNS, .reason = REASON_NOT_IN_POLICY, .name = &n};

		refusals_note(r, &what);
	}
	refusals_each(r, sum, &in_groups);
	assert_int_equal(refusals_total(r), 20000);
	assert_int_equal(in_groups + refusals_other(r), 20000);
	refusals_free(r);
}

struct seen {
	unsigned n;
	uint64_t count[16];
	uint16_t port[16];
	char permission[16][16];
};

static void collect(void *ctx, const struct refusal *what, uint64_t count)
{
	struct seen *s = ctx;

	s->port[s->n] = what->port;
	snprintf(s->permission[s->n], sizeof(s->permission[0]), "%s",
		 what->permission ? what->permission : "-");
	s->count[s->n++] = count;
}

static void refusals_are_grouped_by_target_port_proto_and_reason(void **state)
{
	struct refusals *r = refusals_new();
	struct name a = name_number(1), b = name_number(2);
	struct addr x = {{1}}, y = {{2}};
	const struct refusal list[] = {
		{RECORD_TCP, REASON_NOT_IN_POLICY, &a, &x, 443, NULL},
		/* A name is one, whatever the address. */
		{RECORD_TCP, REASON_NOT_IN_POLICY, &a, &y, 443, NULL},
		{RECORD_TCP, REASON_NOT_IN_POLICY, &a, &x, 80, NULL},
		{RECORD_TCP, REASON_NOT_IN_POLICY, &b, &x, 443, NULL},
		{RECORD_TCP, REASON_SNI_MISMATCH, &b, &x, 443, NULL},
		{RECORD_UDP, REASON_SNI_MISMATCH, &b, &x, 443, NULL},
		{RECORD_TCP, REASON_NOT_IN_POLICY, NULL, &x, 443, NULL},
		{RECORD_TCP, REASON_NOT_IN_POLICY, NULL, &y, 443, NULL},
		{RECORD_HTTP, REASON_OPERATION_NOT_ALLOWED, &a, &x, 443, "github:push"},
		{RECORD_HTTP, REASON_OPERATION_NOT_ALLOWED, &a, &y, 443, "github:push"},
		{RECORD_HTTP, REASON_OPERATION_NOT_ALLOWED, &a, &x, 443, "gitlab:push"},
		{RECORD_HTTP, REASON_OPERATION_NOT_ALLOWED, &a, &x, 443, NULL},
	};
	struct seen s = {0};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		refusals_note(r, &list[i]);
	refusals_each(r, collect, &s);
	assert_int_equal(s.n, 10);
	assert_int_equal(s.count[0], 2);
	assert_string_equal(s.permission[0], "-");
	assert_int_equal(s.port[1], 80);
	assert_int_equal(s.count[7], 2);
	assert_string_equal(s.permission[7], "github:push");
	assert_string_equal(s.permission[8], "gitlab:push");
	assert_string_equal(s.permission[9], "-");
	refusals_free(r);
}

/* Whoever wrote it may have died in the middle, or be nobody to trust. */
static void what_is_no_group_is_dropped(void **state)
{
	struct refusals *r = refusals_new(), *copy;
	struct name a = name_number(1);
	uint64_t in_groups = 0;
	char *text;

	for (int i = 0; i < 3; i++)
		refusals_note(r, &(struct refusal){.proto = RECORD_HTTP,
						   .reason = REASON_OPERATION_NOT_ALLOWED,
						   .name = &a,
						   .permission = "github:push"});
	refusals_note(r, &(struct refusal){.proto = RECORD_TCP, .name = &a, .permission = NULL});
	text = memmem(r, 1 << 16, "github:push", 12);
	assert_non_null(text);
	text[6] = '\033';
	copy = refusals_copy(r);
	refusals_each(copy, sum, &in_groups);
	assert_int_equal(in_groups, 1);
	assert_int_equal(refusals_other(copy), 3);
	memset(text, 'x', RECORD_PERMISSION_MAX);
	refusals_mend(r);
	assert_int_equal(refusals_other(r), 3);
	assert_int_equal(refusals_total(r), 4);
	refusals_free(copy);
	refusals_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_stay_exact_beyond_the_table),
		cmocka_unit_test(refusals_are_grouped_by_target_port_proto_and_reason),
		cmocka_unit_test(what_is_no_group_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
