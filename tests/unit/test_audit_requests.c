/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as entries of an audit log: their one text, proven, verified, and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "audit/entry.h"
#include "audit/ledger.h"
#include "audit/proof.h"
#include "audit_folder.h"

static const struct audit_log_options options = {.origin = "sandgate/test/box"};
static const char place[] = "Authorization at api.example.com";

struct world {
	struct folder folder;
	struct audit_log *log;
	struct event_printer *printer;
	struct ledger *ledger;
};

static int append(void *ctx, json_t *entry)
{
	struct world *w = ctx;

	return audit_log_append(w->log, entry);
}

static void open_world(struct world *w)
{
	struct err e;

	w->log = log_open(&w->folder, &options);
	w->printer = event_printer_new("box", NULL);
	w->ledger = ledger_new("box", w->printer, append, w);
	assert_int_equal(ledger_restore(w->ledger, w->folder.fd, audit_log_size(w->log), &e), 0);
}

static void close_world(struct world *w)
{
	ledger_free(w->ledger);
	event_printer_free(w->printer);
	audit_log_close(w->log);
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->folder = folder_make();
	open_world(w);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	close_world(w);
	folder_remove(&w->folder);
	free(w);
	return 0;
}

static struct record request(const char *credential)
{
	struct record r = {
		.kind = RECORD_ALLOW,
		.proto = RECORD_HTTP,
		.time_ms = INT64_C(1796040000123),
		.generation = 2,
		.port = 443,
		.status = 201,
		.has_name = true,
		.has_addr = true,
		.bytes_out = 10,
		.bytes_in = 20,
		.duration_ms = 30,
		.method = "POST",
		.path = "/v1/\"x\"",
		.rule = "api.example.com",
	};

	assert_int_equal(name_parse_ascii("api.example.com", 15, &r.name), NAME_OK);
	assert_true(addr_parse("93.184.0.1", 10, &r.addr));
	record_put_text(r.credential, sizeof(r.credential), span_of_string(credential));
	assert_true(record_valid(&r));
	return r;
}

static struct record refusal(void)
{
	struct record r = request("");

	r.kind = RECORD_DENY;
	r.reason = REASON_UPSTREAM_CERTIFICATE;
	r.status = 502;
	r.bytes_out = r.bytes_in = 0;
	return r;
}

static void take(struct world *w, const struct record *r, mono_t now)
{
	ledger_take(w->ledger, account_of(r, true), r, now);
}

static void add_totals(struct world *w)
{
	json_t *entry = json_pack("{s:s, s:s, s:o}", "sandbox", "box", "action",
				  "sandgate.audit.totals", "totals", ledger_totals(w->ledger));

	assert_int_equal(audit_log_append(w->log, entry), 0);
}

static struct audit_verdict verify(struct world *w)
{
	struct audit_verdict v;
	struct err e;

	assert_int_equal(audit_log_commit(w->log, true), 0);
	assert_int_equal(audit_verify(w->folder.fd, span_of("", 0), span_of("", 0), &v, &e), 0);
	return v;
}

/* Golden: what is hashed, octet by octet. */
static void an_entry_has_one_text(void **state)
{
	static const char wanted[] =
		"{\"action\":\"sandgate.egress.allow\",\"address\":\"93.184.0.1\",\"bytes_in\":20,"
		"\"bytes_out\":10,\"duration_ms\":30,\"generation\":2,\"method\":\"POST\","
		"\"name\":\"api.example.com\",\"path\":\"/v1/\\\"x\\\"\",\"port\":443,"
		"\"proto\":\"http\",\"rule\":\"api.example.com\",\"sandbox\":\"box\",\"seq\":0,"
		"\"status\":201,\"time\":\"2026-11-30T12:00:00.123Z\",\"verdict\":\"allow\"}\n"
		"{\"action\":\"sandgate.egress.allow\",\"address\":\"93.184.0.1\",\"bytes_in\":20,"
		"\"bytes_out\":10,\"credential\":\"Authorization at api.example.com\","
		"\"duration_ms\":30,\"generation\":2,\"method\":\"POST\","
		"\"name\":\"api.example.com\",\"path\":\"/v1/\\\"x\\\"\",\"port\":443,"
		"\"proto\":\"http\",\"rule\":\"api.example.com\",\"sandbox\":\"box\",\"seq\":1,"
		"\"status\":201,\"time\":\"2026-11-30T12:00:00.123Z\",\"verdict\":\"allow\"}\n"
		"{\"action\":\"sandgate.egress.deny\",\"address\":\"93.184.0.1\",\"bytes_in\":0,"
		"\"bytes_out\":0,\"duration_ms\":30,\"generation\":2,\"method\":\"POST\","
		"\"name\":\"api.example.com\",\"path\":\"/v1/\\\"x\\\"\",\"port\":443,"
		"\"proto\":\"http\",\"reason\":\"upstream-certificate\","
		"\"rule\":\"api.example.com\",\"sandbox\":\"box\",\"seq\":2,\"status\":502,"
		"\"time\":\"2026-11-30T12:00:00.123Z\",\"verdict\":\"deny\"}\n";
	struct world *w = *state;
	struct record plain = request(""), with = request(place), refused = refusal();
	mono_t now = mono_now();
	char *text;

	take(w, &plain, now);
	take(w, &with, now);
	take(w, &refused, now);
	assert_int_equal(audit_log_commit(w->log, true), 0);
	text = folder_read(w->folder.fd, "00000000000000000000.jsonl", NULL);
	assert_string_equal(text, wanted);
	free(text);
}

static void each_kind_is_proven(void **state)
{
	struct world *w = *state;
	struct record plain = request(""), with = request(place), refused = refusal();
	_cleanup_free_ char *key = folder_read(w->folder.fd, "key.pub", NULL);

	take(w, &plain, mono_now());
	take(w, &with, mono_now());
	take(w, &refused, mono_now());
	add_totals(w);
	assert_true(verify(w).holds);
	for (uint64_t i = 0; i < 4; i++) {
		struct proof_said said;
		struct err e;
		_cleanup_free_ char *text = proof_make(w->folder.fd, i, &e);

		assert_non_null(text);
		assert_int_equal(proof_check(span_of_string(text), span_of("", 0),
					     span_of_string(key), &said, &e),
				 0);
		assert_int_equal(said.entry.seq, i);
		assert_int_equal(json_object_get(said.entry.value, "credential") != NULL, i == 1);
		proof_said_free(&said);
	}
}

/* A log goes on where it was, over a restart, and verify adds up. */
static void totals_of_requests_add_up(void **state)
{
	struct world *w = *state;
	struct record plain = request(""), with = request(place);
	mono_t now = mono_now();
	json_t *totals;

	/* The minute of an entry that was kept is told by the clock on the wall. */
	plain.time_ms = with.time_ms = entry_now_ms();
	for (unsigned i = 0; i < 500; i++) {
		take(w, &plain, now);
		take(w, &with, now);
	}
	assert_int_equal(ledger_flush(w->ledger, now, true), 0);
	add_totals(w);
	assert_int_equal(audit_log_commit(w->log, true), 0);
	close_world(w);
	open_world(w);
	totals = ledger_totals(w->ledger);
	assert_int_equal(json_integer_value(json_object_get(totals, "allowed")), 500);
	assert_int_equal(json_integer_value(json_object_get(totals, "credential-used")), 500);
	json_decref(totals);
	/* The minute is not over: nothing of these is written by itself. */
	for (unsigned i = 0; i < 10; i++)
		take(w, &plain, mono_now());
	assert_int_equal(audit_log_size(w->log), 2 * (LEDGER_ALLOWED + 1) + 1);
	assert_int_equal(ledger_flush(w->ledger, mono_now(), true), 0);
	add_totals(w);
	assert_true(verify(w).holds);
}

static void a_use_that_was_dropped_is_found(void **state)
{
	struct world *w = *state;
	struct record with = request(place);
	struct audit_verdict v;

	take(w, &with, mono_now());
	assert_int_equal(audit_log_append(w->log, json_pack("{s:s, s:s, s:{s:i}}", "sandbox", "box",
							    "action", "sandgate.audit.totals",
							    "totals", "credential-used", 2)),
			 0);
	v = verify(w);
	assert_false(v.holds);
	assert_int_equal(v.bad_seq, 1);
	assert_string_equal(v.why.text, "entry 1: 1 events as credential-used are written or "
					"counted, its total says 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_entry_has_one_text, begin, end),
		cmocka_unit_test_setup_teardown(each_kind_is_proven, begin, end),
		cmocka_unit_test_setup_teardown(totals_of_requests_add_up, begin, end),
		cmocka_unit_test_setup_teardown(a_use_that_was_dropped_is_found, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
