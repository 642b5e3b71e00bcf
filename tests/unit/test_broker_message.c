/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/message.h"

static bool add(struct message *m, const char *name, const char *value)
{
	return message_add(m, span_of_string(name), span_of_string(value));
}

static void fields_are_found_in_their_order(void **state)
{
	struct message m;
	const struct field *f;

	message_init(&m);
	assert_true(add(&m, "a", "1") && add(&m, "b", "2") && add(&m, "a", "3"));
	f = message_find(&m, "a", NULL);
	assert_true(f && span_equal(f->value, span_of_string("1")));
	f = message_find(&m, "a", f);
	assert_true(f && span_equal(f->value, span_of_string("3")));
	assert_null(message_find(&m, "a", f));
	assert_null(message_find(&m, "aa", NULL));
	message_free(&m);
}

static void fields_are_removed(void **state)
{
	struct message m;

	message_init(&m);
	assert_true(add(&m, "a", "1") && add(&m, "b", "2") && add(&m, "a", "3"));
	assert_int_equal(message_remove(&m, "a"), 2);
	assert_int_equal(message_remove(&m, "a"), 0);
	assert_int_equal(m.n_fields, 1);
	assert_true(span_equal(m.fields[0].value, span_of_string("2")));
	message_free(&m);
}

/* Whoever adds it, nothing that a codec would write as two lines gets in. */
static void what_is_not_well_formed_is_not_added(void **state)
{
	static const char *const rows[][2] = {
		{"", "x"},     {"A", "x"},     {"a b", "x"},  {"a:", "x"},    {"a\r", "x"},
		{"\x80", "x"}, {"a", "x\r\n"}, {"a", "x\ny"}, {"a", "\x01"},  {"a", "\x7f"},
		{"a", " x"},   {"a", "x\t"},   {"a", "\n"},   {":path", "x"},
	};
	struct message m;

	message_init(&m);
	for (size_t i = 0; i < sg_array_len(rows); i++)
		assert_false(add(&m, rows[i][0], rows[i][1]));
	assert_false(message_add(&m, span_of_string("a"), span_of("x\0y", 3)));
	assert_true(add(&m, "a", "") && add(&m, "a-1!", "x \xc3\xbc\ty"));
	assert_int_equal(m.n_fields, 2);
	message_free(&m);
}

static void a_message_is_bounded(void **state)
{
	static char large[MESSAGE_HEAD_MAX];
	struct message m;
	struct span s;

	message_init(&m);
	for (size_t i = 0; i < MESSAGE_FIELDS_MAX; i++)
		assert_true(add(&m, "a", "b"));
	assert_false(add(&m, "a", "b"));
	message_free(&m);
	memset(large, 'x', sizeof(large) - 1);
	assert_true(message_store(&m, span_of(large, sizeof(large)), &s));
	assert_false(message_store(&m, span_of(large, 1), &s));
	assert_false(add(&m, "a", "b"));
	assert_int_equal(m.n_fields, 0);
	message_free(&m);
	assert_false(message_add(&m, span_of_string("ab"), span_of(large, sizeof(large) - 1)));
	message_free(&m);
}

static void a_copy_is_whole_and_its_own(void **state)
{
	struct message m, copy;

	message_init(&m);
	assert_true(message_store(&m, span_of_string("GET"), &m.method));
	assert_true(message_store(&m, span_of_string("/a"), &m.path));
	assert_true(message_store(&m, span_of_string("a.example"), &m.authority));
	m.scheme = span_of_string("https");
	m.protocol = span_of_string("websocket");
	m.body = MESSAGE_BODY_LENGTH;
	m.length = 7;
	m.port = 443;
	m.expects_continue = true;
	assert_true(add(&m, "a", "1"));
	m.fields[0].sensitive = true;
	assert_true(message_copy(&m, &copy));
	memset(m.memory, 'x', m.memory_n);
	message_free(&m);
	assert_true(span_equal(copy.method, span_of_string("GET")));
	assert_true(span_equal(copy.path, span_of_string("/a")));
	assert_true(span_equal(copy.authority, span_of_string("a.example")));
	assert_true(span_equal(copy.scheme, span_of_string("https")));
	assert_true(span_equal(copy.protocol, span_of_string("websocket")));
	assert_true(copy.body == MESSAGE_BODY_LENGTH && copy.length == 7 && copy.port == 443);
	assert_true(copy.expects_continue && copy.n_fields == 1 && copy.fields[0].sensitive);
	message_free(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_in_their_order),
		cmocka_unit_test(fields_are_removed),
		cmocka_unit_test(what_is_not_well_formed_is_not_added),
		cmocka_unit_test(a_message_is_bounded),
		cmocka_unit_test(a_copy_is_whole_and_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
