/* SPDX-License-Identifier: Apache-2.0 */
/* demands.md 50 and 51, and "Credential leak": where a secret goes, and every way that it must not.
 */
#include "vault_rig.h"

#include <time.h>

#include "base/base64.h"
#include "broker/vault_state.h"

/* The clock of this program stands still: in the place of libc's. */
time_t time(time_t *out)
{
	const time_t now = 1800000000;

	if (out)
		*out = now;
	return now;
}

#define BEARER \
	"  - {host: api.example.com, header: Authorization, value: 'Bearer ${secret}', from: 'env:T'"
#define PLAIN_BEARER BEARER "}\n"

static void bearer(struct rig *r, const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), BEARER "%s}\n", more);
	rig_begin(r, text);
	rig_put(r, 0, SECRET "\n");
}

/* ---- Where it goes ---- */

static void each_form_is_put_in(void **state)
{
	static const struct {
		const char *form, *field, *value, *path;
	} rows[] = {
		{"header: X-Api-Key, value: '${secret}'", "x-api-key", SECRET, "/v1?a=b"},
		{"header: Authorization, value: 'token ${secret}!'", "authorization",
		 "token " SECRET "!", "/v1?a=b"},
		{"basic: x-access-token", "authorization",
		 "Basic eC1hY2Nlc3MtdG9rZW46czNjcjN0L1Rva2VuK29mPXRoZSZwZXJzb24=", "/v1?a=b"},
		{"basic: '${secret}:'", "authorization",
		 "Basic czNjcjN0L1Rva2VuK29mPXRoZSZwZXJzb246", "/v1?a=b"},
		{"query: appid", "authorization", "",
		 "/v1?a=b&appid=s3cr3t%2FToken%2Bof%3Dthe%26person"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[512];
		struct rig r;

		snprintf(text, sizeof(text), "  - {host: api.example.com, %s, from: 'env:T'}\n",
			 rows[i].form);
		rig_begin(&r, text);
		rig_put(&r, 0, SECRET);
		rig_ask(&r, "GET", "https://api.example.com/v1?a=b", NULL);
		assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
		assert_string_equal(rig_field(&r, rows[i].field), rows[i].value);
		assert_string_equal(rig_path(&r), rows[i].path);
		assert_string_equal(rig_field(&r, "accept-encoding"), "identity");
		if (*rows[i].value)
			assert_true(message_find(&r.m, rows[i].field, NULL)->sensitive);
		assert_null(strstr(r.which, SECRET));
		rig_end(&r);
	}
}

static void a_query_is_begun_where_there_is_none(void **state)
{
	struct rig r;

	rig_begin(&r, "  - {host: api.example.com, query: key, from: 'env:T'}\n");
	rig_put(&r, 0, "12345678");
	rig_ask(&r, "GET", "https://api.example.com/", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	assert_string_equal(rig_path(&r), "/?key=12345678");
	assert_true(r.m.path_sensitive);
	rig_ask(&r, "GET", "https://api.example.com/x?%6bey=mine&a=1;KEY=2&b", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	assert_string_equal(rig_path(&r), "/x?a=1&b&key=12345678");
	rig_end(&r);
}

static void two_places_of_one_host_are_both_filled(void **state)
{
	struct rig r;

	rig_begin(
		&r, PLAIN_BEARER
		"  - {host: api.example.com, header: X-App, value: '${secret}', from: 'env:U'}\n");
	rig_put(&r, 0, "first-secret");
	rig_put(&r, 1, "second-secret");
	rig_ask(&r, "GET", "https://api.example.com/", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	assert_string_equal(rig_field(&r, "authorization"), "Bearer first-secret");
	assert_string_equal(rig_field(&r, "x-app"), "second-secret");
	/* The log is told of both. */
	assert_string_equal(r.which, "Authorization at api.example.com, X-App at api.example.com");
	rig_end(&r);
}

/* ---- Where it does not go ---- */

static void it_goes_nowhere_else(void **state)
{
	static const char *const urls[] = {
		"https://other.example.com/",	 "https://example.com/",
		"https://x.api.example.com/",	 "https://api.example.com.evil.example/",
		"https://api.example.com:8443/", "http://api.example.com/",
		"http://api.example.com:443/",
	};
	struct rig r;

	bearer(&r, "");
	for (size_t i = 0; i < sg_array_len(urls); i++) {
		const char *const fields[] = {"authorization", "Bearer mine", NULL};

		rig_ask(&r, "GET", urls[i], fields);
		assert_int_equal(rig_apply(&r), CREDENTIAL_NONE);
		assert_string_equal(rig_field(&r, "authorization"), "Bearer mine");
		assert_false(rig_holds(&r, SECRET));
		assert_null(r.which);
	}
	rig_end(&r);
}

static void it_is_bound_to_methods_and_paths(void **state)
{
	static const struct {
		const char *method, *path;
		enum credential_result result;
	} rows[] = {
		{"GET", "/v1/a", CREDENTIAL_INJECTED},
		{"GET", "/v1/a?x=../../v2", CREDENTIAL_INJECTED},
		{"POST", "/v1/a", CREDENTIAL_NONE},
		{"get", "/v1/a", CREDENTIAL_NONE},
		{"GET", "/v2/a", CREDENTIAL_NONE},
		{"GET", "/v1/../v2/a", CREDENTIAL_NONE},
		{"GET", "/v1/%2e%2e/v2/a", CREDENTIAL_NONE},
		{"GET", "/v1/..%252fv2", CREDENTIAL_NONE},
		{"GET", "/v1/..;/v2", CREDENTIAL_NONE},
		{"GET", "/V1/a", CREDENTIAL_NONE},
	};
	struct rig r;

	bearer(&r, ", methods: [GET], paths: ['/v1/*']");
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		const char *const fields[] = {"authorization", "Bearer mine", "x-api-key", "mine",
					      NULL};
		char url[128];

		snprintf(url, sizeof(url), "https://api.example.com%s", rows[i].path);
		rig_ask(&r, rows[i].method, url, fields);
		assert_int_equal(rig_apply(&r), rows[i].result);
		assert_int_equal(rig_holds(&r, SECRET), rows[i].result == CREDENTIAL_INJECTED);
		/* catalogue.md: whatever it brings to such a host is dropped. */
		assert_false(rig_holds(&r, "mine"));
	}
	rig_end(&r);
}

/* What a server may take for another method or path is bound to none. */
static void it_is_not_bound_to_what_names_another(void **state)
{
	static const struct {
		const char *field, *query;
	} rows[] = {
		{"x-http-method-override", ""}, {"x-http-method", ""},
		{"x_method_override", ""},	{"x-original-method", ""},
		{"x-original-url", ""},		{"x_original_url", ""},
		{"x-rewrite-url", ""},		{"x-a", "?_method=PUT"},
		{"x-a", "?a=b&%5fmethod=PUT"},
	};
	static const char *const narrow[] = {", methods: [GET]", ", paths: ['/v1/*']", ""};
	struct rig r;

	for (size_t k = 0; k < sg_array_len(narrow); k++) {
		bearer(&r, narrow[k]);
		for (size_t i = 0; i < sg_array_len(rows); i++) {
			const char *const fields[] = {rows[i].field, "/v2/a", NULL};
			char url[128];

			snprintf(url, sizeof(url), "https://api.example.com/v1/a%s", rows[i].query);
			rig_ask(&r, "GET", url, fields);
			assert_int_equal(rig_apply(&r),
					 *narrow[k] ? CREDENTIAL_NONE : CREDENTIAL_INJECTED);
			assert_int_equal(rig_holds(&r, SECRET), !*narrow[k]);
		}
		rig_end(&r);
	}
}

/* A WebSocket is asked for by GET, and carries anything. */
static void for_a_websocket_it_is_bound_to_both(void **state)
{
	static const struct {
		const char *more;
		bool bound;
	} rows[] = {{", methods: [GET]", false}, {", methods: [GET, POST]", true}, {"", true}};
	struct rig r;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		bearer(&r, rows[i].more);
		rig_ask(&r, "GET", "https://api.example.com/v1/a", NULL);
		r.m.protocol = span_of_string("websocket");
		assert_int_equal(rig_apply(&r) == CREDENTIAL_INJECTED, rows[i].bound);
		rig_end(&r);
	}
}

/* The answer to TRACE is the request. */
static void it_is_not_traced(void **state)
{
	static const char *const methods[] = {"", ", methods: [GET, TRACE]"};
	struct rig r;

	for (size_t i = 0; i < sg_array_len(methods); i++) {
		bearer(&r, methods[i]);
		rig_ask(&r, "TRACE", "https://api.example.com/v1/a", NULL);
		assert_int_equal(rig_apply(&r), CREDENTIAL_NONE);
		assert_false(rig_holds(&r, SECRET));
		rig_end(&r);
	}
}

/* ---- What the sandbox brings ---- */

static void what_it_brings_is_dropped(void **state)
{
	static const char *const fields[] = {"authorization",
					     "Bearer mine",
					     "authorization",
					     "Basic bWluZQ==",
					     "x-api-key",
					     "mine",
					     "x_api_key",
					     "mine",
					     "x-goog-api-key",
					     "mine",
					     "cookie",
					     "a=mine",
					     "api-key",
					     "mine",
					     "private-token",
					     "mine",
					     "x-amz-security-token",
					     "mine",
					     "accept",
					     "kept",
					     NULL};
	struct rig r;

	bearer(&r, "");
	rig_ask(&r, "GET", "https://api.example.com/?key=mine&a=1&access_token=mine&API%5fKEY=mine",
		fields);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	assert_false(rig_holds(&r, "mine"));
	assert_false(rig_holds(&r, "bWluZQ"));
	assert_string_equal(rig_path(&r), "/?a=1");
	assert_string_equal(rig_field(&r, "authorization"), "Bearer " SECRET);
	assert_string_equal(rig_field(&r, "accept"), "kept");
	assert_int_equal(r.m.n_fields, 3);
	rig_end(&r);
}

static void strict_refuses_what_it_brings(void **state)
{
	static const char *const own[][2] = {
		{"authorization", "Bearer mine"},
		{"x-api-key", "mine"},
		{"cookie", "a=mine"},
		{"authorization", "Bearer sandgate-placeholder-0000"},
	};
	struct rig r;

	bearer(&r, ", pin: strict");
	for (size_t i = 0; i < sg_array_len(own); i++) {
		const char *const fields[] = {own[i][0], own[i][1], NULL};

		rig_ask(&r, "GET", "https://api.example.com/", fields);
		assert_int_equal(rig_apply(&r), CREDENTIAL_STRICT);
		assert_non_null(strstr(vault_why(r.v), "pin: strict"));
		assert_false(rig_holds(&r, SECRET));
	}
	rig_ask(&r, "GET", "https://api.example.com/?api_key=mine", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_STRICT);
	rig_ask(&r, "GET", "https://api.example.com/", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	rig_end(&r);
}

static void keep_keeps_what_it_brings(void **state)
{
	const char *const fields[] = {"authorization", "Bearer mine", "cookie", "a=b", NULL};
	const char *const cookie[] = {"cookie", "a=b", NULL};
	struct rig r;

	bearer(&r, ", pin: keep");
	rig_ask(&r, "GET", "https://api.example.com/?key=mine", fields);
	assert_int_equal(rig_apply(&r), CREDENTIAL_KEPT);
	assert_string_equal(rig_field(&r, "authorization"), "Bearer mine");
	assert_string_equal(rig_path(&r), "/?key=mine");
	assert_false(rig_holds(&r, SECRET));
	rig_ask(&r, "GET", "https://api.example.com/", cookie);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	assert_string_equal(rig_field(&r, "cookie"), "a=b");
	rig_end(&r);
}

/* ---- Placeholders ---- */

static const char *basic_of(const char *user, const char *password)
{
	static char out[512];
	char text[256];

	snprintf(text, sizeof(text), "%s:%s", user, password);
	strcpy(out, "Basic ");
	base64_print(span_of_string(text), out + 6);
	return out;
}

static void in_its_place_it_is_replaced(void **state)
{
	static const char *const pins[] = {"", ", pin: strict", ", pin: keep"};

	for (size_t i = 0; i < sg_array_len(pins); i++) {
		char with_scheme[128];
		struct rig r;

		bearer(&r, pins[i]);
		snprintf(with_scheme, sizeof(with_scheme), "Bearer %s", vault_placeholder(r.v, 0));
		const char *const places[][2] = {
			{"authorization", with_scheme},
			{"authorization", vault_placeholder(r.v, 0)},
			{"x-api-key", vault_placeholder(r.v, 0)},
			{"authorization", basic_of("x-access-token", vault_placeholder(r.v, 0))},
		};

		for (size_t j = 0; j < sg_array_len(places); j++) {
			const char *const fields[] = {places[j][0], places[j][1], NULL};

			rig_ask(&r, "GET", "https://api.example.com/", fields);
			assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
			assert_string_equal(rig_field(&r, "authorization"), "Bearer " SECRET);
			assert_int_equal(r.m.n_fields, 2);
		}
		rig_end(&r);
	}
}

struct place {
	const char *path, *name, *value;
};

static void assert_misplaced(struct rig *r, const char *server, const struct place *p)
{
	const char *const fields[] = {p->name, p->value, NULL};
	char url[1024];

	snprintf(url, sizeof(url), "%s%s", server, p->path);
	rig_ask(r, "GET", url, fields);
	if (rig_apply(r) != CREDENTIAL_MISPLACED)
		fail_msg("%s %s: %s", url, p->name ? p->name : "", p->value ? p->value : "");
	assert_non_null(strstr(vault_why(r->v), "placeholder"));
	assert_false(rig_holds(r, SECRET));
}

/* Each octet as %XX, `layers` times. */
static const char *escaped(const char *s, unsigned layers)
{
	static char out[1024], in[1024];

	snprintf(out, sizeof(out), "%s", s);
	for (; layers; layers--) {
		size_t n = 0;

		snprintf(in, sizeof(in), "%s", out);
		for (const char *c = in; *c; c++)
			n += (size_t)snprintf(out + n, sizeof(out) - n,
					      *c == '%'	  ? "%%25"
					      : *c == '-' ? "%%2D"
							  : "%c",
					      *c);
	}
	return out;
}

static void in_any_other_place_it_is_refused(void **state)
{
	static const char *const servers[] = {"https://other.example.com",
					      "https://api.example.com:8443",
					      "http://api.example.com"};
	struct rig r;

	bearer(&r, "");
	for (size_t i = 0; i < sg_array_len(servers); i++) {
		const char *p = vault_placeholder(r.v, 0);
		char path[256], query[256], once[1100], thrice[1100], url[256];

		snprintf(path, sizeof(path), "/a/%s/b", p);
		snprintf(query, sizeof(query), "/?key=%s", p);
		snprintf(once, sizeof(once), "/?q=%s", escaped(p, 1));
		snprintf(thrice, sizeof(thrice), "/%s", escaped(p, 3));
		snprintf(url, sizeof(url), "/?u=%.40s", basic_of("u", p) + 6);
		const struct place places[] = {
			{"/", "authorization", p}, {"/", "x-anything", p},
			{"/", "referer", p},	   {"/", "authorization", basic_of("x", p)},
			{path, NULL, NULL},	   {query, NULL, NULL},
			{once, NULL, NULL},	   {thrice, NULL, NULL},
			{url, NULL, NULL},
		};

		for (size_t j = 0; j < sg_array_len(places); j++)
			assert_misplaced(&r, servers[i], &places[j]);
	}
	rig_end(&r);
}

/* Also at the server that it is for, when it stands in no place of a credential. */
static void beside_its_place_it_is_refused(void **state)
{
	struct rig r;
	char path[256], query[256];

	bearer(&r, ", paths: ['/v1/*']");
	snprintf(path, sizeof(path), "/v1/%s", vault_placeholder(r.v, 0));
	snprintf(query, sizeof(query), "/v1/?page=%s", vault_placeholder(r.v, 0));
	const struct place places[] = {
		{"/v1/a", "x-anything", vault_placeholder(r.v, 0)},
		{"/v2/a", "authorization", vault_placeholder(r.v, 0)},
		{path, NULL, NULL},
		{query, NULL, NULL},
	};

	for (size_t i = 0; i < sg_array_len(places); i++)
		assert_misplaced(&r, "https://api.example.com", &places[i]);
	rig_end(&r);
}

/* Basic at each alignment, with text behind it: the base64 of it never reads the same. */
static void basic_hides_no_placeholder(void **state)
{
	static const char *const users[] = {"", "a", "ab", "abc", "abcd"};
	struct rig r;

	bearer(&r, "");
	for (size_t i = 0; i < sg_array_len(users); i++) {
		struct place p = {"/", "authorization",
				  basic_of(users[i], vault_placeholder(r.v, 0))};

		assert_misplaced(&r, "https://other.example.com", &p);
		p.value = basic_of(vault_placeholder(r.v, 0), users[i]);
		assert_misplaced(&r, "https://other.example.com", &p);
	}
	rig_end(&r);
}

static void a_placeholder_is_as_told(void **state)
{
	static const uint8_t seed[PLACEHOLDER_SEED] = {1};
	const struct credential c = {.host = "a.example", .port = 443, .name = "x"};
	char a[PLACEHOLDER_N + 1], twice[200];

	placeholder_make(seed, &c, a);
	assert_int_equal(strlen(a), PLACEHOLDER_N);
	assert_int_equal(strncmp(a, "sandgate-placeholder-", 21), 0);
	assert_true(placeholder_is_in(span_of_string(a)));
	assert_true(placeholder_is_all(span_of_string(a)));
	snprintf(twice, sizeof(twice), "%s %s", a, a);
	assert_false(placeholder_is_all(span_of_string(twice)));
	assert_false(placeholder_is_in(span_of_string("sandgate-placeholde")));
	assert_false(placeholder_is_in(span_of_string("a sandgate placeholder-")));
}

static void a_placeholder_is_its_credential_s(void **state)
{
	static const uint8_t seed[PLACEHOLDER_SEED] = {1}, other_seed[PLACEHOLDER_SEED] = {2};
	const struct credential c = {
		.host = "a.example", .port = 443, .name = "x", .from = "env:A"};
	struct credential same = c, others[] = {c, c, c, c, c, c};
	char a[PLACEHOLDER_N + 1], b[PLACEHOLDER_N + 1];

	placeholder_make(seed, &c, a);
	same.from = "env:B";
	placeholder_make(seed, &same, b);
	assert_string_equal(a, b);
	placeholder_make(other_seed, &c, b);
	assert_string_not_equal(a, b);
	others[0].host = "b.example";
	others[1].port = 444;
	others[2].slot = SLOT_QUERY;
	others[3].name = "y";
	others[4].env = "TOKEN";
	others[5].name = NULL;
	for (size_t i = 0; i < sg_array_len(others); i++) {
		placeholder_make(seed, &others[i], b);
		assert_string_not_equal(a, b);
	}
}

/* ---- When it is not there ---- */

static void without_a_secret_nothing_goes(void **state)
{
	const char *const fields[] = {"authorization", "Bearer mine", NULL};
	struct rig r;

	rig_begin(&r, PLAIN_BEARER);
	assert_int_equal(vault_next_wanted(r.v, 0), 0);
	rig_ask(&r, "GET", "https://api.example.com/", fields);
	assert_int_equal(rig_apply(&r), CREDENTIAL_STALE);
	assert_string_equal(rig_field(&r, "authorization"), "Bearer mine");
	vault_fail(r.v, 0, "env:T is not set");
	assert_int_equal(rig_apply(&r), CREDENTIAL_MISSING);
	assert_string_equal(vault_why(r.v), "env:T is not set");
	assert_string_equal(r.which, "Authorization at api.example.com");
	rig_put(&r, 0, SECRET);
	assert_int_equal(vault_next_wanted(r.v, 0), vault_count(r.v));
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	rig_end(&r);
}

static void a_source_that_failed_is_asked_again(void **state)
{
	int64_t now = time(NULL);
	struct rig r;

	rig_begin(&r, PLAIN_BEARER);
	vault_fail(r.v, 0, "the keyring is locked");
	assert_int_equal(vault_next_wanted(r.v, 0), 1);
	assert_int_equal(held_state_at(&r.v->held[0], now + 25), HELD_FAILED);
	assert_int_equal(held_state_at(&r.v->held[0], now + 35), HELD_WANTED);
	rig_end(&r);
}

/* What a policy takes away is wiped, and does not come back with another that has it again. */
static void what_has_ended_is_gone(void **state)
{
	const struct credential_list none = {0};
	struct rig r;
	struct err e;

	bearer(&r, "");
	assert_int_equal(vault_follow(r.v, &none, &e), 0);
	assert_int_equal(vault_part(r.v, 0, PART_VALUE).n, 0);
	assert_int_equal(vault_next_wanted(r.v, 0), 1);
	rig_ask(&r, "GET", "https://api.example.com/", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_NONE);
	assert_int_equal(vault_put_source(r.v, 0, span_of_string(SECRET), &e), -1);
	vault_fail(r.v, 0, "its source failed");
	assert_int_equal(held_state_at(&r.v->held[0], INT64_MAX), HELD_ENDED);
	assert_int_equal(vault_follow(r.v, &r.policy.credentials, &e), 0);
	assert_int_equal(vault_next_wanted(r.v, 0), 0);
	assert_int_equal(rig_apply(&r), CREDENTIAL_STALE);
	rig_end(&r);
}

static void what_has_expired_is_not_sent(void **state)
{
	static const struct {
		int left; /* seconds */
		bool is_wanted;
		enum credential_result result;
	} rows[] = {
		{3600, false, CREDENTIAL_INJECTED},
		{30, false, CREDENTIAL_INJECTED},
		{-1, true, CREDENTIAL_STALE},
	};
	struct rig r;

	rig_begin(&r, PLAIN_BEARER);
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[128];

		snprintf(text, sizeof(text), "{\"token\":\"" SECRET "\",\"expires_at\":%lld}",
			 (long long)time(NULL) + rows[i].left);
		rig_put(&r, 0, text);
		assert_int_equal(vault_next_wanted(r.v, 0) == 0, rows[i].is_wanted);
		rig_ask(&r, "GET", "https://api.example.com/", NULL);
		assert_int_equal(rig_apply(&r), rows[i].result);
	}
	rig_end(&r);
}

static void what_is_no_secret_is_refused_without_being_shown(void **state)
{
	static const struct {
		const char *printed, *says;
	} rows[] = {
		{"", "it is empty"},
		{"\n", "it is empty"},
		{"abc-sh0rt\nline", "more than one line"},
		{"abc-x", "fewer than 8 characters"},
		{"abc-caf\xc3\xa9-abc", "something else than visible ASCII"},
		{"abc-\x01-control", "something else than visible ASCII"},
		{" abc-begins-so", "begins or ends with a space"},
		{"{\"token\": 1, \"x\": \"abc-\"}", "no string `token`"},
		{"{\"token\": \"abc-abcabc\", \"token\": \"abc-abcabc\"}", "no JSON object"},
		{"{\"token\": \"abc-abcabc\", \"expires_at\": \"soon\"}",
		 "when the secret expires"},
		{"{\"token\": \"abc-abcabc\"", "no JSON object"},
	};
	struct rig r;
	struct err e;
	char *long_one = calloc(1, SECRET_MAX + 2);

	rig_begin(&r, PLAIN_BEARER);
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		assert_int_equal(vault_put_source(r.v, 0, span_of_string(rows[i].printed), &e), -1);
		if (!strstr(e.text, rows[i].says) || strstr(e.text, "abc-"))
			fail_msg("%s: %s", rows[i].printed, e.text);
	}
	memset(long_one, 'a', SECRET_MAX + 1);
	assert_int_equal(vault_put_source(r.v, 0, span_of_string(long_one), &e), -1);
	assert_non_null(strstr(e.text, "more than 8000 octets"));
	long_one[SECRET_MAX] = 0;
	assert_int_equal(vault_put_source(r.v, 0, span_of_string(long_one), &e), 0);
	assert_int_equal(vault_put_source(r.v, 0, span_of("abc-\0abcdef", 11), &e), -1);
	assert_non_null(strstr(e.text, "a NUL"));
	free(long_one);
	rig_end(&r);
}

static void a_head_without_room_is_refused(void **state)
{
	static char big[MESSAGE_HEAD_MAX - 200];
	const char *const fields[] = {"x-big", big, NULL};
	char *secret = calloc(1, 1001);
	struct rig r;

	memset(big, 'b', sizeof(big) - 1);
	memset(secret, 's', 1000);
	rig_begin(&r, PLAIN_BEARER);
	rig_put(&r, 0, secret);
	rig_ask(&r, "GET", "https://api.example.com/", fields);
	assert_int_equal(rig_apply(&r), CREDENTIAL_MISSING);
	assert_non_null(strstr(vault_why(r.v), "too large"));
	free(secret);
	rig_end(&r);
}

/* ---- AWS ---- */

static void a_request_to_aws_is_signed_again(void **state)
{
	const char *const fields[] = {
		"authorization",
		"AWS4-HMAC-SHA256 Credential=" PLACEHOLDER_PREFIX
		"00000000000000000000000000000000/20260101/us-east-1/s3/aws4_request, "
		"SignedHeaders=host;range, Signature=00",
		"range",
		"bytes=0-9",
		"x-amz-security-token",
		PLACEHOLDER_PREFIX "1",
		NULL};
	struct rig r;

	rig_begin(&r, "  - {host: b.s3.amazonaws.com, aws: {region: us-east-1, service: s3}, "
		      "from: 'env:T', pin: strict}\n");
	rig_put(&r, 0, "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
	rig_ask(&r, "GET", "https://b.s3.amazonaws.com/x", fields + 0);
	message_remove(&r.m, "x-amz-security-token");
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	assert_non_null(strstr(rig_field(&r, "authorization"), "Credential=AKIAIOSFODNN7EXAMPLE/"));
	assert_non_null(strstr(rig_field(&r, "authorization"),
			       "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"));
	assert_false(rig_holds(&r, "wJalrXUtnFEMI"));
	assert_false(rig_holds(&r, PLACEHOLDER_PREFIX));
	rig_ask(&r, "GET", "https://c.s3.amazonaws.com/x", fields);
	assert_int_equal(rig_apply(&r), CREDENTIAL_MISPLACED);
	rig_end(&r);
}

static void a_body_that_aws_wants_signed_is_asked_for(void **state)
{
	struct rig r;

	rig_begin(&r, "  - {host: bedrock-runtime.us-east-1.amazonaws.com, "
		      "aws: {region: us-east-1, service: bedrock}, from: 'env:T'}\n");
	rig_put(&r, 0,
		"{\"Version\":1,\"AccessKeyId\":\"AKIDEXAMPLE\",\"SecretAccessKey\":\"" SECRET
		"\",\"SessionToken\":\"session-token\",\"Expiration\":\"2099-01-01T00:00:00Z\"}");
	rig_ask(&r, "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/x/invoke", NULL);
	r.m.body = MESSAGE_BODY_STREAM;
	assert_true(vault_wants_body(r.v, &r.m));
	assert_int_equal(rig_apply(&r), CREDENTIAL_MISSING);
	assert_int_equal(vault_apply_whole(r.v, &r.m, span_of("{}", 2), &r.which),
			 CREDENTIAL_INJECTED);
	assert_string_equal(rig_field(&r, "x-amz-security-token"), "session-token");
	assert_true(message_find(&r.m, "x-amz-security-token", NULL)->sensitive);
	rig_ask(&r, "POST", "https://other.example.com/", NULL);
	r.m.body = MESSAGE_BODY_STREAM;
	assert_false(vault_wants_body(r.v, &r.m));
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_put_in),
		cmocka_unit_test(a_query_is_begun_where_there_is_none),
		cmocka_unit_test(two_places_of_one_host_are_both_filled),
		cmocka_unit_test(it_goes_nowhere_else),
		cmocka_unit_test(it_is_bound_to_methods_and_paths),
		cmocka_unit_test(it_is_not_bound_to_what_names_another),
		cmocka_unit_test(it_is_not_traced),
		cmocka_unit_test(for_a_websocket_it_is_bound_to_both),
		cmocka_unit_test(what_it_brings_is_dropped),
		cmocka_unit_test(strict_refuses_what_it_brings),
		cmocka_unit_test(keep_keeps_what_it_brings),
		cmocka_unit_test(in_its_place_it_is_replaced),
		cmocka_unit_test(in_any_other_place_it_is_refused),
		cmocka_unit_test(beside_its_place_it_is_refused),
		cmocka_unit_test(basic_hides_no_placeholder),
		cmocka_unit_test(a_placeholder_is_as_told),
		cmocka_unit_test(a_placeholder_is_its_credential_s),
		cmocka_unit_test(without_a_secret_nothing_goes),
		cmocka_unit_test(a_source_that_failed_is_asked_again),
		cmocka_unit_test(what_has_ended_is_gone),
		cmocka_unit_test(what_has_expired_is_not_sent),
		cmocka_unit_test(what_is_no_secret_is_refused_without_being_shown),
		cmocka_unit_test(a_head_without_room_is_refused),
		cmocka_unit_test(a_request_to_aws_is_signed_again),
		cmocka_unit_test(a_body_that_aws_wants_signed_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
