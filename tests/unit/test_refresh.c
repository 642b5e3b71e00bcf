/* SPDX-License-Identifier: Apache-2.0 */
/* demands.md 51: OAuth tokens are refreshed outside of the sandbox (RFC 6749, 6); what fails says
 * why. */
#include "vault_rig.h"

#include <time.h>

#include "base/buf.h"
#include "broker/refresh.h"
#include "broker/vault_state.h"

/* The clock of this program stands still: in the place of libc's. */
time_t time(time_t *out)
{
	const time_t now = 1800000000;

	if (out)
		*out = now;
	return now;
}

#define ENTRY                                                                                           \
	"  - {host: api.example.com, header: Authorization, value: 'Bearer ${secret}', from: 'env:T', " \
	"refresh: {url: 'https://login.example.com/oauth/token'%s}}\n"

static void begin(struct rig *r, const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), ENTRY, more);
	rig_begin(r, text);
	rig_put(r, 0, "the+refresh/token\n");
}

static int take(struct rig *r, unsigned status, const char *body, struct err *e)
{
	return refresh_take(r->v, 0, status, span_of_string(body), time(NULL), e);
}

/* What a request to the API gets. */
static enum credential_result ask_api(struct rig *r)
{
	rig_ask(r, "GET", "https://api.example.com/", NULL);
	return rig_apply(r);
}

static void the_request_is_that_of_the_document(void **state)
{
	static const struct {
		const char *more, *body, *authorization;
	} rows[] = {
		{"", "grant_type=refresh_token&refresh_token=the%2Brefresh%2Ftoken", ""},
		{", client_id: app, scope: 'a b'",
		 "grant_type=refresh_token&refresh_token=the%2Brefresh%2Ftoken&scope=a%20b&"
		 "client_id=app",
		 ""},
		{", client_id: app, client_secret: 'env:C'",
		 "grant_type=refresh_token&refresh_token=the%2Brefresh%2Ftoken",
		 "Basic YXBwOmNsaWVudCUzQXNlY3JldA=="},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		uint8_t room[1024];
		struct buf body = buf_of(room, sizeof(room));
		struct rig r;
		struct err e;

		begin(&r, rows[i].more);
		if (*rows[i].authorization) {
			assert_int_equal(refresh_ask(r.v, 0, &r.m, &body, &e), -1);
			assert_int_equal(vault_put(r.v, 0, PART_CLIENT_SECRET,
						   span_of_string("client:secret"), 0, &e),
					 0);
		}
		assert_int_equal(refresh_ask(r.v, 0, &r.m, &body, &e), 0);
		assert_true(span_equal(buf_span(&body), span_of_string(rows[i].body)));
		assert_int_equal(r.m.length, body.n);
		assert_string_equal(rig_field(&r, "authorization"), rows[i].authorization);
		assert_string_equal(rig_field(&r, "content-type"),
				    "application/x-www-form-urlencoded");
		assert_string_equal(rig_path(&r), "/oauth/token");
		assert_string_equal(r.m.host.s, "login.example.com");
		assert_true(span_equal(r.m.scheme, span_of_string("https")));
		rig_end(&r);
	}
}

/* The refresh token itself is never what the API gets. */
static void a_new_token_is_what_is_added(void **state)
{
	struct rig r;
	struct err e;

	begin(&r, "");
	assert_int_equal(ask_api(&r), CREDENTIAL_STALE);
	assert_int_equal(vault_next_wanted(r.v, 0), 1);
	assert_int_equal(vault_next_refresh(r.v, 0), 0);
	assert_int_equal(take(&r, 200,
			      "{\"access_token\":\"access-token-1\",\"token_type\":\"bearer\","
			      "\"expires_in\":3600}",
			      &e),
			 0);
	assert_int_equal(ask_api(&r), CREDENTIAL_INJECTED);
	assert_string_equal(rig_field(&r, "authorization"), "Bearer access-token-1");
	assert_int_equal(vault_next_wanted(r.v, 0), 1);
	assert_true(
		span_equal(vault_part(r.v, 0, PART_REFRESH), span_of_string("the+refresh/token")));
	rig_end(&r);
}

static void a_token_whose_time_is_over_is_fetched_again(void **state)
{
	struct rig r;
	struct err e;
	int64_t now = time(NULL);

	begin(&r, "");
	assert_int_equal(refresh_take(r.v, 0, 200,
				      span_of_string("{\"access_token\":\"access-token-1\","
						     "\"expires_in\":100,"
						     "\"refresh_token\":\"refresh-token-2\"}"),
				      now - 50, &e),
			 0);
	assert_int_equal(vault_next_refresh(r.v, 0), 1);
	r.v->held[0].renew_at = time(NULL);
	assert_int_equal(vault_next_refresh(r.v, 0), 1); /* nobody uses it */
	assert_int_equal(ask_api(&r), CREDENTIAL_INJECTED);
	assert_int_equal(vault_next_refresh(r.v, 0), 0);
	assert_true(
		span_equal(vault_part(r.v, 0, PART_REFRESH), span_of_string("refresh-token-2")));
	assert_int_equal(refresh_take(r.v, 0, 200,
				      span_of_string("{\"access_token\":\"access-token-2\","
						     "\"expires_in\":100}"),
				      now - 200, &e),
			 0);
	assert_int_equal(ask_api(&r), CREDENTIAL_STALE);
	rig_end(&r);
}

static void a_failure_says_why_and_never_what(void **state)
{
	static const struct {
		unsigned status;
		const char *body, *says;
	} rows[] = {
		{400, "{\"error\":\"invalid_grant\",\"error_description\":\"the+refresh/token\"}",
		 "`invalid_grant`: the refresh token has ended or was used up; sign in again"},
		{401, "{\"error\":\"invalid_client\"}", "says `invalid_client`"},
		{400, "{\"error\":\"the+refresh/token\"}", "answered with status 400"},
		{503, "<html>", "answered with status 503"},
		{302, "", "answered with status 302"},
		{200, "", "no JSON object"},
		{200, "[]", "no JSON object"},
		{200, "{\"access_token\":\"a-token-1\",\"access_token\":\"a-token-2\"}",
		 "no JSON object"},
		{200, "{}", "no `access_token`"},
		{200, "{\"access_token\":7}", "no `access_token`"},
		{200, "{\"access_token\":\"a\\r\\nb-long-enough\"}", "visible ASCII"},
		{200, "{\"access_token\":\"a-long-token\",\"token_type\":\"mac\"}",
		 "no bearer token"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct rig r;
		struct err e;

		begin(&r, "");
		assert_int_equal(take(&r, rows[i].status, rows[i].body, &e), -1);
		if (!strstr(e.text, rows[i].says) || strstr(e.text, "the+refresh"))
			fail_msg("%s: %s", rows[i].body, e.text);
		assert_int_equal(ask_api(&r), CREDENTIAL_MISSING);
		assert_string_equal(vault_why(r.v), e.text);
		assert_string_equal(r.which, "Authorization at api.example.com");
		assert_int_equal(r.m.n_fields, 0);
		/* Its source may have another one by now. */
		rig_put(&r, 0, "another-refresh-token");
		assert_int_equal(ask_api(&r), CREDENTIAL_STALE);
		assert_int_equal(vault_next_refresh(r.v, 0), 0);
		rig_end(&r);
	}
}

/* Later and later; what was refused has to come anew, and what is there serves until its end. */
static void failures_are_waited_for(void **state)
{
	struct rig r;
	struct err e;

	begin(&r, "");
	for (int seconds = 30, n = 0; n < 7; n++) {
		assert_int_equal(take(&r, 503, "", &e), -1);
		assert_int_equal(r.v->held[0].retry_at - time(NULL), seconds);
		seconds = seconds * 2 > 600 ? 600 : seconds * 2;
		assert_int_equal(vault_next_refresh(r.v, 0), 1);
		assert_int_equal(vault_next_wanted(r.v, 0), 1);
	}
	assert_string_equal(vault_failure(r.v, 0), e.text);
	assert_true(vault_part(r.v, 0, PART_REFRESH).n > 0);
	assert_int_equal(take(&r, 400, "{\"error\":\"invalid_grant\"}", &e), -1);
	assert_int_equal(vault_part(r.v, 0, PART_REFRESH).n, 0);
	assert_int_equal(vault_next_wanted(r.v, 0), 1);
	r.v->held[0].retry_at = time(NULL);
	assert_int_equal(vault_next_wanted(r.v, 0), 0);
	rig_put(&r, 0, "another-refresh-token");
	assert_int_equal(
		take(&r, 200, "{\"access_token\":\"access-token-1\",\"expires_in\":90}", &e), 0);
	assert_null(vault_failure(r.v, 0));
	assert_int_equal(vault_next_due(r.v, time(NULL)) - time(NULL), 68);
	assert_int_equal(take(&r, 503, "", &e), -1);
	assert_int_equal(r.v->held[0].retry_at - time(NULL), 30);
	assert_int_equal(ask_api(&r), CREDENTIAL_INJECTED);
	r.v->held[0].expires_at = time(NULL);
	assert_int_equal(ask_api(&r), CREDENTIAL_MISSING);
	rig_end(&r);
}

static void the_token_endpoint_is_told_by_its_url(void **state)
{
	static const struct {
		const char *method, *url;
		bool is_one;
	} rows[] = {
		{"POST", "https://login.example.com/oauth/token", true},
		{"POST", "https://login.example.com/oauth/token?x=y", true},
		{"GET", "https://login.example.com/oauth/token", false},
		{"POST", "https://login.example.com/oauth/token/", false},
		{"POST", "https://login.example.com/oauth/%74oken", false},
		{"POST", "https://api.example.com/oauth/token", false},
		{"POST", "https://login.example.com:8443/oauth/token", false},
		{"POST", "http://login.example.com/oauth/token", false},
	};
	struct rig r;

	begin(&r, "");
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		rig_ask(&r, rows[i].method, rows[i].url, NULL);
		assert_int_equal(refresh_find(r.v, &r.m) == 0, rows[i].is_one);
	}
	rig_end(&r);
}

static void a_client_that_refreshes_gets_a_placeholder(void **state)
{
	uint8_t room[1024];
	struct buf body = buf_of(room, sizeof(room));
	char asked[256];
	struct rig r;

	begin(&r, "");
	assert_false(refresh_answer_client(
		r.v, 0, span_of_string("grant_type=refresh_token&refresh_token=mine"), &r.m,
		&body));
	assert_int_equal(body.n, 0);
	snprintf(asked, sizeof(asked),
		 "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"%s\"}",
		 vault_placeholder(r.v, 0));
	assert_true(refresh_answer_client(r.v, 0, span_of_string(asked), &r.m, &body));
	assert_int_equal(r.m.status, 200);
	assert_int_equal(r.m.length, body.n);
	assert_string_equal(rig_field(&r, "content-type"), "application/json");
	assert_non_null(memmem(body.p, body.n, vault_placeholder(r.v, 0),
			       strlen(vault_placeholder(r.v, 0))));
	assert_null(memmem(body.p, body.n, "the+refresh", 11));
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_request_is_that_of_the_document),
		cmocka_unit_test(a_new_token_is_what_is_added),
		cmocka_unit_test(a_token_whose_time_is_over_is_fetched_again),
		cmocka_unit_test(a_failure_says_why_and_never_what),
		cmocka_unit_test(failures_are_waited_for),
		cmocka_unit_test(the_token_endpoint_is_told_by_its_url),
		cmocka_unit_test(a_client_that_refreshes_gets_a_placeholder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
