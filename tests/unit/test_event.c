/* SPDX-License-Identifier: Apache-2.0 */
/* Records: which are taken for one, and what an event says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "audit/event.h"

static struct record good(void)
{
	struct record r = {
		.kind = RECORD_DENY,
		.proto = RECORD_HTTP,
		.reason = REASON_PATH_NOT_ALLOWED,
		.time_ms = INT64_C(1796040000123),
		.generation = 3,
		.port = 80,
		.has_name = true,
		.has_addr = true,
		.method = "GET",
		.path = "/a\"b\\c",
		.rule = "api.example.com",
	};

	assert_int_equal(name_parse_ascii("api.example.com", 15, &r.name), NAME_OK);
	assert_true(addr_parse("93.184.0.1", 10, &r.addr));
	return r;
}

static json_t *printed(const struct record *r)
{
	struct event_printer *p = event_printer_new("box", NULL);
	char text[EVENT_MAX];
	struct buf b = buf_of(text, sizeof(text));
	json_t *o;

	buf_put_u8(&b, '{');
	event_print(p, r, &b);
	buf_put_u8(&b, '}');
	assert_false(b.full);
	o = json_loadb(text, b.n, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(o);
	event_printer_free(p);
	return o;
}

static void an_event_has_the_documented_keys(void **state)
{
	struct record r = good();
	json_t *o = printed(&r), *wanted;

	assert_true(record_valid(&r));
	wanted = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:i}",
			   "time", "2026-11-30T12:00:00.123Z", "sandbox", "box", "action",
			   "sandgate.egress.deny", "verdict", "deny", "proto", "http", "name",
			   "api.example.com", "address", "93.184.0.1", "port", 80, "method", "GET",
			   "path", "/a\"b\\c", "rule", "api.example.com", "reason",
			   "path-not-allowed", "generation", 3);
	json_object_del(o, "remedy");
	assert_true(json_equal(o, wanted));
	json_decref(o);
	json_decref(wanted);
}

static void the_end_of_a_flow_has_what_passed(void **state)
{
	struct record r = {.kind = RECORD_END,
			   .proto = RECORD_TCP,
			   .bytes_out = 1,
			   .bytes_in = INT64_MAX,
			   .duration_ms = 2};
	json_t *o = printed(&r);

	assert_string_equal(json_string_value(json_object_get(o, "action")), "sandgate.egress.end");
	assert_string_equal(json_string_value(json_object_get(o, "verdict")), "allow");
	assert_int_equal(json_integer_value(json_object_get(o, "bytes_in")), INT64_MAX);
	assert_null(json_object_get(o, "remedy"));
	assert_null(json_object_get(o, "name"));
	json_decref(o);
}

/* Golden: what both logs have of a request that was sent with a credential, octet by octet. */
static void a_request_is_one_line(void **state)
{
	struct event_printer *p = event_printer_new("box", NULL);
	struct record r = good();
	char text[EVENT_MAX];
	struct buf b = buf_of(text, sizeof(text) - 1);

	r.kind = RECORD_ALLOW;
	r.reason = REASON_NONE;
	r.port = 443;
	r.status = 200;
	r.bytes_out = 12;
	r.bytes_in = 3456;
	r.duration_ms = 78;
	record_put_text(r.path, sizeof(r.path), span_of_string("/v1/messages"));
	record_put_text(r.permission, sizeof(r.permission), span_of_string("model:anthropic"));
	record_put_text(r.credential, sizeof(r.credential),
			span_of_string("x-api-key at api.example.com"));
	assert_true(record_valid(&r));
	event_print(p, &r, &b);
	text[b.n] = 0;
	assert_string_equal(
		text,
		"\"time\":\"2026-11-30T12:00:00.123Z\",\"sandbox\":\"box\","
		"\"action\":\"sandgate.egress.allow\",\"verdict\":\"allow\",\"proto\":\"http\","
		"\"name\":\"api.example.com\",\"address\":\"93.184.0.1\",\"port\":443,"
		"\"method\":\"GET\",\"path\":\"/v1/messages\",\"status\":200,"
		"\"rule\":\"api.example.com\",\"permission\":\"model:anthropic\","
		"\"credential\":\"x-api-key at api.example.com\",\"generation\":3,"
		"\"bytes_out\":12,\"bytes_in\":3456,\"duration_ms\":78");
	event_printer_free(p);
}

/* What the broker offers for a refused request is in the remedy, when there is such a thing. */
static void a_refused_request_names_what_is_for_it(void **state)
{
	static const struct {
		const char *permission, *remedy;
	} rows[] = {
		{"github:push", "sandgate net allow box github:push"},
		{"no-such-thing", "sandgate net allow box site:api.example.com"},
	};

	for (size_t i = 0; i < 2; i++) {
		struct event_printer *p = event_printer_new("box", catalogue_builtin());
		struct record r = good();
		char text[EVENT_MAX];
		struct buf b = buf_of(text, sizeof(text) - 1);

		r.reason = i ? REASON_NOT_IN_POLICY : REASON_OPERATION_NOT_ALLOWED;
		record_put_text(r.permission, sizeof(r.permission),
				span_of_string(rows[i].permission));
		event_print(p, &r, &b);
		text[b.n] = 0;
		assert_non_null(strstr(text, rows[i].remedy));
		event_printer_free(p);
	}
}

static void the_longest_of_all_fields_fits(void **state)
{
	struct record r = good();

	memset(r.path, '"', sizeof(r.path) - 1);
	memset(r.rule, '\\', sizeof(r.rule) - 1);
	memset(r.method, '"', sizeof(r.method) - 1);
	memset(r.permission, '"', sizeof(r.permission) - 1);
	memset(r.credential, '\\', sizeof(r.credential) - 1);
	r.generation = r.bytes_out = r.bytes_in = r.duration_ms = INT64_MAX;
	r.status = 999;
	assert_true(record_valid(&r));
	json_decref(printed(&r));
}

static void remedies_are_those_of_their_own_target(void **state)
{
	struct event_printer *p = event_printer_new("box", NULL);
	const char *const names[] = {"a.example.com", "b.example.com", "a.example.com"};

	for (size_t i = 0; i < 600; i++) {
		const char *name = names[i % 3];
		char text[EVENT_MAX];
		struct buf b = buf_of(text, sizeof(text) - 1);
		struct record r = {.kind = RECORD_DENY,
				   .proto = RECORD_TCP,
				   .reason = REASON_NOT_IN_POLICY,
				   .has_name = true,
				   .port = (uint16_t)(1000 + i % 7)};
		char wanted[64];

		assert_int_equal(name_parse_ascii(name, strlen(name), &r.name), NAME_OK);
		event_print(p, &r, &b);
		text[b.n] = 0;
		snprintf(wanted, sizeof(wanted), "%s:%u\"", name, r.port);
		assert_non_null(strstr(text, wanted));
	}
	event_printer_free(p);
}

static void what_is_no_record_is_refused(void **state)
{
	struct record r;
	uint8_t two = 2;

#define refuses(change)                         \
	do {                                    \
		r = good();                     \
		change;                         \
		assert_false(record_valid(&r)); \
	} while (0)
	refuses(r.kind = RECORD_KINDS);
	refuses(r.proto = RECORD_PROTOS);
	refuses(r.reason = REASONS);
	refuses(r.reason = REASON_NONE);
	refuses(r.kind = RECORD_ALLOW);
	refuses(r.time_ms = -1);
	refuses(r.time_ms = INT64_MAX);
	refuses(r.generation = UINT64_MAX);
	refuses(r.bytes_in = UINT64_MAX);
	refuses(r.status = 1000);
	refuses(memcpy(&r.has_name, &two, 1));
	refuses(memcpy(&r.has_addr, &two, 1));
	refuses(r.name.n = 254);
	refuses(r.name.n = 3);
	refuses(r.name.s[0] = 'A');
	refuses(r.name.s[1] = '\33');
	refuses(r.method[1] = '\n');
	refuses(r.path[1] = '\33');
	refuses(r.path[1] = (char)0xc2);
	refuses(memset(r.path, 'a', sizeof(r.path)));
	refuses(memset(r.rule, 'a', sizeof(r.rule)));
	refuses(memset(r.permission, 'a', sizeof(r.permission)));
#undef refuses
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_has_the_documented_keys),
		cmocka_unit_test(the_end_of_a_flow_has_what_passed),
		cmocka_unit_test(a_request_is_one_line),
		cmocka_unit_test(a_refused_request_names_what_is_for_it),
		cmocka_unit_test(the_longest_of_all_fields_fits),
		cmocka_unit_test(remedies_are_those_of_their_own_target),
		cmocka_unit_test(what_is_no_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
