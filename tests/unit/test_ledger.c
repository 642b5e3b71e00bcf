/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: no more entries than its rate, and no refusal that is not accounted for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "audit/ledger.h"
#include "audit/rate.h"
#include "audit/tally.h"

struct world {
	struct event_printer *printer;
	struct ledger *ledger;
	struct tally tally;
	json_t *entries;
	int refuse; /* -errno of the log, or 0 */
};

static int append(void *ctx, json_t *entry)
{
	struct world *w = ctx;
	struct err e;

	if (w->refuse) {
		json_decref(entry);
		return w->refuse;
	}
	assert_int_equal(tally_add(&w->tally, entry, &e), 0);
	json_array_append_new(w->entries, entry);
	return 0;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->entries = json_array();
	w->printer = event_printer_new("box", NULL);
	w->ledger = ledger_new("box", w->printer, append, w);
	tally_init(&w->tally, "sandgate/host/box", false);
	*state = w;
	return w->ledger ? 0 : -1;
}

static int end(void **state)
{
	struct world *w = *state;

	ledger_free(w->ledger);
	event_printer_free(w->printer);
	tally_free(&w->tally);
	json_decref(w->entries);
	free(w);
	return 0;
}

static struct record refusal(const char *name, enum reason reason)
{
	struct record r = {
		.kind = RECORD_DENY, .proto = RECORD_TCP, .reason = (uint8_t)reason, .port = 443};

	r.has_name = true;
	assert_int_equal(name_parse_ascii(name, strlen(name), &r.name), NAME_OK);
	assert_true(record_valid(&r));
	return r;
}

static void take(struct world *w, const struct record *r, mono_t now)
{
	ledger_take(w->ledger, account_of(r, true), r, now);
}

static const json_t *entry(const struct world *w, size_t i)
{
	return json_array_get(w->entries, i);
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* What verify checks: an entry with totals, against the entries before it. */
static void totals_hold(struct world *w)
{
	json_t *last = json_pack("{s:o}", "totals", ledger_totals(w->ledger));
	struct err e;

	assert_int_equal(tally_add(&w->tally, last, &e), 0);
	json_decref(last);
}

static json_int_t total(const struct world *w, const char *reason)
{
	json_t *totals = ledger_totals(w->ledger);
	json_int_t n = number(totals, reason);

	json_decref(totals);
	return n;
}

static void twenty_a_minute_in_any_minute(void **state)
{
	struct rate r = {0};
	mono_t now = {INT64_C(1000000000000)};
	unsigned n = 0;

	/* Every 100 ms for ten minutes: never more than twenty in the minute before. */
	for (unsigned i = 0; i < 6000; i++, now = mono_add_ms(now, 100)) {
		if (!rate_allows(&r, LEDGER_REFUSED, now))
			continue;
		rate_note(&r, LEDGER_REFUSED, now);
		n++;
	}
	assert_int_equal(n, 10 * LEDGER_REFUSED);
}

static void the_rest_is_counted_by_reason_and_name(void **state)
{
	struct world *w = *state;
	struct record a = refusal("a.example.com", REASON_NOT_IN_POLICY);
	struct record b = refusal("b.example.com", REASON_NOT_IN_POLICY);
	mono_t now = mono_now();
	const json_t *last;

	for (size_t i = 0; i < LEDGER_REFUSED; i++)
		take(w, &a, now);
	assert_int_equal(json_array_size(w->entries), LEDGER_REFUSED);
	for (size_t i = 0; i < 1000; i++)
		take(w, i % 4 ? &a : &b, now);
	assert_int_equal(json_array_size(w->entries), LEDGER_REFUSED);
	take(w, &b, mono_add_ms(now, RATE_MINUTE_MS));
	last = entry(w, LEDGER_REFUSED);
	assert_string_equal(text(last, "action"), "sandgate.egress.deny");
	assert_string_equal(text(last, "name"), "b.example.com");
	assert_int_equal(number(last, "suppressed"), 1000);
	assert_int_equal(number(json_object_get(last, "suppressed_names"), "a.example.com"), 750);
	assert_int_equal(number(json_object_get(last, "suppressed_names"), "b.example.com"), 250);
	assert_int_equal(total(w, "not-in-policy"), LEDGER_REFUSED + 1001);
	totals_hold(w);
}

static void kinds_have_a_rate_each(void **state)
{
	struct world *w = *state;
	struct record a = refusal("a.example.com", REASON_NOT_IN_POLICY);
	struct record b = refusal("a.example.com", REASON_DENIED_BY_RULE);
	mono_t now = mono_now();

	for (size_t i = 0; i < 100; i++) {
		take(w, &a, now);
		take(w, &b, now);
	}
	assert_int_equal(json_array_size(w->entries), 2 * LEDGER_REFUSED);
}

static void names_beyond_the_table_are_the_rest(void **state)
{
	struct world *w = *state;
	mono_t now = mono_now();
	const json_t *last;
	char name[32];

	for (unsigned i = 0; i < LEDGER_REFUSED + 1000; i++) {
		struct record r;

		snprintf(name, sizeof(name), "h%u.example.com", i);
		r = refusal(name, REASON_NOT_IN_POLICY);
		take(w, &r, now);
	}
	assert_int_equal(ledger_flush(w->ledger, mono_add_ms(now, RATE_MINUTE_MS), false), 0);
	last = entry(w, LEDGER_REFUSED);
	assert_int_equal(number(last, "suppressed"), 999);
	assert_int_equal(json_object_size(json_object_get(last, "suppressed_names")), LEDGER_NAMES);
	totals_hold(w);
}

static void what_waits_is_written_when_the_minute_is_over(void **state)
{
	struct world *w = *state;
	struct record a = refusal("a.example.com", REASON_NOT_IN_POLICY);
	mono_t now = mono_now(), at;

	assert_false(ledger_deadline(w->ledger, &at));
	for (size_t i = 0; i < LEDGER_REFUSED + 5; i++)
		take(w, &a, now);
	assert_true(ledger_deadline(w->ledger, &at));
	assert_int_equal(mono_ms_until(now, at), RATE_MINUTE_MS);
	assert_int_equal(ledger_flush(w->ledger, mono_add_ms(at, -1), false), 0);
	assert_int_equal(json_array_size(w->entries), LEDGER_REFUSED);
	assert_int_equal(ledger_flush(w->ledger, at, false), 0);
	assert_int_equal(json_array_size(w->entries), LEDGER_REFUSED + 1);
	assert_int_equal(number(entry(w, LEDGER_REFUSED), "suppressed"), 4);
	assert_false(ledger_deadline(w->ledger, &at));
	assert_int_equal(total(w, "not-in-policy"), LEDGER_REFUSED + 5);
}

static void what_no_record_told_of_is_accounted_for(void **state)
{
	struct world *w = *state;
	uint64_t t[ACCOUNTS] = {[REASON_DNS_OFF] = 7, [REASON_NOT_IN_POLICY] = 1};
	struct record a = refusal("a.example.com", REASON_NOT_IN_POLICY);

	take(w, &a, mono_now());
	ledger_settle(w->ledger, t);
	assert_int_equal(ledger_flush(w->ledger, mono_now(), true), 0);
	assert_int_equal(json_array_size(w->entries), 2);
	assert_string_equal(text(entry(w, 1), "reason"), "dns-off");
	assert_int_equal(number(entry(w, 1), "suppressed"), 6);
	assert_int_equal(total(w, "dns-off"), 7);
	/* A hostile process takes them back, or counts to the end. */
	t[REASON_DNS_OFF] = 0;
	t[REASON_NOT_IN_POLICY] = UINT64_MAX;
	ledger_settle(w->ledger, t);
	assert_int_equal(ledger_flush(w->ledger, mono_now(), true), 0);
	assert_int_equal(total(w, "dns-off"), 7);
	totals_hold(w);
}

/* A process that was taken over may count what it likes; the log must hold all the same. */
static void a_count_without_bounds_does_not_spoil_the_log(void **state)
{
	static const uint64_t counts[] = {INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, 0, 7};
	struct world *w = *state;
	mono_t now = {INT64_C(1000000000000)};
	const struct record r = refusal("a.example.com", REASON_NOT_IN_POLICY);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t t[ACCOUNTS] = {[REASON_NOT_IN_POLICY] = counts[i]};

		ledger_settle(w->ledger, t);
		assert_int_equal(ledger_flush(w->ledger, now, true), 0);
		totals_hold(w);
		for (unsigned n = 0; n < 2 * LEDGER_REFUSED; n++)
			take(w, &r, now);
		assert_int_equal(ledger_flush(w->ledger, now, true), 0);
		totals_hold(w);
		assert_int_equal(total(w, "not-in-policy"), INT64_MAX);
		now = mono_add_ms(now, RATE_MINUTE_MS);
	}
}

static void a_log_without_room_loses_nothing(void **state)
{
	struct world *w = *state;
	struct record a = refusal("a.example.com", REASON_NOT_IN_POLICY);
	mono_t now = mono_now();

	w->refuse = -28;
	for (size_t i = 0; i < 50; i++)
		take(w, &a, now);
	assert_int_equal(ledger_flush(w->ledger, now, true), -28);
	assert_int_equal(total(w, "not-in-policy"), 0);
	w->refuse = 0;
	assert_int_equal(ledger_flush(w->ledger, now, false), 0);
	assert_int_equal(json_array_size(w->entries), 1);
	assert_int_equal(number(entry(w, 0), "suppressed"), 49);
	assert_int_equal(number(json_object_get(entry(w, 0), "suppressed_names"), "a.example.com"),
			 49);
	totals_hold(w);
}

/* --- requests that the broker let through --- */

static struct record request(const char *host, const char *credential)
{
	struct record r = {.kind = RECORD_ALLOW,
			   .proto = RECORD_HTTP,
			   .port = 443,
			   .has_name = true,
			   .status = 200,
			   .method = "GET",
			   .path = "/v1/things"};

	assert_int_equal(name_parse_ascii(host, strlen(host), &r.name), NAME_OK);
	record_put_text(r.credential, sizeof(r.credential), span_of_string(credential));
	assert_true(record_valid(&r));
	return r;
}

static void a_request_says_what_was_asked_and_with_what(void **state)
{
	struct world *w = *state;
	struct record plain = request("api.example.com", "");
	struct record with = request("api.example.com", "Authorization at api.example.com");

	take(w, &plain, mono_now());
	take(w, &with, mono_now());
	assert_int_equal(json_array_size(w->entries), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(text(entry(w, i), "action"), "sandgate.egress.allow");
		assert_string_equal(text(entry(w, i), "verdict"), "allow");
		assert_string_equal(text(entry(w, i), "proto"), "http");
		assert_string_equal(text(entry(w, i), "name"), "api.example.com");
		assert_string_equal(text(entry(w, i), "method"), "GET");
		assert_string_equal(text(entry(w, i), "path"), "/v1/things");
		assert_int_equal(number(entry(w, i), "status"), 200);
	}
	assert_null(json_object_get(entry(w, 0), "credential"));
	assert_string_equal(text(entry(w, 1), "credential"), "Authorization at api.example.com");
	assert_int_equal(total(w, "allowed"), 1);
	assert_int_equal(total(w, "credential-used"), 1);
	totals_hold(w);
}

/* Those with a credential are not crowded out by those without. */
static void requests_have_a_rate_of_their_own(void **state)
{
	struct world *w = *state;
	struct record plain = request("a.example.com", "");
	struct record one = request("api.example.com", "Authorization at api.example.com");
	struct record two = request("api.example.com", "x-api-key at api.example.com");
	mono_t now = mono_now();
	const json_t *names, *last;

	for (size_t i = 0; i < 1000; i++)
		take(w, &plain, now);
	assert_int_equal(json_array_size(w->entries), LEDGER_ALLOWED);
	for (size_t i = 0; i < 1000; i++)
		take(w, i % 10 ? &one : &two, now);
	assert_int_equal(json_array_size(w->entries), 2 * LEDGER_ALLOWED);
	assert_int_equal(ledger_flush(w->ledger, mono_add_ms(now, RATE_MINUTE_MS), false), 0);
	assert_int_equal(json_array_size(w->entries), 2 * LEDGER_ALLOWED + 2);
	assert_int_equal(total(w, "allowed"), 1000);
	assert_int_equal(total(w, "credential-used"), 1000);
	last = entry(w, 2 * LEDGER_ALLOWED);
	assert_null(json_object_get(last, "credential"));
	assert_int_equal(number(last, "suppressed"), 1000 - LEDGER_ALLOWED - 1);
	last = entry(w, 2 * LEDGER_ALLOWED + 1);
	assert_int_equal(number(last, "suppressed"), 1000 - LEDGER_ALLOWED - 1);
	names = json_object_get(last, "suppressed_names");
	assert_int_equal(number(names, "Authorization at api.example.com") +
				 number(names, "x-api-key at api.example.com"),
			 1000 - LEDGER_ALLOWED - 1);
	assert_int_equal(number(names, "x-api-key at api.example.com"), 88);
	totals_hold(w);
}

static void a_request_that_no_record_told_of_is_counted(void **state)
{
	struct world *w = *state;
	const uint64_t t[ACCOUNTS] = {[ACCOUNT_ALLOWED] = 3, [ACCOUNT_CREDENTIAL] = 2};

	ledger_settle(w->ledger, t);
	assert_int_equal(ledger_flush(w->ledger, mono_now(), true), 0);
	assert_int_equal(json_array_size(w->entries), 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(text(entry(w, i), "action"), "sandgate.egress.allow");
	assert_int_equal(total(w, "allowed"), 3);
	assert_int_equal(total(w, "credential-used"), 2);
	totals_hold(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twenty_a_minute_in_any_minute),
		cmocka_unit_test_setup_teardown(the_rest_is_counted_by_reason_and_name, begin, end),
		cmocka_unit_test_setup_teardown(kinds_have_a_rate_each, begin, end),
		cmocka_unit_test_setup_teardown(names_beyond_the_table_are_the_rest, begin, end),
		cmocka_unit_test_setup_teardown(what_waits_is_written_when_the_minute_is_over,
						begin, end),
		cmocka_unit_test_setup_teardown(what_no_record_told_of_is_accounted_for, begin,
						end),
		cmocka_unit_test_setup_teardown(a_count_without_bounds_does_not_spoil_the_log,
						begin, end),
		cmocka_unit_test_setup_teardown(a_log_without_room_loses_nothing, begin, end),
		cmocka_unit_test_setup_teardown(a_request_says_what_was_asked_and_with_what, begin,
						end),
		cmocka_unit_test_setup_teardown(requests_have_a_rate_of_their_own, begin, end),
		cmocka_unit_test_setup_teardown(a_request_that_no_record_told_of_is_counted, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
