/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between gate and broker: what is printed parses to the same, and nothing else parses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/gate_message.h"

static struct gate_message example(const char *name)
{
	struct gate_message m = {
		.kind = GATE_DIAL,
		.flags = GATE_TLS | GATE_BY_PROXY,
		.number = 70000,
		.error = 111,
		.connection = 1u << 31 | 5,
		.out = UINT64_MAX - 1,
		.in = 1ull << 33,
	};

	m.dst.port = 443;
	assert_true(addr_parse("2001:db8::1", 11, &m.dst.addr));
	if (name[0])
		assert_int_equal(name_parse_ascii(name, strlen(name), &m.name), NAME_OK);
	return m;
}

static struct buf print(const struct gate_message *m)
{
	static uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	gate_message_print(m, &b);
	assert_false(b.full);
	return b;
}

static void what_is_printed_parses(void **state)
{
	static const char *const names[] = {"", "a.example.net"};

	for (size_t i = 0; i < 2; i++) {
		struct gate_message m = example(names[i]), again;
		struct buf b = print(&m);

		assert_true(gate_message_parse(buf_span(&b), &again));
		assert_int_equal(again.kind, m.kind);
		assert_int_equal(again.flags, m.flags);
		assert_int_equal(again.number, m.number);
		assert_int_equal(again.error, m.error);
		assert_int_equal(again.connection, m.connection);
		assert_true(again.out == m.out);
		assert_true(again.in == m.in);
		assert_int_equal(again.dst.port, 443);
		assert_true(addr_equal(&again.dst.addr, &m.dst.addr));
		assert_true(name_equal(&again.name, &m.name));
	}
}

static void every_other_length_is_refused(void **state)
{
	struct gate_message m = example("a.example.net"), again;
	struct buf b = print(&m);

	for (size_t n = 0; n < b.n; n++)
		assert_false(gate_message_parse(span_of(b.p, n), &again));
	b.p[b.n] = 'x';
	assert_false(gate_message_parse(span_of(b.p, b.n + 1), &again));
}

static void a_field_out_of_bounds_is_refused(void **state)
{
	const struct {
		size_t at;
		uint8_t value;
	} bad[] = {
		{0, 0}, {0, GATE_KINDS},	  {1, 1 << 7},
		{8, 1}, {GATE_MESSAGE_HEAD, 'A'}, {GATE_MESSAGE_HEAD, 0},
	};
	struct gate_message m = example("a.example.net"), again;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b = print(&m);

		b.p[bad[i].at] = bad[i].value;
		assert_false(gate_message_parse(buf_span(&b), &again));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_parses),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(a_field_out_of_bounds_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
