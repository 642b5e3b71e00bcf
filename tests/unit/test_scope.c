/* SPDX-License-Identifier: Apache-2.0 */
/* What a token of a registry is asked for, and how forms are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "broker/form.h"
#include "broker/scope.h"

static bool pull(const char *form)
{
	return scope_is_within(span_of_string(form), SCOPE_PULL);
}

static bool push(const char *form)
{
	return scope_is_within(span_of_string(form), SCOPE_PUSH);
}

static void test_pull(void **state)
{
	static const char *const within[] = {
		"",
		"service=registry.docker.io",
		"scope=",
		"scope=repository:library/alpine:pull",
		"scope=repository:a:pull,pull",
		"scope=repository:host:5000/a/b:pull",
		"scope=repository(plugin):a/b:pull",
		"scope=repository%3Aa%2Fb%3Apull&service=x&client_id=docker&account=me",
		"scope=repository:a:pull&scope=repository:b:pull",
		"scope=repository:a:pull%20repository:b:pull",
		"scope=repository:a:pull+repository:b:pull",
		"&&scope=repository:a:pull&",
		"offline_token=false",
		"grant_type=refresh_token&refresh_token=x&access_type=online&scope=repository:a:pull",
		"grant_type=password&username=u&password=p%26%3B",
	};

	for (size_t i = 0; i < sg_array_len(within); i++) {
		assert_true(pull(within[i]));
		assert_true(push(within[i]));
	}
}

static void test_push(void **state)
{
	static const char *const more[] = {
		"scope=repository:a:push",
		"scope=repository:a:pull,push",
		"scope=repository:a:push,pull",
		"scope=repository:a:delete",
		"scope=repository:a:*",
		"scope=repository:a:pull&scope=repository:a:push",
		"scope=repository:a:pull%20repository:b:push",
		"scope=repository:a:pull+repository:b:push",
		"scope=repository:a%3apush",
		"s%63ope=repository:a:push",
		"offline_token=true",
		"offline_token=1",
		"access_type=offline",
	};

	for (size_t i = 0; i < sg_array_len(more); i++) {
		assert_false(pull(more[i]));
		assert_true(push(more[i]));
	}
}

static void test_neither(void **state)
{
	static const char *const neither[] = {
		"scope=registry:catalog:*",
		"scope=repository:a",
		"scope=repository:a:",
		"scope=repository::pull",
		"scope=repository:pull",
		"scope=:a:pull",
		"scope=repository:a:pull,",
		"scope=repository:a:,pull",
		"scope=repository:a:PULL",
		"scope=Repository:a:pull",
		"scope=repository:a:pull%00",
		"scope=repository:a%09b:pull",
		"scope=repository:a:pull%0arepository:a:push",
		"scope=repository:a:pull%2520repository:a:push",
		"scope=repository:a:pull;scope=repository:a:push",
		"Scope=repository:a:push",
		"scope[]=repository:a:push",
		"scope =repository:a:pull",
		"scope=%zz",
		"scope=%4",
		"other=1",
		"service=a&service=b",
		"grant_type=authorization_code",
		"grant_type=password&grant_type=refresh_token",
		"offline_token=false&offline_token=true",
	};

	for (size_t i = 0; i < sg_array_len(neither); i++) {
		assert_false(pull(neither[i]));
		assert_false(push(neither[i]));
	}
}

static void test_form_bounds(void **state)
{
	char text[FORM_KEY_MAX + FORM_VALUE_MAX + 8];
	struct span rest;
	struct form_pair pair;

	memset(text, 'v', sizeof(text));
	memset(text, 'k', FORM_KEY_MAX);
	text[FORM_KEY_MAX] = '=';
	rest = span_of(text, FORM_KEY_MAX + 1 + FORM_VALUE_MAX);
	assert_int_equal(form_next(&rest, &pair), FORM_PAIR);
	assert_int_equal(strlen(pair.key), FORM_KEY_MAX);
	assert_int_equal(strlen(pair.value), FORM_VALUE_MAX);
	assert_int_equal(form_next(&rest, &pair), FORM_END);
	rest = span_of(text, FORM_KEY_MAX + 2 + FORM_VALUE_MAX);
	assert_int_equal(form_next(&rest, &pair), FORM_UNCLEAR);
	rest = span_of("k=v", 3);
	assert_int_equal(form_next(&rest, &pair), FORM_PAIR);
	assert_string_equal(pair.value, "v");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pull),
		cmocka_unit_test(test_push),
		cmocka_unit_test(test_neither),
		cmocka_unit_test(test_form_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
