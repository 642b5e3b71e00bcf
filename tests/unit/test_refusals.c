/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "gate/refusals.h"

static struct name name_number(unsigned i)
{
	struct name n;
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
	uint64_t count[8];
	uint16_t port[8];
};

static void collect(void *ctx, const struct refusal *what, uint64_t count)
{
	struct seen *s = ctx;

	s->port[s->n] = what->port;
	s->count[s->n++] = count;
}

static void refusals_are_grouped_by_target_port_proto_and_reason(void **state)
{
	struct refusals *r = refusals_new();
	struct name a = name_number(1), b = name_number(2);
	struct addr x = {{1}}, y = {{2}};
	const struct refusal list[] = {
		{RECORD_TCP, REASON_NOT_IN_POLICY, &a, &x, 443},
		/* A name is one, whatever the address. */
		{RECORD_TCP, REASON_NOT_IN_POLICY, &a, &y, 443},
		{RECORD_TCP, REASON_NOT_IN_POLICY, &a, &x, 80},
		{RECORD_TCP, REASON_NOT_IN_POLICY, &b, &x, 443},
		{RECORD_TCP, REASON_SNI_MISMATCH, &b, &x, 443},
		{RECORD_UDP, REASON_SNI_MISMATCH, &b, &x, 443},
		{RECORD_TCP, REASON_NOT_IN_POLICY, NULL, &x, 443},
		{RECORD_TCP, REASON_NOT_IN_POLICY, NULL, &y, 443},
	};
	struct seen s = {0};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		refusals_note(r, &list[i]);
	refusals_each(r, collect, &s);
	assert_int_equal(s.n, 7);
	assert_int_equal(s.count[0], 2);
	assert_int_equal(s.port[1], 80);
	refusals_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_stay_exact_beyond_the_table),
		cmocka_unit_test(refusals_are_grouped_by_target_port_proto_and_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
